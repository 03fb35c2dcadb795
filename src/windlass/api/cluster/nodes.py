"""Nodes: who is in the cluster and how they are."""

from __future__ import annotations

from typing import Any

from litestar.types import ASGIApp

from windlass import ids
from windlass.api.http import components as schemas
from windlass.api.http.conditional import ETAG, etag
from windlass.api.http.paging import page_of_whole, whole_params
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.engine.cluster.nodes import list_nodes, node_etag, read_node
from windlass.errors import InvalidInput
from windlass.store.database import Record

_SHOWN = (
    "name",
    "host",
    "pid",
    "version",
    "roles",
    "workers",
    "in_flight",
    "memory_bytes",
    "cpu_percent",
    "state",
    "is_paused",
    "paused_at",
    "started_at",
    "beat_at",
    "beat_age_seconds",
    "lease_until",
)


def node_view(row: Record) -> dict[str, Any]:
    return {"id": ids.show("node", row["id"]), **{name: row[name] for name in _SHOWN}}


def routes(parts: ApiParts) -> list[Route]:
    async def index(_request: Call, query: dict[str, Any]) -> ASGIApp:
        rows = await list_nodes(parts.database)
        return page_of_whole([node_view(row) for row in rows], query)

    async def get(request: Call, _query: dict[str, Any]) -> ASGIApp:
        try:
            node_id = ids.parse("node", request.path_params["node_id"])
        except ValueError as trouble:
            raise InvalidInput.at("{node_id}", str(trouble)) from None
        row = await read_node(parts.database, node_id)
        return json_reply(node_view(row), 200, etag(node_etag(row)))

    return [
        Route(
            method="GET",
            path="/v1/nodes",
            handle=index,
            summary="List nodes, living ones first",
            tag="Nodes",
            query=whole_params(),
            answers={200: Answer(description="The nodes", schema=schemas.page_of("Node"))},
        ),
        Route(
            method="GET",
            path="/v1/nodes/{node_id:str}",
            handle=get,
            summary="Read a node",
            tag="Nodes",
            path_schemas={"node_id": id_schema("node")},
            answers={200: Answer(description="The node", schema=schemas.ref("Node"), headers=ETAG)},
            problems=(404,),
        ),
    ]
