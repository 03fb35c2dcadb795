"""Other queues on the same PostgreSQL, each with the fastest settings its documentation offers.

A peer is measured as kindly as we can: its own bulk insert fills it, its table is settled like
ours, its tables stay durable, and the clock runs only while it drains. A peer that cannot be
had on this machine says why and gives None.
"""
