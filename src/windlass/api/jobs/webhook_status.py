"""/v1/jobs/{id}/webhook-status: what became of a webhook, delivery by delivery."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp

from windlass.api.http import shapes as schemas
from windlass.api.http.query import id_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.jobs.jobs import job_id_of
from windlass.api.jobs.view import shown
from windlass.api.parts import ApiParts
from windlass.engine.targets.deliveries import Delivery, read_webhook_status


def _delivery_view(delivery: Delivery) -> dict[str, Any]:
    ended_at = delivery.ended_at
    took = None if ended_at is None else ended_at - delivery.started_at
    return {
        "attempt": delivery.attempt,
        # The attempt's number is the fence: what an older one says counts for nothing.
        "fence": delivery.attempt,
        "node_id": shown("node", delivery.node_id),
        "started_at": delivery.started_at,
        "duration_ms": None if took is None else round(took.total_seconds() * 1000, 3),
        "outcome": delivery.outcome,
        "status_code": delivery.status_code,
        "error": delivery.error,
        "method": delivery.method,
        "request_headers": delivery.request_headers,
        "response_headers": delivery.response_headers,
        "response_excerpt": delivery.response_excerpt,
        "timings_ms": delivery.timings_ms,
        "address": delivery.address,
        "is_reused": delivery.is_reused,
        "redirects": delivery.redirects,
    }


def routes(parts: ApiParts) -> list[Route]:
    async def status(request: Call, _query: dict[str, Any]) -> ASGIApp:
        found = await read_webhook_status(parts.database, job_id_of(request))
        return json_reply(
            {
                "state": found.state,
                "deliveries": [_delivery_view(delivery) for delivery in found.deliveries],
                "next_attempt_at": found.next_attempt_at,
                "target": {"host": found.host, "breaker": found.breaker},
            }
        )

    return [
        Route(
            method="GET",
            path="/v1/jobs/{job_id:str}/webhook-status",
            needs="jobs:read",
            confined_by="job",
            handle=status,
            summary="The deliveries of a webhook",
            tag="Jobs",
            description="Of an `http` job; any other is a conflict, `not_a_webhook`.",
            path_schemas={"job_id": id_schema("job")},
            answers={
                200: Answer(
                    description="The deliveries, oldest first", schema=schemas.ref("WebhookStatus")
                )
            },
            problems=(404, 409),
        )
    ]
