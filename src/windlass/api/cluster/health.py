"""/health: liveness and readiness probes, and what is amiss with this process and what it needs.

`/health/live` touches nothing but the loop. `ready` and the whole picture ask the parts around us,
each within a deadline; what does not answer is named, and so is whatever this node does in the
background and does not at the moment (see supervise).
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, listed, nullable, record, ref
from windlass.api.jobs.view import shown
from windlass.api.parts import ApiParts
from windlass.clock import monotonic
from windlass.engine.cluster.nodes import read_leader
from windlass.engine.jobs.partitions import are_low
from windlass.engine.jobs.stats import Counters
from windlass.errors import Unavailable
from windlass.model.identity.rights import NOBODY
from windlass.supervise import supervisor

PROBE_SECONDS: Final = 1.0


class Health:
    def __init__(self, parts: ApiParts, counters: Counters) -> None:
        self._parts = parts
        self._counters = counters

    async def live(self, _request: Call, _query: dict[str, Any]) -> ASGIApp:
        return json_reply({"status": "ok"})

    async def ready(self, _request: Call, _query: dict[str, Any]) -> ASGIApp:
        database = await self._database_ms()
        down = supervisor().vital_down
        is_ready = database is not None and not self._parts.node.is_draining and not down
        return json_reply(
            {
                "status": "ok" if is_ready else "down",
                "is_draining": self._parts.node.is_draining,
                "database": _part(database),
                "down": down,
            },
            200 if is_ready else 503,
        )

    async def whole(self, _request: Call, _query: dict[str, Any]) -> ASGIApp:
        node = self._parts.node
        database, redis = await asyncio.gather(self._database_ms(), self._redis_ms())
        degraded = [name for name, ms in (("database", database), ("redis", redis)) if ms is None]
        if self._parts.lane.is_shared:
            degraded.append("redis_shared")
        if not self._parts.can_sign:
            degraded.append("signing_off")
        degraded += supervisor().down
        if database is not None and await self._lacks_partitions():
            degraded.append("partitions")
        status = "down" if database is None else "degraded" if degraded else "ok"
        answer = {
            "status": status,
            "queue_size": await self._queue_size() if database is not None else None,
            "jobs_executing": node.executing,
            "last_execution": node.last_execution_at,
            "node_id": ids.show("node", node.node_id),
            "leader": await self._leader() if database is not None else None,
            "workers": node.workers,
            "is_draining": node.is_draining,
            "database": _part(database),
            "redis": _part(redis),
            "degraded": degraded,
            "auth": self._parts.settings.auth,
            "warnings": ["auth_off"] if self._parts.settings.auth == "off" else [],
        }
        return json_reply(answer, 503 if database is None else 200)

    async def _database_ms(self) -> float | None:
        start = monotonic()
        try:
            await asyncio.wait_for(self._parts.database.read("database_ping"), PROBE_SECONDS)
        except (Unavailable, TimeoutError):
            return None
        return (monotonic() - start) * 1000

    async def _redis_ms(self) -> float | None:
        seconds = await self._parts.lane.ping_seconds()
        return None if seconds is None else seconds * 1000

    async def _lacks_partitions(self) -> bool:
        """Whether the history will soon have no partition for its next day."""
        try:
            return await asyncio.wait_for(are_low(self._parts.database), PROBE_SECONDS)
        except (Unavailable, TimeoutError):
            return False

    async def _leader(self) -> str | None:
        try:
            row = await asyncio.wait_for(read_leader(self._parts.database), PROBE_SECONDS)
        except (Unavailable, TimeoutError):
            return None
        return shown("node", row["node_id"])

    async def _queue_size(self) -> int | None:
        try:
            counts = await asyncio.wait_for(self._counters.read(), PROBE_SECONDS)
        except (Unavailable, TimeoutError):
            return None
        return sum(queue.counts["queued"] + queue.counts["blocked"] for queue in counts.values())


def _part(ms: float | None) -> dict[str, Any]:
    return {"ok": ms is not None, "ms": None if ms is None else round(ms, 3)}


def routes(parts: ApiParts, counters: Counters) -> list[Route]:
    health = Health(parts, counters)
    live = record(status=TEXT)
    ready = record(
        status=TEXT,
        is_draining={"type": "boolean"},
        database=ref("Part"),
        down=listed(TEXT),
    )
    whole = ref("Health")
    return [
        Route(
            method="GET",
            path=path,
            needs=NOBODY,
            handle=handle,
            summary=summary,
            tag="Health",
            answers={
                200: Answer(description="Well", schema=schema),
                **({503: Answer(description="Not well", schema=schema)} if may_fail else {}),
            },
        )
        for path, handle, summary, schema, may_fail in (
            ("/health/live", health.live, "Is the process there", live, False),
            ("/health/ready", health.ready, "Can it work", ready, True),
            ("/health", health.whole, "What is amiss", whole, True),
        )
    ]


SCHEMAS: Final[Named] = {
    "Health": record(
        status={"type": "string", "enum": ["ok", "degraded", "down"]},
        queue_size=nullable(COUNT),
        jobs_executing=COUNT,
        last_execution=nullable(INSTANT),
        node_id=id_schema("node"),
        leader=nullable(id_schema("node")),
        workers=COUNT,
        is_draining={"type": "boolean"},
        database=ref("Part"),
        redis=ref("Part"),
        degraded=listed(TEXT),
        auth={"type": "string", "enum": ["on", "off"]},
        warnings=listed(TEXT),
    ),
    "Part": record(ok={"type": "boolean"}, ms=nullable({"type": "number"})),
}
