"""Firing schedules: the leader sleeps until the next one is due, or until one changes.

A round is fired whoever else believes that it leads (engine.schedules.fire). Hints through Redis
say that a schedule has changed; without them, or when one is lost, a look at the first entry of an
index every so often finds out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from windlass.engine.schedules.decide import Fired, FireOptions
from windlass.engine.schedules.fire import fire_due
from windlass.limits import (
    FIRE_EMPTY_SECONDS,
    FIRE_GATHER_SECONDS,
    FIRE_IDLE_SECONDS,
    FIRE_NEAR_SECONDS,
    FIRE_POLL_SECONDS,
)
from windlass.runtime.cluster.leader_duties import LeaderDuty
from windlass.store.database import Database

FIRE: Final = "fire schedules"
# While one round waits for PostgreSQL the other decides.
_ROUNDS_AT_ONCE: Final = 3
# A timer may end a hair before its time.
_MOMENT_SECONDS: Final = 0.001


@dataclass(slots=True, kw_only=True)
class FiringRounds:
    database: Database
    options: FireOptions
    on_fired: Callable[[Fired], None]
    is_heard: Callable[[], bool]  # do hints come?
    # Hears True while rounds are full. Every node executes and one fires: it fires first.
    on_behind: Callable[[bool], None]
    rest_seconds: float = 0.0  # after the round that was last

    @property
    def duty(self) -> LeaderDuty:
        return LeaderDuty(
            name=FIRE,
            every_seconds=FIRE_POLL_SECONDS,
            do=self.fire,
            rest=lambda: self.rest_seconds,
            is_fenced=False,  # the ledger is
        )

    async def fire(self) -> None:
        """All that is due now."""
        self.rest_seconds = FIRE_POLL_SECONDS
        seconds = await self._next()
        if seconds is not None and seconds <= _MOMENT_SECONDS:
            if await self._round():
                await self._catch_up()
            seconds = await self._next()
        self.rest_seconds = self._rest(seconds)

    async def _catch_up(self) -> None:
        self.on_behind(True)
        try:
            await asyncio.gather(*(self._rounds() for _ in range(_ROUNDS_AT_ONCE)))
        finally:
            self.on_behind(False)

    async def _next(self) -> float | None:
        """Until something is due. None: nothing ever is."""
        found = await self.database.run("schedule_next")
        seconds: float | None = found[0]["seconds"] if found else None
        return seconds

    async def _rounds(self) -> None:
        while await self._round():
            pass

    async def _round(self) -> bool:
        """Whether there may be more."""
        fired = await fire_due(self.database, self.options)
        self.on_fired(fired)
        return fired.is_full

    def _rest(self, seconds: float | None) -> float:
        """Not less than a moment: what falls due meanwhile is fired together."""
        is_near = seconds is not None and seconds < FIRE_NEAR_SECONDS
        look = FIRE_POLL_SECONDS if is_near or not self.is_heard() else FIRE_IDLE_SECONDS
        if seconds is None:
            return FIRE_EMPTY_SECONDS if self.is_heard() else look
        return min(max(seconds + _MOMENT_SECONDS, FIRE_GATHER_SECONDS), look)
