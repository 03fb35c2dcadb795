"""Objects as the API answers them."""

from __future__ import annotations

from typing import Any

JOB_ID = "job_" + "0190" * 8


def job(**changes: Any) -> dict[str, Any]:
    return {
        "id": JOB_ID,
        "kind": "noop",
        "state": "queued",
        "queue": "default",
        "priority": "normal",
        "attempt": 0,
        "max_attempts": 5,
        "run_at": "2026-01-31T12:00:00Z",
        "created_at": "2026-01-31T12:00:00Z",
        "started_at": None,
        "finished_at": None,
        "input": {},
        "result": None,
        "error": None,
        "tags": [],
        "depends_on": [],
        **changes,
    }


def numbered(number: int, prefix: str = "job_") -> str:
    return f"{prefix}{number:032x}"


def page(data: list[Any], next_cursor: str | None = None) -> dict[str, Any]:
    return {"data": data, "next_cursor": next_cursor}
