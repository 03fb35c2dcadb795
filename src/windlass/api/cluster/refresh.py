"""How executions are kept up to date: by whom, and how that goes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from litestar.types import ASGIApp

from windlass import ids
from windlass.api.http import components as schemas
from windlass.api.http.paging import page_of_whole, whole_params
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.view import shown
from windlass.api.parts import ApiParts
from windlass.engine.executions.shards import oldest_refresh_seconds, read_shards


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
