"""Every key and channel, with its owner, its lifetime, and how it comes back after a flush."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "windlass:"

# Channels keep nothing; a lost message is made good by polling.
WAKE: Final = PREFIX + "wake"  # there is work in these lines; published by whoever enqueued
RESULTS: Final = PREFIX + "results"  # these jobs ended; published by whoever finished them
EVENTS: Final = PREFIX + "events"  # something happened; published at most every 50 ms by a node
INVALIDATE: Final = PREFIX + "invalidate"  # stop these running jobs; drop these cached things
CHANNELS: Final = (WAKE, RESULTS, EVENTS, INVALIDATE)
