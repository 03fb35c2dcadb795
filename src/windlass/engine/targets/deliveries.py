"""Webhook deliveries of one job: each as it went over the wire, and when the next one goes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.jobs.read import AttemptRecord, read_job_with_attempts
from windlass.engine.targets.targets import Target, find_target
from windlass.errors import NotAWebhook
from windlass.model.json.strict import read_stored
from windlass.store.database import Database, Record

WEBHOOK: Final = "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One attempt to deliver. What is not known is None or empty."""

    attempt: int
    node_id: UUID | None
    started_at: datetime
    ended_at: datetime | None  # None: it runs
    outcome: str | None  # None: it runs
    error: dict[str, Any] | None
    method: str | None
    status_code: int | None
    request_headers: dict[str, str]
    response_headers: dict[str, str]
    response_excerpt: str | None
    timings_ms: dict[str, float]
    address: str | None
    is_reused: bool | None
    redirects: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookStatus:
    state: str
    deliveries: list[Delivery]
    next_attempt_at: datetime | None  # None: none is to come, or nobody can say when
    host: str | None  # None: its address names none
    breaker: str


async def read_webhook_status(database: Database, job_id: UUID) -> WebhookStatus:
    """Raises NotFound, and NotAWebhook for a job of another kind."""
    job, tried = await read_job_with_attempts(database, job_id)
    if job["kind"] != WEBHOOK:
        raise NotAWebhook(ids.show("job", job_id), job["kind"])
    target = await find_target(database, job["target"]) if job["target"] else None
    return WebhookStatus(
        state=job["state"],
        deliveries=[_delivery(attempt, _result_of(job, attempt)) for attempt in tried],
        next_attempt_at=_next_attempt_at(job, target),
        host=job["target"],
        breaker=target.breaker.state if target else "closed",
    )


def _next_attempt_at(job: Record, target: Target | None) -> datetime | None:
    if job["state"] != "queued":
        return None
    if job["parked_at"] is None:
        due: datetime = job["run_at"]
        return due
    # It waits for its target, whose breaker knows when it opens the door again.
    return target.breaker.open_until if target else None


def _result_of(job: Record, tried: AttemptRecord) -> str | None:
    """The job's result, if it came from this attempt."""
    ended_it = job["outcome"] == "succeeded" and tried.attempt == job["attempt"]
    return job["result"] if ended_it else None


def _delivery(tried: AttemptRecord, result: str | None) -> Delivery:
    detail, error = _object(tried.detail), _object(tried.error)
    # What the record of the delivery lacks, the answer that was kept as error or result may tell.
    answered = error or _object(result)
    return Delivery(
        attempt=tried.attempt,
        node_id=tried.node_id,
        started_at=tried.started_at,
        ended_at=tried.ended_at,
        outcome=tried.outcome,
        error=error or None,
        method=detail.get("method"),
        status_code=detail.get("status_code", answered.get("status_code")),
        request_headers=detail.get("request_headers", {}),
        response_headers=detail.get("response_headers", {}),
        response_excerpt=_text(detail.get("response_excerpt", answered.get("body"))),
        timings_ms=detail.get("timings_ms", {}),
        address=detail.get("address"),
        is_reused=detail.get("is_reused"),
        redirects=detail.get("redirects", []),
    )


def _text(value: Any) -> str | None:
    """An answer that was kept as JSON is shown as the text it came as."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _object(text: str | None) -> dict[str, Any]:
    value = None if text is None else read_stored(text)
    return value if isinstance(value, dict) else {}
