"""Every key and channel, with its owner, its lifetime, and how it comes back after a flush."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "windlass:"

# Channels keep nothing; a lost message is made good by polling.
WAKE: Final = PREFIX + "wake"  # there is work in these lines; published by whoever enqueued
RESULTS: Final = PREFIX + "results"  # these jobs ended; published by whoever finished them
EVENTS: Final = PREFIX + "events"  # something happened; published at most every 50 ms by a node
INVALIDATE: Final = PREFIX + "invalidate"  # stop these running jobs; drop these cached things
# A target's rate: when its next delivery is due (µs, Redis TIME). Owned by whoever lets jobs go; it
# expires when it no longer matters. After a flush the limit starts anew: one burst more.
LIMIT: Final = PREFIX + "limit:{%s}"
# A target's failures in a row, of all nodes. Owned by whoever sees one, expires after minutes, gone
# with the first answer. After a flush nodes go on with what each of them counted itself.
BREAKER: Final = PREFIX + "breaker:{%s}"
SIGNALS: Final = PREFIX + "signals"  # look for your signals; somebody acknowledged one
CHANNELS: Final = (WAKE, RESULTS, EVENTS, INVALIDATE, SIGNALS)
# Coordinators: id -> last beat (ms, Redis TIME). Each enters itself with every beat, which also
# brings it back after a flush; a clean leave or the sweep takes it out. It is alone in its slot.
COORDINATORS: Final = PREFIX + "coord:beats"
# What one coordinator owns: in the slot of its id, with a lifetime, by exact name in its `keys`.
# beat and activity: said again with each beat. signals: a list; what a flush takes, its senders say
# again through PostgreSQL. ack:<signal>: who answered what, while its owner waits. idem:<signal>:
# handled here; the process remembers it as well.
COORDINATOR: Final = PREFIX + "coord:{%s}:%s"


def coordinator(owner: str, name: str) -> str:
    return COORDINATOR % (owner, name)
