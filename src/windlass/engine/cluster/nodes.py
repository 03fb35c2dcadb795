"""The nodes of the cluster, as the database knows them."""

from __future__ import annotations

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
