"""Giving back to the queue what this node has claimed and does not run.

What cannot be given back is not lost: `reconcile` finds it, or the end of the node's lease does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import structlog

from windlass.engine import claim as claims
from windlass.errors import Unavailable
from windlass.model.attempt import Attempt, Fence
from windlass.model.outcome import Cancelled
from windlass.model.settle import cancelled, settle
from windlass.runtime.finisher import Finisher
from windlass.store.database import Database, Record
from windlass.supervise import supervisor

log = structlog.get_logger()

TRIES: Final = 3
RETRY_SECONDS: Final = 0.2


class Returns:
    def __init__(
        self,
        database: Database,
        finisher: Finisher,
        on_returned: Callable[[list[Record]], None],
    ) -> None:
        self._on_returned = on_returned
        self._database = database
        self._finisher = finisher
        self._under_way: set[asyncio.Task[None]] = set()
        self.fences: set[Fence] = set()  # of what is being given back

    def soon(self, attempts: list[Attempt], work: Coroutine[Any, Any, None]) -> None:
        """Let `work` give them back."""
        fences = {attempt.fence for attempt in attempts}
        self.fences |= fences
        task = supervisor().spawn(work, name="give back")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(lambda _: self.fences.difference_update(fences))

    async def quiet(self) -> None:
        """Wait for what was begun by `soon`."""
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def release(self, attempts: list[Attempt]) -> None:
        """Undo their claims: they were never begun."""
        if attempts:
            await self._give_back(attempts, lambda: self._release(attempts))

    async def _release(self, attempts: list[Attempt]) -> list[Record]:
        rows = await claims.release(self._database, attempts)
        self._on_returned(rows)
        return rows

    async def park(
        self, attempts: list[Attempt], reasons: list[str], parked: Callable[[], None]
    ) -> None:
        """Their targets have no room: they wait there, where they are in nobody's way."""
        await self._give_back(attempts, lambda: claims.park(self._database, attempts, reasons))
        parked()

    async def release_rows(self, orphans: list[Record]) -> None:
        """The same for what this node holds and knows nothing of."""
        if not orphans:
            return
        log.warning("claims_reconciled", count=len(orphans))
        rows = await claims.release_rows(self._database, orphans)
        self._on_returned(rows)
        released = {row["id"] for row in rows}
        for row in orphans:
            if row["id"] not in released:
                self._finisher.put(cancelled(row["id"], row["attempt"], row["claim_id"]))

    async def _give_back(
        self, attempts: list[Attempt], give: Callable[[], Awaitable[list[Record]]]
    ) -> None:
        fences = {attempt.fence for attempt in attempts}
        self.fences |= fences
        try:
            await self._try_to_give_back(attempts, give)
        finally:
            self.fences -= fences

    async def _try_to_give_back(
        self, attempts: list[Attempt], give: Callable[[], Awaitable[list[Record]]]
    ) -> None:
        for _ in range(TRIES):
            try:
                released = {row["id"] for row in await give()}
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            for attempt in attempts:
                if attempt.job_id not in released:
                    # Somebody asked to cancel it, or it is not ours any more: the fence decides.
                    self._finisher.put(settle(attempt, Cancelled(), 0.0))
            return
        log.warning("hand_back_failed", count=len(attempts))
