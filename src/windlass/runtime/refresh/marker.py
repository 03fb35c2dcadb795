"""Leaves marks of executions that are out of date, as far as this process knows.

Those that may have ended go to Redis at once, those that go on gather for a second: most of them go
on several times in it, or end. Without Redis they stay here, and this node refreshes them itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from windlass.clock import monotonic
from windlass.fastlane.lane import LaneDown
from windlass.fastlane.marks import Marks
from windlass.limits import (
    REFRESH_CLAIM_MAX,
    REFRESH_GAP_SECONDS,
    REFRESH_GATHER_SECONDS,
    REFRESH_WAITING_MAX,
)
from windlass.model.workflow.refresh import shard_of
from windlass.runtime.loop import Loop

_LONG_SECONDS = 3600.0  # until somebody wakes it


class Marker:
    def __init__(
        self,
        marks: Marks,
        *,
        on_left: Callable[[Mapping[int, int]], None],  # in these shards, so many
        on_kept: Callable[[Collection[UUID], bool], None],  # Redis did not take them; urgent?
        on_overflow: Callable[[int], None],  # so many were dropped
    ) -> None:
        self._marks = marks
        self._on_left, self._on_kept, self._on_overflow = on_left, on_kept, on_overflow
        self._urgent: set[UUID] = set()
        self._others: set[UUID] = set()
        self._others_due_at = 0.0
        self._not_before = 0.0
        self.loop = Loop("leave marks", self._tick)

    def mark(self, execution_ids: set[UUID], is_urgent: bool) -> None:
        if is_urgent:
            self._urgent |= execution_ids
            self._others -= execution_ids
            self.loop.wake()
        else:
            if not self._others:
                self._others_due_at = monotonic() + REFRESH_GATHER_SECONDS
                self.loop.wake()  # it rests without a term until then
            self._others |= execution_ids - self._urgent
        self._bound()

    def _bound(self) -> None:
        """Beyond this it is the net that finds them."""
        for some in (self._others, self._urgent):
            if (excess := len(some) - REFRESH_WAITING_MAX) > 0:
                for _ in range(excess):
                    some.pop()
                self._on_overflow(excess)

    async def flush(self) -> None:
        """Leave everything now."""
        self._others_due_at = 0.0
        await self._leave()

    async def _tick(self) -> float:
        now = monotonic()
        if now >= self._not_before and (self._urgent or self._are_others_due(now)):
            await self._leave()
            self._not_before = now + REFRESH_GAP_SECONDS
        now = monotonic()
        if self._urgent:
            return max(0.001, self._not_before - now)
        return max(0.001, self._others_due_at - now) if self._others else _LONG_SECONDS

    def _are_others_due(self, now: float) -> bool:
        return bool(self._others) and now >= self._others_due_at

    async def _leave(self) -> None:
        urgent, self._urgent = self._urgent, set()
        others: set[UUID] = set()
        if self._are_others_due(monotonic()):
            others, self._others = self._others, set()
        for part in batched(urgent, REFRESH_CLAIM_MAX):
            await self._leave_part(part, is_urgent=True)
        for part in batched(others, REFRESH_CLAIM_MAX):
            await self._leave_part(part, is_urgent=False)

    async def _leave_part(self, part: Sequence[UUID], *, is_urgent: bool) -> None:
        try:
            left = await self._marks.leave(part, is_urgent=is_urgent)
        except LaneDown:
            left = {}
        if left:
            self._on_left(left)
        if kept := [one for one in part if shard_of(one) not in left]:
            self._on_kept(kept, is_urgent)


def batched(some: Iterable[UUID], most: int) -> Iterator[list[UUID]]:
    every = list(some)
    for start in range(0, len(every), most):
        yield every[start : start + most]
