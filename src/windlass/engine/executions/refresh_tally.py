"""What a node has done about executions that were out of date, since it started."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from windlass.clock import monotonic, wall
from windlass.engine.executions.refresh import Refreshed

RATE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    at: datetime
    executions: int
    ended: int
    seconds: float


@dataclass(slots=True, kw_only=True)
class Tally:
    executions: int = 0
    batches: int = 0
    ended: int = 0
    fences_lost: int = 0
    # Marks that were dropped: they named no execution, one that is gone, or were too many to keep.
    malformed: int = 0
    gone: int = 0
    overflowed: int = 0
    # Shards that came from nodes that are gone; marks that they had claimed and not acknowledged.
    shards_taken_over: int = 0
    marks_taken_back: int = 0
    # Found by the net: for a lost mark, or because nothing was heard of them for long.
    missed: int = 0
    stale: int = 0
    last: Batch | None = None  # None: there was none yet
    _seconds: deque[tuple[int, int]] = field(default_factory=deque)  # second, executions in it

    def refreshed(self, count: int, done: Refreshed, seconds: float) -> None:
        self.executions += count
        self.batches += 1
        self.ended += len(done.ended)
        self.fences_lost += done.losses
        self.gone += done.gone
        self.last = Batch(at=wall(), executions=count, ended=len(done.ended), seconds=seconds)
        now = int(monotonic())
        if self._seconds and self._seconds[-1][0] == now:
            count += self._seconds.pop()[1]
        self._seconds.append((now, count))
        self._forget_before(now - RATE_SECONDS)

    @property
    def per_second(self) -> float:
        """Over the last minute."""
        self._forget_before(int(monotonic()) - RATE_SECONDS)
        return sum(count for _, count in self._seconds) / RATE_SECONDS

    def report(self) -> dict[str, Any]:
        told = asdict(self)
        del told["_seconds"]
        return {**told, "per_second": round(self.per_second, 3)}

    def _forget_before(self, second: int) -> None:
        while self._seconds and self._seconds[0][0] <= second:
            self._seconds.popleft()
