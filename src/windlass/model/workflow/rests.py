"""Executions with very many jobs are refreshed more rarely while they go on.

Counting a hundred thousand jobs every second, because each second some of them end, would be most
of what a database does. So a refresh is followed by a rest that grows with what it has counted.
"""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

from windlass.limits import REFRESH_GATHER_SECONDS, REFRESH_JOBS_PER_SECOND, REFRESH_RESTS_MAX


class Rests:
    """Seconds are those of any steady clock."""

    def __init__(self) -> None:
        self._until: OrderedDict[UUID, float] = OrderedDict()

    def refreshed(self, execution_id: UUID, jobs: int, now: float) -> None:
        seconds = jobs / REFRESH_JOBS_PER_SECOND
        self._until.pop(execution_id, None)
        # Shorter rests are nothing but what marks gather for.
        if seconds > REFRESH_GATHER_SECONDS:
            self._until[execution_id] = now + seconds
        if len(self._until) > REFRESH_RESTS_MAX:
            self._until.popitem(last=False)

    def seconds_left(self, execution_id: UUID, now: float) -> float:
        """Until it may be refreshed again; 0: at once."""
        return max(0.0, self._until.get(execution_id, now) - now) if self._until else 0.0
