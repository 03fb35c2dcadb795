"""/v1/stats: how many jobs are where."""

from __future__ import annotations

from typing import Any

from litestar.types import ASGIApp

from windlass.api.http import components as schemas
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.engine.jobs.stats import add_up, read_counters


def routes(parts: ApiParts) -> list[Route]:
    async def show(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        queues = await read_counters(parts.database)
        total = add_up(queues)
        return json_reply(
            {
                "totals": total.counts,
                "bytes": total.bytes,
                "queues": {name: queues[name].counts for name in sorted(queues)},
            }
        )

    return [
        Route(
            method="GET",
            path="/v1/stats",
            handle=show,
            summary="Jobs by state and queue, from counters",
            tag="System",
            answers={200: Answer(description="The counts", schema=schemas.ref("Stats"))},
        )
    ]
