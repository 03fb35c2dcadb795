"""Long polling: callers that wait for a job or an execution to end.

The fast lane tells at once; without it one query for all waiting callers of the process is repeated
with a growing rest. Nobody holds a connection while waiting. `WaitList` is the part that callers
who wait for a lock need as well (engine.locks.waiters).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar
from uuid import UUID

from windlass.engine.announce import Announcer
from windlass.errors import Unavailable
from windlass.limits import POLL_BUSY_SECONDS, POLL_IDLE_SECONDS, WAITERS_MAX
from windlass.store.database import Database
from windlass.supervise import supervisor

V = TypeVar("V")


class WaitList(Generic[V]):
    """Callers by what they wait for, WAITERS_MAX at most, and one task that polls for all of them
    while there are any.
    """

    def __init__(self, name: str, poll: Callable[[], Awaitable[None]], what: str) -> None:
        self._name, self._poll, self._what = name, poll, what
        self._futures: dict[UUID, set[asyncio.Future[V]]] = {}
        self._poller: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """How many things are waited for."""
        return len(self._futures)

    def __iter__(self) -> Iterator[UUID]:
        return iter(self._futures)

    def __contains__(self, awaited_id: UUID) -> bool:
        return awaited_id in self._futures

    def check_room(self) -> None:
        """Raises Unavailable when no more may wait."""
        if sum(map(len, self._futures.values())) >= WAITERS_MAX:
            raise Unavailable(
                f"too many callers are waiting for {self._what}; ask again without wait"
            )

    @contextlib.contextmanager
    def enter(self, awaited_id: UUID) -> Iterator[asyncio.Future[V]]:
        """Wait among the others; the future is told."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._futures.setdefault(awaited_id, set()).add(future)
        if self._poller is None or self._poller.done():
            self._poller = supervisor().keep(self._name, self._poll)
        try:
            yield future
        finally:
            self._futures[awaited_id].discard(future)
            if not self._futures[awaited_id]:
                del self._futures[awaited_id]

    def tell(self, awaited_id: UUID, value: V) -> None:
        for future in self._futures.get(awaited_id, ()):
            if not future.done():
                future.set_result(value)


class Waiters:
    def __init__(self, database: Database, announcer: Announcer) -> None:
        self._database = database
        self._waiting: WaitList[None] = WaitList("waiters poll", self._poll, "an end")
        self._announcer = announcer

    async def ended(self, awaited_id: UUID, seconds: float) -> bool:
        """True as soon as the job or execution has ended; False when `seconds` went by."""
        self._waiting.check_room()
        if not self._waiting:
            self._announcer.on_end(self._ended)
        try:
            with self._waiting.enter(awaited_id) as future:
                # Asked once after the future stands, so an end in between is not missed.
                if await self._database.read("job_end_state_many", [awaited_id]):
                    return True
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(future, seconds)
                    return True
                return bool(await self._database.read("job_end_state_many", [awaited_id]))
        finally:
            if not self._waiting:
                self._announcer.off_end(self._ended)

    def _ended(self, awaited_id: UUID) -> None:
        self._waiting.tell(awaited_id, None)

    async def _poll(self) -> None:
        rest = POLL_BUSY_SECONDS
        while self._waiting:
            await asyncio.sleep(rest)
            rest = min(rest * 1.5, POLL_IDLE_SECONDS)
            if self._waiting:
                with contextlib.suppress(Unavailable):
                    for row in await self._database.read("job_end_state_many", list(self._waiting)):
                        self._ended(row["id"])
