"""How executions are kept up to date: by whom, and how that goes.

How executions are kept up to date.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Final

from litestar.types import ASGIApp

from windlass import ids
from windlass.api.http import shapes as schemas
from windlass.api.http.paging import page_of_whole, whole_params
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import COUNT, INSTANT, Named, Schema, nullable, record
from windlass.api.jobs.view import shown
from windlass.api.parts import ApiParts
from windlass.engine.executions.refresh import Tally, oldest_refresh_seconds, read_shards
from windlass.model.workflow.refresh import SHARDS


def routes(parts: ApiParts) -> list[Route]:
    async def shards(_request: Call, query: dict[str, Any]) -> ASGIApp:
        found = await read_shards(parts.database, parts.marks)
        told = [{**asdict(one), "node_id": shown("node", one.node_id)} for one in found]
        return page_of_whole(told, query)

    async def refresh(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        told = {
            "node_id": ids.show("node", parts.node.node_id),
            "interval_seconds": parts.settings.refresh_interval_seconds,
            "oldest_seconds": await oldest_refresh_seconds(parts.database),
            **parts.tally.report(),
        }
        return json_reply(told)

    return [
        Route(
            method="GET",
            path="/v1/shards",
            handle=shards,
            summary="List the shards of executions, who looks after each, and what is to be done",
            tag="Nodes",
            query=whole_params(),
            answers={200: Answer(description="All shards", schema=schemas.page_of("Shard"))},
        ),
        Route(
            method="GET",
            path="/v1/system/refresh",
            handle=refresh,
            summary="How this node keeps executions up to date",
            tag="System",
            answers={200: Answer(description="What was done", schema=schemas.ref("Refresh"))},
        ),
    ]


_NUMBER: Final[Schema] = {"type": "number"}
_COUNTED: Final = [one.name for one in fields(Tally) if one.type == "int"]

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
