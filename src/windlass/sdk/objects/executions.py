"""Executions of workflows and durable functions, and approvals, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from windlass.sdk.http.api_object import ApiObject
from windlass.sdk.objects.jobs import JobError


class ExecutionParent(ApiObject):
    """The step that started an execution."""

    _shown: ClassVar[tuple[str, ...]] = ("execution_id", "job_id")

    execution_id: str | None
    job_id: str


class Execution(ApiObject):
    """An execution of a workflow or a durable function."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "state", "workflow")

    id: str
    workflow: str
    version: int
    state: str
    counts: dict[str, int]
    input: dict[str, Any]
    output: Any
    error: JobError | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    deadline: datetime | None
    parent: ExecutionParent | None
    depth: int
    priority: str
    concurrency_key: str | None
    correlation_id: str | None
    trace_id: str | None
    tags: list[str]
    paused_at: datetime | None
    cancel_requested_at: datetime | None
    refreshed_at: datetime


class GraphNeed(ApiObject):
    """A step that another one needs."""

    _shown: ClassVar[tuple[str, ...]] = ("step", "when")

    step: str
    when: str


class MapCounts(ApiObject):
    """How far a step is that fans out."""

    _shown: ClassVar[tuple[str, ...]] = ("succeeded", "failed", "total")

    total: int
    expanded: int
    succeeded: int
    failed: int
    open: int


class GraphStep(ApiObject):
    """A step of an execution."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "state", "kind")

    id: str
    kind: str
    title: str | None
    needs: list[GraphNeed]
    state: str
    job_id: str | None
    created_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    attempt: int
    max_attempts: int | None
    until: datetime | None
    child_id: str | None
    counts: MapCounts | None
    output: Any
    output_excerpt: str | None
    error: JobError | None


class GraphEdge(ApiObject):
    """An arrow between two steps; its ends are the items `from` and `to`."""

    _shown: ClassVar[tuple[str, ...]] = ("from", "to", "when")

    to: str
    when: str
    cases: list[Any]


class ExecutionGraph(ApiObject):
    """The steps of an execution and how they hang together."""

    _shown: ClassVar[tuple[str, ...]] = ("execution_id", "state", "workflow")

    execution_id: str
    workflow: str
    version: int
    state: str
    steps: list[GraphStep]
    edges: list[GraphEdge]


class ExecutionSignal(ApiObject):
    """A signal that was sent to an execution."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "name")

    id: str
    execution_id: str
    name: str
    taken_by: str | None


class WhyReason(ApiObject):
    """One thing that an execution waits for."""

    _shown: ClassVar[tuple[str, ...]] = ("gate", "reason")

    gate: str
    reason: str
    since: datetime | None
    until: datetime | None
    step: str | None
    item: int | None
    job_id: str | None


class WhyExecution(ApiObject):
    """Why an execution has not ended."""

    _shown: ClassVar[tuple[str, ...]] = ("execution_id", "state", "summary")

    execution_id: str
    state: str
    summary: str
    reasons: list[WhyReason]
    has_more: bool


class Approval(ApiObject):
    """A decision that people are asked for."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "state", "title")

    id: str
    execution_id: str
    step: str
    job_id: str
    title: str
    form: dict[str, Any] | None
    state: str
    answer: Any
    comment: str | None
    decided_by: str | None
    created_at: datetime
    until: datetime | None
    decided_at: datetime | None
