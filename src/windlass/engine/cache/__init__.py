"""Caches: read-through, single-flight, LRU in memory before Redis, invalidated on all nodes.

    get -> memory (LRU) -> Redis (fastlane.shared_cache) -> `load_many` from PostgreSQL

Owns: what this node keeps in memory of rows that are read often: definitions, plans and the like.
Promises: however many ask at once for a key, one loads it (no thundering herd). Nobody is given a
value that was read before an invalidation it could know of. Redis slow, flushed or gone costs time
only (G9). Both memory and Redis are bounded, in number, bytes and time.
Never: decides what is cached, or is the truth of anything: errors and absences are not kept.

Doors:
    registry  Caches.make gives a cache its name and bounds; Caches.invalidate is what the signal
              `invalidate` and the API call
    cache     Cache: get, get_many, put, drop; `cache_stats` is what the API shows of one
"""
