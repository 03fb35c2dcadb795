"""Claims timed one by one: the engine's verbs in sequence, without a node's loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from uuid import UUID, uuid4

from benchmarks.limits import RUN_SECONDS_MAX
from benchmarks.traffic.load import percentile
from windlass.engine.jobs.claim import Frontier, claim, peek
from windlass.engine.jobs.finish import finish
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Succeeded
from windlass.model.job.settle import settle
from windlass.store.database import Database


@dataclass(slots=True, kw_only=True)
class Claimer:
    """What a worker does, by hand and in sequence."""

    database: Database
    most: int
    node_id: UUID = field(default_factory=uuid4)
    frontier: Frontier = field(default_factory=Frontier)

    async def start(self) -> None:
        # Nobody renews this lease: it lasts for the whole measurement.
        lease_seconds = 10 * RUN_SECONDS_MAX
        await self.database.run(
            "node_register",
            self.node_id,
            "bench",
            "bench",
            0,
            "0",
            ["worker"],
            1,
            lease_seconds,
            None,
            [],
        )
        await peek(self.database, self.frontier)

    async def claim(self) -> tuple[list[Attempt], float]:
        """What was claimed, and how many seconds that took."""
        started = perf_counter()
        attempts = await claim(self.database, self.node_id, self.frontier, self.most)
        return attempts, perf_counter() - started

    async def peek(self) -> float:
        started = perf_counter()
        await peek(self.database, self.frontier)
        return perf_counter() - started

    async def finish(self, attempts: Sequence[Attempt]) -> None:
        batch = [settle(attempt, Succeeded(), 0.0) for attempt in attempts]
        settled = await finish(self.database, self.node_id, batch)
        ended = settled.effects.ended
        assert len(ended) == len(attempts), f"{len(settled.refused)} were refused"


def p99_ms(seconds: Sequence[float]) -> float:
    return percentile(sorted(seconds), 99) * 1_000
