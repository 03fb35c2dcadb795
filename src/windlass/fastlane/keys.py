"""Every Redis key and channel: its owner, its lifetime, and how it comes back after a flush."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "windlass:"

# Channels keep nothing; a lost message is made good by polling.
WAKE: Final = PREFIX + "wake"  # there is work in these lines; published by whoever enqueued
RESULTS: Final = PREFIX + "results"  # these jobs ended; published by whoever finished them
EVENTS: Final = PREFIX + "events"  # something happened; published at most every 50 ms by a node
INVALIDATE: Final = PREFIX + "invalidate"  # stop these running jobs; drop these cached things
# A target's rate: when its next delivery is due (µs, Redis TIME). Owned by whoever unparks jobs; it
# expires when it no longer matters. After a flush the limit starts anew: one burst more.
LIMIT: Final = PREFIX + "limit:{%s}"
# The same of a caller's requests; no host has a slash. Owned by whoever lets requests in.
CALLER_LIMIT: Final = PREFIX + "limit:{caller/%s}"
# A target's failures in a row, of all nodes. Owned by whoever sees one, expires after minutes, gone
# with the first answer. After a flush nodes go on with what each of them counted itself.
BREAKER: Final = PREFIX + "breaker:{%s}"
SIGNALS: Final = PREFIX + "signals"  # look for your signals; somebody acknowledged one
SWEPT: Final = PREFIX + "swept"  # a sweep has ended; its age is only a number to watch
REFRESH: Final = PREFIX + "refresh"  # marks were left in these shards, and how many
CHANNELS: Final = (WAKE, RESULTS, EVENTS, INVALIDATE, SIGNALS, SWEPT, REFRESH)
# Whose Redis this is: the scope of a database (see engine.cache.registry). Said again by each of
# its nodes, and taken back by who leaves; who finds another's word there tells of it. After a flush
# it is the word of who comes first.
INSTALLATION: Final = PREFIX + "installation"
# Coordinators: id -> last beat (ms, Redis TIME). Each enters itself with every beat, which also
# brings it back after a flush; a clean leave or the sweep takes it out. It is alone in its slot.
COORDINATORS: Final = PREFIX + "coord:beats"
# What one coordinator owns: in the slot of its id, with a lifetime, by exact name in its `keys`.
# beat and activity: said again with each beat. signals: a list; what a flush takes, its senders say
# again through PostgreSQL. ack:<signal>: who answered what, while its owner waits. idem:<signal>:
# handled here; the process remembers it as well.
COORDINATOR: Final = PREFIX + "coord:{%s}:%s"
# What nodes have read for each other: a value, or a mark that what was read before is not believed.
# Owned by whoever loads or invalidates; it goes when nobody asked for so long. After a flush it is
# read from PostgreSQL again. A new epoch makes all values of a cache old ones (see shared_cache).
CACHE: Final = PREFIX + "cache:%s:%s"
CACHE_EPOCH: Final = PREFIX + "cache-epoch:%s"
# Sessions, by the hash of their token: as a cache, signed by whoever put them there; two hours
# after their last use they go. After a flush they are read from PostgreSQL again.
SESSION: Final = PREFIX + "session:"

# Executions that are out of date, by shard. marks: a set, left by whoever ended a job; inflight:
# those being refreshed, by when they come back (ms, Redis TIME). Owned by the shard's node. Both go
# after an hour; what a flush takes is found in PostgreSQL by the net (see runtime.refresh.net).
REFRESH_MARKS: Final = PREFIX + "refresh:{%d}:marks"
REFRESH_INFLIGHT: Final = PREFIX + "refresh:{%d}:inflight"


def coordinator(owner: str, name: str) -> str:
    return COORDINATOR % (owner, name)
