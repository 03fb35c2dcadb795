"""Jobs and executions as a test looks at them: plain values, read from the rows themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from windlass import ids
from windlass.model.job.states import PRIORITY_NAMES
from windlass.store.database import Database, Record
from windlass.testing.local_sql import ask


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenJob:
    id: str
    kind: str
    task: str | None  # None: it is no `python` job
    args: list[Any] = field(default_factory=list)  # of a task, as they were sent
    kwargs: dict[str, Any] = field(default_factory=dict)
    input: Any
    queue: str
    priority: str
    state: str
    attempt: int
    run_at: datetime
    created_at: datetime
    started_at: datetime | None  # None: never
    finished_at: datetime | None  # None: not yet
    result: Any
    error: Any  # of the newest failed attempt
    key: str | None
    tags: list[str]
    execution_id: str | None  # None: it is no step
    step: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenExecution:
    id: str
    workflow: str
    version: int
    state: str
    created_at: datetime
    finished_at: datetime | None  # None: not yet
    input: Any
    output: Any
    error: Any


async def jobs(database: Database, since: datetime | None = None) -> list[SeenJob]:
    """All of them; or those that began or ended since then."""
    return [_job(row) for row in await ask(database, "local_jobs", since)]


async def executions(database: Database) -> list[SeenExecution]:
    return [
        SeenExecution(
            id=ids.show("execution", row["id"]),
            workflow=row["workflow"],
            version=row["version"],
            state=row["state"],
            created_at=row["created_at"],
            finished_at=row["finished_at"],
            input=_value(row["input"]),
            output=_value(row["output"]),
            error=_value(row["error"]),
        )
        for row in await ask(database, "local_executions")
    ]


def _job(row: Record) -> SeenJob:
    given = json.loads(row["input"])
    asked = given if row["kind"] == "python" and isinstance(given, dict) else {}
    execution = row["execution_id"]
    return SeenJob(
        id=ids.show("job", row["id"]),
        kind=row["kind"],
        task=asked.get("task"),
        args=asked.get("args", []),
        kwargs=asked.get("kwargs", {}),
        input=given,
        queue=row["queue"],
        priority=PRIORITY_NAMES[row["priority"]],
        state=row["state"],
        attempt=row["attempt"],
        run_at=row["run_at"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        result=_value(row["result"]),
        error=_value(row["error"]),
        key=row["key"],
        tags=row["tags"] or [],
        execution_id=None if execution is None else ids.show("execution", execution),
        step=row["step"],
    )


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)
