"""A node's presence in Redis: its heartbeat, what it says of itself, and the keys that it owns.

Promises: every key of a coordinator stands by its exact name in its `keys`, and has a lifetime; a
clean leave removes these and no others. `windlass:coord:beats` lies in another slot than the
coordinator's own keys, so no script touches both. Raises LaneDown, except for leaving.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.limits import COORDINATOR_KEPT_SECONDS, COORDINATOR_RENEW_SECONDS

KEPT_MS: Final = round(COORDINATOR_KEPT_SECONDS * 1000)
# So soon after an installation has left, another may have its Redis.
_WORD_KEPT_MS: Final = round(3 * COORDINATOR_RENEW_SECONDS * 1000)
_LEAVE_KEYS_MAX: Final = 500


class Coordinators:
    def __init__(self, lane: FastLane, scope: bytes) -> None:
        """`scope` tells the database apart from any other."""
        self._lane, self._scope = lane, scope

    async def see_whose(self) -> None:
        """Say of which database we are, and find out whether others are of another."""
        is_ours = await self._lane.ask("whose", keys.INSTALLATION, self._scope, _WORD_KEPT_MS)
        self._lane.set_shared(not is_ours)

    async def beat(self, owner: str, *, is_renewal: bool) -> tuple[int, bool]:
        """Enter the set of the living; returns Redis' time in ms, and whether it was not in."""
        now_ms, was = await self._lane.ask(
            "coord_beat", keys.COORDINATORS, owner, KEPT_MS, "renew" if is_renewal else ""
        )
        return now_ms, was == b"new"

    async def say(
        self,
        owner: str,
        now_ms: int,
        activity: dict[str, Any] | None,  # None: as it was
        lapsed: Sequence[str] = (),
    ) -> int:
        """Say so in its own slot; returns how many signals wait for it."""
        beat = {"id": owner, "at_ms": now_ms, "host": socket.gethostname(), "pid": os.getpid()}
        names = [keys.coordinator(owner, name) for name in ("beat", "signals", "activity", "keys")]
        waiting: int = await self._lane.ask(
            "coord_say",
            names,
            msgspec.json.encode(beat),
            KEPT_MS,
            b"" if activity is None else msgspec.json.encode(activity),
            *lapsed,
        )
        return waiting

    async def leave(self, owner: str) -> bool:
        """Take everything along. False: Redis did not answer; the sweep does it one day."""
        try:
            await self._lane.ask("coord_out", keys.COORDINATORS, owner)
            await self._lane.ask("whose_no_more", keys.INSTALLATION, self._scope)
            prefix, owned = keys.coordinator(owner, ""), keys.coordinator(owner, "keys")
            while await self._lane.ask("coord_leave", owned, prefix, _LEAVE_KEYS_MAX) == b"more":
                pass
        except LaneDown:
            return False
        return True
