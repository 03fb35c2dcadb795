"""The nodes of the cluster and who leads it, as the database knows them.

The term of a leader is its fencing token: `is_current` asks whether it still holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from windlass import ids
from windlass.errors import NotFound
from windlass.model.json.etag import tag_of
from windlass.store.database import Database, Record


async def list_nodes(database: Database) -> list[Record]:
    """Living ones first; those that have been gone for a day are left out."""
    return await database.read("node_list")


async def read_node(database: Database, node_id: UUID) -> Record:
    for row in await list_nodes(database):
        if row["id"] == node_id:
            return row
    raise NotFound("node", ids.show("node", node_id))


def node_etag(row: Record) -> str:
    """Of its size, which is what can be changed. A change under way moves it when it is applied."""
    return tag_of(row["id"].hex, row["workers"])


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
