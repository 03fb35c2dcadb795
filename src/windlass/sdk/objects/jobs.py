"""Jobs, their past and their dead letters, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from windlass.sdk.http.api_object import ApiObject


class JobError(ApiObject):
    """What went wrong with an attempt."""

    _shown: ClassVar[tuple[str, ...]] = ("cause", "message")

    cause: str
    message: str
    type: str | None
    traceback: Any
    status: Any


class RetryPolicy(ApiObject):
    """How often a job is tried, and how long it rests in between."""

    _shown: ClassVar[tuple[str, ...]] = ("max_attempts",)

    max_attempts: int | None
    initial: float | str | None
    factor: float | None
    max: float | str | None
    jitter: bool | None


class Progress(ApiObject):
    """How far a task said that it is."""

    _shown: ClassVar[tuple[str, ...]] = ("done", "total", "message")

    done: float
    total: float | None
    message: str | None
    at: datetime


class JobLimit(ApiObject):
    """How many jobs of one name run at once, and start a second."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "max_running", "rate")

    name: str
    max_running: int | None
    rate: float | None
    per: list[str]
    lock: str  # under which it is counted


class Job(ApiObject):
    """A job: what is to be done, and what became of it."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "state", "task", "target")

    id: str
    kind: str
    task: str | None
    state: str
    queue: str
    priority: str
    attempt: int
    max_attempts: int
    run_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    deadline: datetime | None
    timeout: float | None
    input: dict[str, Any]
    result: Any
    error: JobError | None
    outcome: str | None
    cause: str | None
    tags: list[str]
    key: str | None
    correlation_id: str | None
    trace_id: str | None
    depends_on: list[str]
    on_parent_failure: str | None
    retry: RetryPolicy | None
    execution_id: str | None
    step: str | None
    item: int | None
    node_id: str | None
    cancel_requested_at: datetime | None
    crashes: int
    snoozes: int
    replays: int
    target: str | None
    locks: list[str]
    limits: list[JobLimit]
    progress: Progress | None


class JobRef(ApiObject):
    """A job of a batch, of which only the id was answered."""

    id: str


class Attempt(ApiObject):
    """One try of a job."""

    _shown: ClassVar[tuple[str, ...]] = ("attempt", "outcome")

    attempt: int
    node_id: str | None
    started_at: datetime
    ended_at: datetime | None
    duration_ms: float | None
    outcome: str | None
    next_run_at: datetime | None
    error: JobError | None
    detail: dict[str, Any] | None


class EventData(ApiObject):
    """What an event says beside whom it is of."""

    _shown: ClassVar[tuple[str, ...]] = ("state", "outcome")

    state: str | None
    outcome: str | None
    attempt: int | None
    cause: str | None
    error: JobError | None
    node_id: str | None
    run_at: datetime | None
    from_run_at: datetime | None
    reason: str | None
    workflow: str | None
    version: Any


class Event(ApiObject):
    """Something that happened."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "type", "subject")

    id: str
    at: datetime
    type: str
    noun: str
    subject: str
    job_id: str | None
    execution_id: str | None
    queue: str | None
    name: str | None
    data: EventData


class LogLine(ApiObject):
    """A line that a task logged."""

    _shown: ClassVar[tuple[str, ...]] = ("level", "message")

    attempt: int
    at: datetime
    level: str
    message: str
    fields: dict[str, Any]


class WhyGate(ApiObject):
    """One thing that holds a job back."""

    _shown: ClassVar[tuple[str, ...]] = ("gate", "reason")

    gate: str
    reason: str
    since: datetime | None
    until: datetime | None


class Why(ApiObject):
    """Why a job does not run."""

    _shown: ClassVar[tuple[str, ...]] = ("job_id", "state", "summary")

    job_id: str
    state: str
    summary: str
    gates: list[WhyGate]
    estimated_start: datetime | None


class Delivery(ApiObject):
    """One request of a webhook, and its answer."""

    _shown: ClassVar[tuple[str, ...]] = ("attempt", "outcome", "status_code")

    attempt: int
    fence: int
    node_id: str | None
    started_at: datetime
    duration_ms: float | None
    outcome: str | None
    status_code: int | None
    error: JobError | None
    method: str | None
    request_headers: dict[str, str]
    response_headers: dict[str, str]
    response_excerpt: str | None
    timings_ms: dict[str, float]
    address: str | None
    is_reused: bool | None
    redirects: list[str]


class WebhookTarget(ApiObject):
    """The host that a webhook goes to."""

    _shown: ClassVar[tuple[str, ...]] = ("host", "breaker")

    host: str | None
    breaker: str


class WebhookStatus(ApiObject):
    """How the deliveries of a webhook went."""

    _shown: ClassVar[tuple[str, ...]] = ("state",)

    state: str
    deliveries: list[Delivery]
    next_attempt_at: datetime | None
    target: WebhookTarget


class Completed(ApiObject):
    """A job after its receiver has said how it ended, or that it needs longer."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "state")

    id: str
    state: str
    attempt: int
    run_at: datetime | None
    finished_at: datetime | None
    callback_until: datetime | None


class DeadGroup(ApiObject):
    """Dead letters that have queue, kind and cause in common."""

    _shown: ClassVar[tuple[str, ...]] = ("queue", "kind", "cause", "count")

    queue: str
    task: str | None
    target: str | None
    kind: str
    cause: str
    count: int
    first_at: datetime
    last_at: datetime
    sample_id: str


class LeftJob(ApiObject):
    """A job that was left as it is."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "reason")

    id: str
    reason: str


class DeadLettersReplayed(ApiObject):
    """How many dead letters were queued again."""

    _shown: ClassVar[tuple[str, ...]] = ("replayed", "left")

    replayed: int
    more: bool
    left: int
    left_jobs: list[LeftJob]


class DeadLettersDiscarded(ApiObject):
    """How many dead letters were forgotten."""

    _shown: ClassVar[tuple[str, ...]] = ("discarded", "left")

    discarded: int
    more: bool
    left: int
    left_jobs: list[LeftJob]


class BulkOperation(ApiObject):
    """One verb on many jobs, and how far it is."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "verb", "phase", "done")

    id: str
    kind: str
    verb: str
    phase: str
    filter: dict[str, Any]
    named: int | None
    matching: int
    is_exact: bool
    most: int | None
    rate: float | None
    looked: int
    done: int
    refused: int
    gone: int
    held: int
    left_jobs: list[LeftJob]
    reason: str | None
    asked_by: str | None
    created_at: datetime
    changed_at: datetime
    ended_at: datetime | None


class BulkGroup(ApiObject):
    """Jobs that a bulk operation would touch, of one state, queue and function."""

    _shown: ClassVar[tuple[str, ...]] = ("state", "queue", "kind", "count")

    state: str
    queue: str
    kind: str
    task: str | None
    cause: str | None
    count: int


class BulkPreview(ApiObject):
    """What a bulk operation would touch."""

    _shown: ClassVar[tuple[str, ...]] = ("verb", "matching")

    dry_run: bool
    verb: str
    matching: int
    is_exact: bool
    estimated_seconds: float | None
    groups: list[BulkGroup]
    sample_ids: list[str]
