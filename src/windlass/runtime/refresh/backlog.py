"""The backlog of executions that wait here for their refresh, bounded: the net finds the rest."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from uuid import UUID

from windlass.clock import monotonic
from windlass.limits import (
    HELD_REST_SECONDS,
    REFRESH_HELD_SECONDS_MAX,
    REFRESH_RESTS_MAX,
    REFRESH_WAITING_MAX,
)
from windlass.model.workflow.refresh import RefreshThrottle
from windlass.supervise import growing


class RefreshBacklog:
    def __init__(self, rests: RefreshThrottle, on_overflow: Callable[[int], None]) -> None:
        self._rests = rests
        self._on_overflow = on_overflow
        self._due: set[UUID] = set()
        # Large ones and those that somebody holds, and when they may be refreshed.
        self._resting: dict[UUID, float] = {}
        self._held: OrderedDict[UUID, int] = OrderedDict()  # how often in a row they were held

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

    def put_off(self, execution_ids: Iterable[UUID]) -> None:
        """Somebody holds them: they rest, longer every time."""
        now = monotonic()
        for execution_id in execution_ids:
            times = self._held.pop(execution_id, 0) + 1
            self._held[execution_id] = times
            if len(self) >= REFRESH_WAITING_MAX:
                self._on_overflow(1)
            else:
                rest = growing(times, HELD_REST_SECONDS, REFRESH_HELD_SECONDS_MAX)
                self._resting[execution_id] = now + rest
        while len(self._held) > REFRESH_RESTS_MAX:
            self._held.popitem(last=False)

    def went_well(self, execution_ids: Iterable[UUID]) -> None:
        if self._held:
            for execution_id in execution_ids:
                self._held.pop(execution_id, None)

    def take(self, most: int) -> list[UUID]:
        """Some of those that are due."""
        now = monotonic()
        for execution_id in [one for one, at in self._resting.items() if at <= now]:
            del self._resting[execution_id]
            self._due.add(execution_id)
        return [self._due.pop() for _ in range(min(len(self._due), most))]
