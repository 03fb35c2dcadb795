"""Job counts by queue and state: from counters kept as states change, never by counting rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from windlass.clock import monotonic
from windlass.model.job.states import STATES
from windlass.store.database import Database
from windlass.store.statements import statement

CACHE_SECONDS: Final = 5.0


@dataclass(slots=True, kw_only=True)
class QueueCounts:
    """The jobs of one queue by state, and the input bytes of the unfinished ones."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATES, 0))
    bytes: int = 0


async def read_counters(database: Database) -> dict[str, QueueCounts]:
    """Of every queue that ever held a job."""
    return {
        row["queue"]: QueueCounts(
            # A correction may be on its way: nobody is shown less than none.
            counts={state: max(0, row[state]) for state in STATES},
            bytes=max(0, row["bytes"]),
        )
        for row in await database.browse(statement("counter_read"))
    }


def add_up(queues: Mapping[str, QueueCounts]) -> QueueCounts:
    total = QueueCounts()
    for queue in queues.values():
        total.bytes += queue.bytes
        for state in STATES:
            total.counts[state] += queue.counts[state]
    return total


class Counters:
    """The counters for those who ask often: at most CACHE_SECONDS old."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read_at = float("-inf")
        self._queues: dict[str, QueueCounts] = {}

    async def read(self) -> dict[str, QueueCounts]:
        if monotonic() - self._read_at > CACHE_SECONDS:
            self._queues = await read_counters(self._database)
            self._read_at = monotonic()
        return self._queues
