"""The leader: who it is, and since when."""

from __future__ import annotations

from typing import Any

from litestar.types import ASGIApp

from windlass.api.http import components as schemas
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.view import shown
from windlass.api.parts import ApiParts
from windlass.engine.cluster.leader import read_leader


def routes(parts: ApiParts) -> list[Route]:
    async def get(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        row = await read_leader(parts.database)
        told = {name: row[name] for name in ("name", "term", "elected_at", "lease_until")}
        return json_reply({"node_id": shown("node", row["node_id"]), **told})

    return [
        Route(
            method="GET",
            path="/v1/leader",
            handle=get,
            summary="Who leads; node_id is null while nobody does",
            tag="Nodes",
            answers={200: Answer(description="The leader", schema=schemas.ref("Leader"))},
        )
    ]
