"""Stuck settlements, set aside: one of them kept a whole batch from being committed.

A batch fails as one, for whichever of its members it is: somebody holds a row that one of them
needs, or one trips over what nobody had thought of. The lane does not wait to find out; it leaves
the batch here and goes on with the next.

    batch -> halves -> halves -> the one      somebody holds its row: later, as long as it takes
         \\-> the others are committed          anything else: alone, a few times; then buried

Who is held is asked first, by one look at the rows that ends are known to need: however many are,
the others wait for none of them. What waits for anything else is found by halving, all parts in
turn, and has its next turn after those that were not found to wait.

Promises: a settlement is applied, or its job ends `dead` with the reason; none is given up. What
waits for others' rows occupies no connection while it waits, and one while it is tried.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from windlass.clock import monotonic
from windlass.errors import Unavailable
from windlass.limits import (
    FINISH_BATCH_MAX,
    HELD_REST_SECONDS,
    HELD_REST_SECONDS_MAX,
    SETTLE_TRIES,
    SIFT_WAITS_MAX,
    UNSETTLED_REST_SECONDS_MAX,
)
from windlass.model.job.settle import Settlement, bury
from windlass.store.database import RowLocked, TooSlow
from windlass.supervise import supervisor

log = structlog.get_logger()

Commit = Callable[[list[Settlement]], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class _Stuck:
    settlement: Settlement
    due_at: float  # monotonic
    rests: int = 0
    is_held: bool = False  # found to wait, and not only among others who did
    tries: int = 0  # times it tripped, alone, over something that is nobody's row


class StuckSettlements:
    """Finds the ones among them that cannot be committed, and commits the others.

    `commit` applies settlements or raises, with nothing lost; `rehearse` applies one and takes it
    back, or raises what came of it; `held` tells whose end needs a row that somebody holds;
    `on_buried` hears of each job that was ended because its settlement cannot be applied.
    """

    def __init__(
        self,
        commit: Commit,
        rehearse: Callable[[Settlement], Awaitable[None]],
        held: Callable[[Sequence[UUID]], Awaitable[set[UUID]]],
        on_buried: Callable[[], None],
        on_empty: Callable[[], None],
    ) -> None:
        self._commit = commit
        self._rehearse = rehearse
        self._held = held
        self._on_buried = on_buried
        self._on_empty = on_empty
        self._waiting: dict[UUID, _Stuck] = {}
        self._executions: set[UUID] = set()  # of steps that were put off
        self._came = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def settlements(self) -> list[Settlement]:
        return [stuck.settlement for stuck in self._waiting.values()]

    def __contains__(self, job_id: UUID) -> bool:
        return job_id in self._waiting

    def concern(self, settlement: Settlement) -> bool:
        """Would it, by all that is known, wait for the same row as one of these?"""
        return settlement.execution_id in self._executions

    def add(self, batch: Iterable[Settlement]) -> None:
        now = monotonic()
        for settlement in batch:
            self._waiting[settlement.job_id] = _Stuck(settlement=settlement, due_at=now)
        self._came.set()
        if self._task is None:
            self._task = supervisor().spawn(self._run(), name="finish set aside")

    def abandon(self) -> None:
        self._waiting.clear()
        self._executions.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            while self._waiting:
                self._came.clear()
                due = self._due()
                if due:
                    await self._round(due)
                else:
                    await self._rest()
        finally:
            self._task = None
            if self._waiting:
                self.add([])
            else:
                self._on_empty()

    def _due(self) -> list[_Stuck]:
        now = monotonic()
        due = [stuck for stuck in self._waiting.values() if stuck.due_at <= now]
        return sorted(due, key=lambda stuck: stuck.is_held)[:FINISH_BATCH_MAX]

    async def _rest(self) -> None:
        first = min(stuck.due_at for stuck in self._waiting.values())
        try:
            async with asyncio.timeout(max(first - monotonic(), 0.001)):
                await self._came.wait()
        except TimeoutError:
            pass

    async def _round(self, due: list[_Stuck]) -> None:
        try:
            free = await self._with_free_rows(due)
            fresh = [stuck for stuck in free if not stuck.is_held]
            again = [stuck for stuck in free if stuck.is_held]
            groups = deque(group for group in (fresh, again) if group)
            waits_left = SIFT_WAITS_MAX
            while groups:
                group = groups.popleft()
                if not waits_left:
                    self._put_off(group)
                    continue
                try:
                    await self._apply(group)
                except (RowLocked, TooSlow) as trouble:
                    waits_left -= 1
                    groups += self._halves_or_put_off(group, trouble)
                except Unavailable:
                    raise
                except Exception as trouble:
                    if len(group) > 1:
                        groups += _halves(group)
                    else:
                        await self._trip(group[0], trouble)
        except Unavailable as trouble:  # nobody's fault: all of them again, when it is back
            log.warning("finish_waits", count=len(due), reason=str(trouble))
            self._put_off([one for one in due if one.settlement.job_id in self._waiting])
        except Exception as trouble:  # nothing in here may end for it
            log.warning("finish_aside_failed", count=len(due), reason=reason_of(trouble))
            self._put_off([one for one in due if one.settlement.job_id in self._waiting])

    async def _with_free_rows(self, due: list[_Stuck]) -> list[_Stuck]:
        try:
            held = await self._held([stuck.settlement.job_id for stuck in due])
        except (RowLocked, TooSlow):  # too much to look at: by halves, then
            return due
        self._put_off([stuck for stuck in due if stuck.settlement.job_id in held])
        return [stuck for stuck in due if stuck.settlement.job_id not in held]

    async def _apply(self, group: list[_Stuck]) -> None:
        await self._commit([stuck.settlement for stuck in group])
        self._settled(group)

    def _settled(self, group: Iterable[_Stuck]) -> None:
        for stuck in group:
            # Another attempt of the same job may have come here meanwhile.
            if self._waiting.get(stuck.settlement.job_id) is stuck:
                del self._waiting[stuck.settlement.job_id]
        if self._executions:
            put_off = (one for one in self._waiting.values() if one.rests)
            found = {stuck.settlement.execution_id for stuck in put_off}
            self._executions = {execution for execution in found if execution is not None}

    def _halves_or_put_off(self, group: list[_Stuck], trouble: Unavailable) -> list[list[_Stuck]]:
        if len(group) > 1:
            return _halves(group)
        if not group[0].is_held:
            log.warning("finish_held", job=_name(group[0]), reason=str(trouble))
        group[0].is_held = True
        self._put_off(group)
        return []

    def _put_off(self, group: Iterable[_Stuck], most: float = HELD_REST_SECONDS_MAX) -> None:
        now = monotonic()
        for stuck in group:
            stuck.due_at = now + min(HELD_REST_SECONDS * 2 ** min(stuck.rests, 16), most)
            stuck.rests += 1
            if stuck.settlement.execution_id is not None:
                self._executions.add(stuck.settlement.execution_id)

    async def _trip(self, stuck: _Stuck, trouble: Exception) -> None:
        """It failed alone, and not because of anybody else."""
        stuck.tries += 1
        reason = reason_of(trouble)
        log.warning("finish_tripped", job=_name(stuck), reason=reason)
        end = await self._last_end(stuck, reason) if stuck.tries >= SETTLE_TRIES else None
        if end is None:
            is_new = stuck.tries < SETTLE_TRIES
            self._put_off([stuck], *(() if is_new else (UNSETTLED_REST_SECONDS_MAX,)))
            return
        try:
            # Jobs can be ended now. If this one still cannot as it was meant, then it is to blame.
            await self._apply([stuck])
        except Unavailable:
            raise
        except Exception as again:
            await self._commit([end])
            log.warning("finish_buried", job=_name(stuck), reason=reason_of(again))
            self._settled([stuck])
            self._on_buried()

    async def _last_end(self, stuck: _Stuck, reason: str) -> Settlement | None:
        """How its job may end instead. None: not even so, so something else is out of order,
        perhaps in the middle of a migration; the settlement is kept as it is.
        """
        last = bury(stuck.settlement, reason)
        for end in (last, replace(last, detail=None)):
            try:
                await self._rehearse(end)
            except Unavailable:
                raise
            except Exception as trouble:
                log.warning("finish_not_buried", job=_name(stuck), reason=reason_of(trouble))
            else:
                return end
        return None


def _halves(group: list[_Stuck]) -> list[list[_Stuck]]:
    middle = len(group) // 2
    return [group[:middle], group[middle:]]


def reason_of(trouble: Exception) -> str:
    """What it is and where it was raised. To write the traceback of a recursion takes seconds."""
    where = trouble.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    at = "" if where is None else f" ({where.tb_frame.f_code.co_name}, line {where.tb_lineno})"
    return f"{type(trouble).__name__}: {trouble}"[:1_000] + at


def _name(stuck: _Stuck) -> str:
    return f"job_{stuck.settlement.job_id.hex}"
