"""/v1/shards and /v1/system/refresh: who keeps which executions up to date, and how that goes."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Final

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.paging import page_of_whole, whole_params
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import COUNT, INSTANT, Named, Schema, nullable, page_of, record, ref
from windlass.api.jobs.view import shown
from windlass.api.parts import ApiParts
from windlass.engine.executions.refresh import Tally, oldest_refresh_seconds, read_shards
from windlass.model.workflow.refresh import SHARDS


def routes(parts: ApiParts) -> list[Route]:
    async def shards(_request: Call, query: dict[str, Any]) -> ASGIApp:
        rows = await read_shards(parts.database, parts.marks)
        views = [{**asdict(shard), "node_id": shown("node", shard.node_id)} for shard in rows]
        return page_of_whole(views, query)

    async def refresh(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        report = {
            "node_id": ids.show("node", parts.node.node_id),
            "interval_seconds": parts.settings.refresh_interval_seconds,
            "oldest_seconds": await oldest_refresh_seconds(parts.database),
            **parts.tally.report(),
        }
        return json_reply(report)

    return [
        Route(
            method="GET",
            path="/v1/shards",
            needs="cluster:read",
            handle=shards,
            summary="List the shards of executions, who looks after each, and what is to be done",
            tag="Nodes",
            query=whole_params(),
            answers={200: Answer(description="All shards", schema=page_of("Shard"))},
        ),
        Route(
            method="GET",
            path="/v1/system/refresh",
            needs="cluster:read",
            handle=refresh,
            summary="How this node keeps executions up to date",
            tag="System",
            answers={200: Answer(description="What was done", schema=ref("Refresh"))},
        ),
    ]


_NUMBER: Final[Schema] = {"type": "number"}
_COUNTED: Final = [field.name for field in fields(Tally) if field.type == "int"]

SCHEMAS: Final[Named] = {
    "Shard": record(
        shard={"type": "integer", "minimum": 0, "maximum": SHARDS - 1},
        node_id=nullable(id_schema("node")),
        marks=nullable(COUNT),
        inflight=nullable(COUNT),
    ),
    "Refresh": record(
        node_id=id_schema("node"),
        interval_seconds=_NUMBER,
        oldest_seconds=nullable(_NUMBER),
        **dict.fromkeys(_COUNTED, COUNT),
        last=nullable(record(at=INSTANT, executions=COUNT, ended=COUNT, seconds=_NUMBER)),
        per_second=_NUMBER,
    ),
}
