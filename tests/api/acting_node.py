"""Acting as a node: claims through the engine and settles as told, without running anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from windlass import ids
from windlass.engine.jobs.claim import Frontier, claim, claim_solo, peek
from windlass.engine.jobs.finish import Settled, finish
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.model.job.settle import settle
from windlass.store.database import Database


@dataclass(slots=True, kw_only=True)
class ActingNode:
    database: Database
    node_id: UUID = field(default_factory=ids.uuid7)

    async def join(self, lease_seconds: float = 60, workers: int = 4) -> ActingNode:
        given: tuple[object, ...] = (
            "test",
            "localhost",
            1,
            "0",
            ["worker"],
            workers,
            lease_seconds,
        )
        await self.database.run("node_register", self.node_id, *given, None, [])
        return self

    async def claim(self, most: int = 100) -> list[Attempt]:
        frontier = Frontier()
        await peek(self.database, frontier)
        taken = await claim(self.database, self.node_id, frontier, most)
        return taken or await claim_solo(self.database, self.node_id)

    async def settle(self, attempt: Attempt, outcome: Outcome) -> Settled:
        return await finish(self.database, self.node_id, [settle(attempt, outcome, 0.0)])

    async def run(self, outcome: Outcome | None = None) -> list[UUID]:
        """Claim what is due and settle each with `outcome` (None: success); returns the jobs."""
        outcome = outcome or Succeeded(b"1")
        taken = await self.claim()
        for attempt in taken:
            await self.settle(attempt, outcome)
        return [attempt.job_id for attempt in taken]

    async def bury(self, cause: str = "boom", message: str = "it broke") -> list[UUID]:
        """Claim what is due and let each die of `cause`."""
        return await self.run(Failed(cause, message, is_final=True))


def later(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)
