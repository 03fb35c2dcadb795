"""Figures of Windlass beside its peers on the same servers, and of one of its doors beside another.

Each is measured in turns and read as a ratio, as everywhere. All commits are durable (fsync and
synchronous_commit are on; the table's caption says so). The Valkey is the one that nodes use:
`appendonly no`, `save ""`. To Windlass it is a fast lane that may be wiped; whoever keeps jobs in
it (Celery, BullMQ) loses them with it, and is the faster for it. Their lines of the table say so.
"""
