"""Long polling: callers that wait for a job or an execution to end.

The fast lane tells at once; without it one query for all waiting callers of the process is repeated
with a growing rest. Nobody holds a connection while waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from uuid import UUID

from windlass.engine.announce import Announcer
from windlass.errors import Unavailable
from windlass.limits import POLL_BUSY_SECONDS, POLL_IDLE_SECONDS, WAITERS_MAX
from windlass.store.database import Database
from windlass.supervise import supervisor


class Waiters:
    def __init__(self, database: Database, announcer: Announcer) -> None:
        self._database = database
        self._waiting: dict[UUID, set[asyncio.Future[None]]] = defaultdict(set)
        self._poller: asyncio.Task[None] | None = None
        self._announcer = announcer

    async def ended(self, awaited_id: UUID, seconds: float) -> bool:
        """True as soon as the job or execution has ended; False when `seconds` went by."""
        if sum(map(len, self._waiting.values())) >= WAITERS_MAX:
            raise Unavailable("too many callers are waiting for an end; ask again without wait")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not self._waiting:
            self._announcer.on_end(self._ended)
        self._waiting[awaited_id].add(future)
        self._ensure_poller()
        try:
            # Asked once after the future stands, so an end in between is not missed.
            if await self._database.read("job_end_state_many", [awaited_id]):
                return True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(future, seconds)
                return True
            return bool(await self._database.read("job_end_state_many", [awaited_id]))
        finally:
            self._forget(awaited_id, future)

    def _ended(self, awaited_id: UUID) -> None:
        for future in self._waiting.get(awaited_id, ()):
            if not future.done():
                future.set_result(None)

    def _forget(self, awaited_id: UUID, future: asyncio.Future[None]) -> None:
        self._waiting[awaited_id].discard(future)
        if not self._waiting[awaited_id]:
            del self._waiting[awaited_id]
        if not self._waiting:
            self._announcer.off_end(self._ended)

    def _ensure_poller(self) -> None:
        if self._poller is None or self._poller.done():
            self._poller = supervisor().keep("waiters poll", self._poll)

    async def _poll(self) -> None:
        rest = POLL_BUSY_SECONDS
        while self._waiting:
            await asyncio.sleep(rest)
            rest = min(rest * 1.5, POLL_IDLE_SECONDS)
            if self._waiting:
                with contextlib.suppress(Unavailable):
                    for row in await self._database.read("job_end_state_many", list(self._waiting)):
                        self._ended(row["id"])
