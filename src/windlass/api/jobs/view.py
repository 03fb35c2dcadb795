"""A job as the API shows it: from its row, or from the draft it was just made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

import msgspec

from windlass import ids
from windlass.model.job.draft import Draft
from windlass.model.job.limit import PREFIX
from windlass.model.job.outcome import Crashed
from windlass.model.job.states import PRIORITY_NAMES
from windlass.model.trace_context import trace_id_of


class Row(Protocol):
    def __getitem__(self, name: str, /) -> Any: ...


class Progress(msgspec.Struct, kw_only=True):
    """How far a job says that it is."""

    done: float
    total: float | None
    message: str | None
    at: datetime


class JobView(msgspec.Struct, kw_only=True):
    """The fields of a job, in the order in which they are shown. JSON columns pass through raw."""

    id: str
    kind: str
    task: str | None = None
    state: str
    queue: str
    priority: str
    attempt: int
    max_attempts: int
    run_at: datetime | None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    deadline: datetime | None = None
    timeout: float | None = None
    input: Any = None
    result: Any = None
    error: Any = None
    outcome: str | None = None
    cause: str | None = None
    tags: Sequence[str] = ()
    key: str | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    depends_on: list[str] = []
    on_parent_failure: str | None = None
    retry: Any = None
    execution_id: str | None = None
    step: str | None = None
    item: int | None = None
    node_id: str | None = None
    cancel_requested_at: datetime | None = None
    crashes: int = 0
    snoozes: int = 0
    replays: int = 0
    target: str | None = None
    locks: Sequence[str] = ()
    limits: Any = ()  # in JSON, as they are kept
    progress: Progress | None = None


def job_view(row: Row, progress: Row | None = None) -> JobView:
    """From a row of `job_get_many`, and perhaps one of `progress_get_many`."""
    return JobView(
        id=ids.show("job", row["id"]),
        kind=row["kind"],
        task=row["task"],
        state=row["state"],
        queue=row["queue"],
        priority=PRIORITY_NAMES[row["priority"]],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        run_at=row["run_at"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        deadline=row["deadline"],
        timeout=_seconds(row["timeout_ms"]),
        input=raw(row["input"]),
        result=raw(row["result"]),
        error=raw(row["error"]),
        outcome=row["outcome"],
        cause=row["cause"],
        tags=row["tags"] or (),
        key=row["key"],
        correlation_id=row["correlation_id"],
        trace_id=trace_id_of(row["trace_id"]),
        depends_on=[ids.show("job", parent) for parent in row["depends_on"] or ()],
        on_parent_failure=row["on_parent_failure"],
        retry=raw(row["retry"]),
        execution_id=shown("execution", row["execution_id"]),
        step=row["step"],
        item=row["item"],
        node_id=shown("node", row["node_id"]),
        cancel_requested_at=row["cancel_requested_at"],
        # A row counts those after which it was tried again; the one that ended it is its outcome.
        crashes=row["crashes"] + (row["outcome"] == Crashed.name),
        snoozes=row["snoozes"],
        replays=row["replays"],
        target=row["target"],
        locks=[name for name in row["locks"] or () if not name.startswith(PREFIX)],
        limits=raw(row["limits"]) or (),
        progress=None if progress is None else _progress(progress),
    )


def new_job_view(job_id: UUID, draft: Draft, now: datetime, run_at: datetime) -> JobView:
    """A job that was accepted a moment ago and has no parents: the draft says it all."""
    return JobView(
        id=ids.show("job", job_id),
        kind=draft.kind,
        task=draft.task,
        state="queued",
        queue=draft.queue,
        priority=PRIORITY_NAMES[draft.priority],
        attempt=0,
        max_attempts=draft.max_attempts,
        run_at=run_at,
        created_at=now,
        deadline=draft.deadline,
        timeout=_seconds(draft.timeout_ms),
        input=raw(draft.input),
        tags=draft.tags,
        key=draft.key,
        correlation_id=draft.correlation_id,
        trace_id=trace_id_of(draft.trace_id),
        retry=raw(draft.retry),
        target=draft.target,
        locks=[ask.name for ask in draft.locks],
        limits=raw(draft.limits) or (),
    )


def raw(text: str | None) -> msgspec.Raw | None:
    """JSON that the database gave us as text goes out as it came."""
    return None if text is None else msgspec.Raw(text.encode())


def shown(noun: str, value: UUID | None) -> str | None:
    return None if value is None else ids.show(noun, value)


def _progress(row: Row) -> Progress:
    return Progress(done=row["done"], total=row["total"], message=row["message"], at=row["at"])


def _seconds(millis: int | None) -> float | None:
    return None if millis is None else millis / 1000
