"""Attempts to settle, with what a test does not care about filled in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from windlass.model.job.attempt import Attempt
from windlass.model.job.target import target_of

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


def attempt(**given: Any) -> Attempt:
    usual: dict[str, Any] = {
        "job_id": UUID(int=1),
        "claim_id": UUID(int=2),
        "number": 1,
        "queue": "mail",
        "kind": "noop",
        "priority": 1,
        "max_attempts": 5,
        "snoozes": 0,
        "crashes": 0,
        "created_at": NOON,
        "started_at": NOON,
        "timeout_ms": None,
        "retry": None,
        "correlation_id": None,
        "trace_id": None,
        "input": "{}",
    }
    made = usual | given
    if made["kind"] == "http" and "target" not in made:
        made["target"] = _target_of(made["input"])
    return Attempt(**made)


def _target_of(text: str) -> str | None:
    """As whoever enqueued it found it."""
    try:
        return target_of(json.loads(text)["url"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
