"""Executions that wait in this process to be refreshed, bounded: the net finds those beyond."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from uuid import UUID

from windlass.clock import monotonic
from windlass.limits import REFRESH_WAITING_MAX
from windlass.model.rests import Rests


class Waiting:
    def __init__(self, rests: Rests, on_overflow: Callable[[int], None]) -> None:
        self._rests = rests
        self._on_overflow = on_overflow
        self._due: set[UUID] = set()
        self._resting: dict[UUID, float] = {}  # large ones, and when they may be refreshed

    def __len__(self) -> int:
        return len(self._due) + len(self._resting)

    @property
    def due_at(self) -> float:
        return 0.0 if self._due else min(self._resting.values(), default=math.inf)

    def add(self, execution_ids: Iterable[UUID], *, is_urgent: bool) -> None:
        """What is urgent does not rest."""
        now = monotonic()
        for execution_id in execution_ids:
            rest = 0.0 if is_urgent else self._rests.seconds_left(execution_id, now)
            if len(self) >= REFRESH_WAITING_MAX:
                self._on_overflow(1)
            elif rest:
                self._resting.setdefault(execution_id, now + rest)
            else:
                self._due.add(execution_id)
                self._resting.pop(execution_id, None)

    def take(self, most: int) -> list[UUID]:
        """Some of those that are due."""
        now = monotonic()
        for execution_id in [one for one, at in self._resting.items() if at <= now]:
            del self._resting[execution_id]
            self._due.add(execution_id)
        return [self._due.pop() for _ in range(min(len(self._due), most))]
