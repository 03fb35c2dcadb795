"""Who leads, as the database knows it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from windlass.store.database import Database, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """One node's time as leader. The term is a fence: what it must not outlive names it."""

    node_id: UUID
    term: int


async def read_leader(database: Database) -> Record:
    """The newest term, and whose it is; `node_id` is None while nobody leads."""
    [row] = await database.read("leader_read")
    return row


async def is_current(database: Database, tenure: Tenure) -> bool:
    """Has nobody else begun a term, and has this one not lapsed?"""
    return bool(await database.run("leader_fence", tenure.node_id, tenure.term))
