"""/v1/nodes and /v1/leader: who is in the cluster, how they are, and who leads."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.conditional import ETAG, etag
from windlass.api.http.paging import page_of_whole, whole_params
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import (
    COUNT,
    INSTANT,
    TEXT,
    Named,
    listed,
    nullable,
    page_of,
    record,
    ref,
)
from windlass.api.jobs.view import shown
from windlass.api.parts import ApiParts
from windlass.engine.cluster.nodes import list_nodes, node_etag, read_leader, read_node
from windlass.errors import InvalidInput
from windlass.store.database import Record

_SHOWN = (
    "name",
    "host",
    "pid",
    "version",
    "roles",
    "workers",
    "queues",
    "queues_except",
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

    async def leader(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        row = await read_leader(parts.database)
        told = {name: row[name] for name in ("name", "term", "elected_at", "lease_until")}
        return json_reply({"node_id": shown("node", row["node_id"]), **told})

    return [
        Route(
            method="GET",
            path="/v1/nodes",
            needs="cluster:read",
            handle=index,
            summary="List nodes, living ones first",
            tag="Nodes",
            query=whole_params(),
            answers={200: Answer(description="The nodes", schema=page_of("Node"))},
        ),
        Route(
            method="GET",
            path="/v1/nodes/{node_id:str}",
            needs="cluster:read",
            handle=get,
            summary="Read a node",
            tag="Nodes",
            path_schemas={"node_id": id_schema("node")},
            answers={200: Answer(description="The node", schema=ref("Node"), headers=ETAG)},
            problems=(404,),
        ),
        Route(
            method="GET",
            path="/v1/leader",
            needs="cluster:read",
            handle=leader,
            summary="Who leads; node_id is null while nobody does",
            tag="Nodes",
            answers={200: Answer(description="The leader", schema=ref("Leader"))},
        ),
    ]


SCHEMAS: Final[Named] = {
    "Node": record(
        id=id_schema("node"),
        name=TEXT,
        host=TEXT,
        pid=COUNT,
        version=TEXT,
        roles=listed(TEXT),
        workers=COUNT,
        queues=nullable(listed(TEXT)),
        queues_except=listed(TEXT),
        in_flight=COUNT,
        memory_bytes=nullable(COUNT),
        cpu_percent=nullable({"type": "number"}),
        state={"type": "string", "enum": ["active", "draining", "left", "lost"]},
        is_paused={"type": "boolean"},
        paused_at=nullable(INSTANT),
        started_at=INSTANT,
        beat_at=INSTANT,
        beat_age_seconds={"type": "number"},
        lease_until=INSTANT,
    ),
    "Leader": record(
        node_id=nullable(id_schema("node")),
        name=nullable(TEXT),
        term=COUNT,
        elected_at=nullable(INSTANT),
        lease_until=nullable(INSTANT),
    ),
}
