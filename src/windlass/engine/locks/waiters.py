"""Callers of the API that wait for a lock (long polling).

Each waits under a ticket (engine.locks.acquire). Whoever grants the lock tells at once through
the fast lane; without it one query for all waiting callers of the process is repeated with a
growing rest. While somebody waits here this process sees to what time brings about, too. Nobody
holds a connection while waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Final

from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.effects import Effects
from windlass.engine.locks.acquire import LockCall, LockHold, acquire, give_up, hold_from_row
from windlass.engine.locks.grant import grant_due
from windlass.engine.waiters import WaitList
from windlass.errors import Unavailable
from windlass.limits import POLL_BUSY_SECONDS, POLL_IDLE_SECONDS
from windlass.store.database import Database
from windlass.supervise import supervisor

# A look that fails is not tried again before.
_REST_SECONDS_MIN: Final = 0.02


class LockWaiters:
    def __init__(
        self, database: Database, announcer: Announcer, follow: Callable[[Effects], None]
    ) -> None:
        self._database = database
        self._follow = follow  # what came of it, once it is committed
        self._waiting: WaitList[LockHold] = WaitList("lock waiters poll", self._poll, "locks")
        self._names: Counter[str] = Counter()  # of the locks they wait for
        self._told = asyncio.Event()
        self._look_at = 0.0  # by the monotonic clock
        self._looking: asyncio.Task[None] | None = None
        announcer.on_lock(self._hear)
        announcer.on_lock_due(self._due_in)

    async def take(self, call: LockCall) -> LockHold | None:
        """The lock, as soon as it is the caller's turn; None when its time went by."""
        self._waiting.check_room()
        until = monotonic() + call.wait_seconds
        held, effects = await acquire(self._database, call)
        self._follow(effects)
        if held is not None or not call.wait_seconds:
            return held
        held = await self._wait(call, until - monotonic())
        if held is None and call.ticket not in self._waiting:  # it may have been called again
            held, effects = await give_up(self._database, call)
            self._follow(effects)
        return held

    async def _wait(self, call: LockCall, seconds: float) -> LockHold | None:
        self._names[call.name] += 1
        try:
            with self._waiting.enter(call.ticket) as future, contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(future, seconds)
            return None
        finally:
            self._names[call.name] -= 1
            if not self._names[call.name]:
                del self._names[call.name]

    def _hear(self, names: list[str]) -> None:
        if any(name in self._names for name in names):
            self._told.set()

    def _due_in(self, seconds: float) -> None:
        self._look_at = min(self._look_at, monotonic() + seconds)

    async def _poll(self) -> None:
        rest = POLL_BUSY_SECONDS
        self._look_at = 0.0
        while self._waiting:
            self._told.clear()
            self._look_beside()
            with contextlib.suppress(Unavailable):
                await self._ask()
            until_look = max(_REST_SECONDS_MIN, self._look_at - monotonic())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(rest, until_look)):
                    await self._told.wait()
            rest = min(rest * 1.5, POLL_IDLE_SECONDS)

    def _look_beside(self) -> None:
        """A look takes its time where somebody holds what is late: nobody waits for it who waits
        for another lock.
        """
        if self._look_at <= monotonic() and (self._looking is None or self._looking.done()):
            self._look_at = monotonic() + POLL_IDLE_SECONDS
            self._looking = supervisor().spawn(self._look(), name="lock look")

    async def _look(self) -> None:
        with contextlib.suppress(Unavailable):
            effects = await grant_due(self._database)
            # What others bring about by then they tell us, or it is found all the same.
            seconds = POLL_IDLE_SECONDS if effects.look_seconds is None else effects.look_seconds
            self._look_at = monotonic() + min(seconds, POLL_IDLE_SECONDS)
            self._follow(effects)
            self._told.set()

    async def _ask(self) -> None:
        for row in await self._database.read("lock_ticket_get_many", list(self._waiting)):
            self._waiting.tell(row["ticket"], hold_from_row(row))
