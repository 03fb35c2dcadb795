"""Handing back to the queue what this node has claimed and does not run: released, or parked.

Whose row a transaction holds is not waited for: the others go back at once, and that one when it
can be had. What cannot be given back is not lost: `reconcile` finds it, or the end of the node's
lease does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final

import structlog

from windlass.engine.jobs import claim as claims
from windlass.errors import Unavailable
from windlass.limits import HELD_REST_SECONDS, HELD_REST_SECONDS_MAX
from windlass.model.job.attempt import Attempt, Fence
from windlass.model.job.outcome import Cancelled
from windlass.model.job.settle import cancelled, settle
from windlass.runtime.worker.finisher import Finisher
from windlass.store.database import Database, Record
from windlass.supervise import supervisor

log = structlog.get_logger()

TRIES: Final = 3
RETRY_SECONDS: Final = 0.2

# Gives these back, and says which of them somebody holds.
Give = Callable[[list[Attempt]], Awaitable[list[Record]]]


class HandBack:
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
        self._held: set[asyncio.Task[None]] = set()  # that come back to rows which somebody holds
        self._in_hand: dict[object, set[Fence]] = {}  # what each of those under way gives back

    @property
    def fences(self) -> set[Fence]:
        """Of what is being given back."""
        return set().union(*self._in_hand.values())

    def soon(self, attempts: list[Attempt], work: Coroutine[Any, Any, None]) -> None:
        """Let `work` give them back."""
        self._spawn(attempts, work, self._under_way)

    async def quiet(self) -> None:
        """Wait for what was begun by `soon`, and not for what somebody holds."""
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def release(self, attempts: list[Attempt]) -> None:
        """Undo their claims: they were never begun."""
        if attempts:
            await self._give_back(attempts, self._release)

    async def _release(self, attempts: list[Attempt]) -> list[Record]:
        rows = await claims.release(self._database, attempts)
        self._on_returned([row for row in rows if not row["is_held"]])
        return rows

    async def park(
        self, attempts: list[Attempt], reasons: list[str], parked: Callable[[], None]
    ) -> None:
        """Their targets have no room: they wait there, where they are in nobody's way."""
        why = {attempt.fence: reason for attempt, reason in zip(attempts, reasons, strict=True)}

        async def give(some: list[Attempt]) -> list[Record]:
            rows = await claims.park(self._database, some, [why[one.fence] for one in some])
            parked()
            return rows

        await self._give_back(attempts, give)

    async def release_rows(self, orphans: list[Record]) -> None:
        """The same for what this node holds and knows nothing of."""
        if not orphans:
            return
        log.warning("claims_reconciled", count=len(orphans))
        rows = await claims.release_rows(self._database, orphans)
        self._on_returned([row for row in rows if not row["is_held"]])
        known = {row["id"] for row in rows}  # what is held is found again
        for row in orphans:
            if row["id"] not in known:
                self._finisher.put(cancelled(row["id"], row["attempt"], row["claim_id"]))

    # -- who is in hand --------------------------------------------------------------------------

    def _spawn(
        self,
        attempts: Iterable[Attempt],
        work: Coroutine[Any, Any, None],
        among: set[asyncio.Task[None]],
    ) -> None:
        task = supervisor().spawn(work, name="give back")
        self._in_hand[task] = {attempt.fence for attempt in attempts}
        among.add(task)
        task.add_done_callback(among.discard)
        task.add_done_callback(lambda _: self._in_hand.pop(task, None))

    async def _give_back(self, attempts: list[Attempt], give: Give) -> None:
        key = object()
        self._in_hand[key] = {attempt.fence for attempt in attempts}
        try:
            held = await self._try_to_give_back(attempts, give)
            if held:
                self._spawn(held, self._come_back(held, give), self._held)
        finally:
            del self._in_hand[key]

    async def _try_to_give_back(self, attempts: list[Attempt], give: Give) -> list[Attempt]:
        """Those whose rows somebody holds."""
        for _ in range(TRIES):
            try:
                found = {row["id"]: row["is_held"] for row in await give(attempts)}
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            for attempt in attempts:
                if attempt.job_id not in found:
                    # Somebody asked to cancel it, or it is not ours any more: the fence decides.
                    self._finisher.put(settle(attempt, Cancelled(), 0.0))
            return [attempt for attempt in attempts if found.get(attempt.job_id)]
        log.warning("hand_back_failed", count=len(attempts))
        return []

    async def _come_back(self, held: list[Attempt], give: Give) -> None:
        rest = HELD_REST_SECONDS
        log.debug("hand_back_held", count=len(held))
        while held:
            await asyncio.sleep(rest)
            rest = min(rest * 2, HELD_REST_SECONDS_MAX)
            held = await self._try_to_give_back(held, give)
