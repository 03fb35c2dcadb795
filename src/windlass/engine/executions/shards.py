"""Who looks after which shard of the executions, and how much is to be done there."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from windlass.fastlane.lane import LaneDown
from windlass.fastlane.marks import Marks
from windlass.model.workflow.refresh import SHARDS, owner_of
from windlass.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    shard: int
    node_id: UUID | None  # None: no node lives
    marks: int | None  # executions that wait to be refreshed; None: Redis does not say
    inflight: int | None  # that are being refreshed


async def read_shards(database: Database, marks: Marks) -> list[Shard]:
    nodes = [row["id"] for row in await database.run("node_members")]
    sizes: list[tuple[int | None, int | None]]
    try:
        sizes = [*await marks.sizes()]
    except LaneDown:
        sizes = [(None, None)] * SHARDS
    return [
        Shard(shard=shard, node_id=owner_of(shard, nodes), marks=waiting, inflight=under_way)
        for shard, (waiting, under_way) in enumerate(sizes)
    ]


async def oldest_refresh_seconds(database: Database) -> float | None:
    """How long ago the unfinished execution was refreshed of which that was longest ago."""
    [row] = await database.run("execution_oldest", SHARDS)
    seconds: float | None = row["seconds"]
    return seconds
