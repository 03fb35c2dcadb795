"""Nodes, their operations, tasks and the installation, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from windlass.sdk.http.api_object import ApiObject
from windlass.sdk.objects.resources import Counts


class Node(ApiObject):
    """A process that runs jobs, or answers, or leads."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "state", "name")

    id: str
    name: str
    host: str
    pid: int
    version: str
    roles: list[str]
    workers: int
    queues: list[str] | None
    queues_except: list[str]
    in_flight: int
    memory_bytes: int | None
    cpu_percent: float | None
    state: str
    is_paused: bool
    paused_at: datetime | None
    started_at: datetime
    beat_at: datetime
    beat_age_seconds: float
    lease_until: datetime


class Operation(ApiObject):
    """A change of a node on its way."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "kind", "phase")

    id: str
    kind: str
    node_id: str
    parent_id: str | None
    phase: str
    from_workers: int
    to_workers: int | None
    drain_seconds: float
    on_timeout: str
    progress: dict[str, Any]
    reason: str | None
    asked_by: str | None
    is_abort_asked: bool
    created_at: datetime
    changed_at: datetime
    ended_at: datetime | None


class ClusterOperation(ApiObject):
    """A change of all nodes on its way."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "kind", "phase")

    id: str
    kind: str
    phase: str
    operations: list[Operation]


class Estimate(ApiObject):
    """What a change of a node's size would mean."""

    _shown: ClassVar[tuple[str, ...]] = ("node_id", "from_workers", "to_workers")

    node_id: str
    from_workers: int
    to_workers: int
    in_flight: int
    would_drain: int
    estimated_seconds: float | None


class Estimates(ApiObject):
    """What a change of all nodes' sizes would mean."""

    estimates: list[Estimate]


class Leader(ApiObject):
    """The node that sees to what is done once in a cluster."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "term")

    node_id: str | None
    name: str | None
    term: int
    elected_at: datetime | None
    lease_until: datetime | None


class Shard(ApiObject):
    """A share of the executions, and the node that refreshes it."""

    _shown: ClassVar[tuple[str, ...]] = ("shard", "node_id")

    shard: int
    node_id: str | None
    marks: int | None
    inflight: int | None


class Shards(ApiObject):
    """All shards, in one page."""

    data: list[Shard]
    next_cursor: str | None


class TaskInfo(ApiObject):
    """A task that nodes have: what it takes and gives, and its jobs."""

    _shown: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    app: str | None
    doc: str | None
    is_async: bool | None
    is_isolated: bool | None
    parameters: dict[str, Any] | None
    positional: list[str] | None
    result: dict[str, Any] | None
    options: dict[str, Any] | None
    nodes: list[str]
    node_count: int
    queued: int
    running: int
    dead: int
    described_at: datetime | None


class StrategyTask(ApiObject):
    """What a task takes and gives."""

    _shown: ClassVar[tuple[str, ...]] = ("task",)

    task: str
    is_async: bool
    is_isolated: bool
    parameters: dict[str, Any] | None
    positional: list[str]
    takes_more: bool
    result: dict[str, Any] | None


class Strategy(ApiObject):
    """A kind of job, and how its input looks."""

    _shown: ClassVar[tuple[str, ...]] = ("kind", "version")

    kind: str
    is_builtin: bool
    version: str | None
    input_schema: dict[str, Any] | None
    output_schema: dict[str, Any] | None
    error: str | None
    tasks: list[StrategyTask] | None


class Part(ApiObject):
    """Whether a part answers, and how soon."""

    _shown: ClassVar[tuple[str, ...]] = ("ok", "ms")

    ok: bool
    ms: float | None


class Health(ApiObject):
    """How the node that answered is."""

    _shown: ClassVar[tuple[str, ...]] = ("status", "node_id")

    status: str
    queue_size: int | None
    jobs_executing: int
    last_execution: datetime | None
    node_id: str
    leader: str | None
    workers: int
    is_draining: bool
    database: Part
    redis: Part
    degraded: list[str]
    auth: str
    warnings: list[str]


class Stats(ApiObject):
    """How many jobs there are, by state and queue."""

    totals: Counts
    bytes: int
    queues: dict[str, Counts]


class Cache(ApiObject):
    """How often a cache knew the answer."""

    _shown: ClassVar[tuple[str, ...]] = ("cache", "hit_rate")

    cache: str
    entries: int
    hits: int
    redis_hits: int
    loads: int
    errors: int
    hit_rate: float | None


class Invalidated(ApiObject):
    """Which nodes dropped what they kept."""

    _shown: ClassVar[tuple[str, ...]] = ("dropped",)

    acknowledged: list[str]
    missing: list[str]
    dropped: int


class RefreshRun(ApiObject):
    """One round of refreshing executions."""

    _shown: ClassVar[tuple[str, ...]] = ("executions", "seconds")

    at: datetime
    executions: int
    ended: int
    seconds: float


class Refresh(ApiObject):
    """How the refreshing of executions goes on a node."""

    _shown: ClassVar[tuple[str, ...]] = ("node_id",)

    node_id: str
    interval_seconds: float
    oldest_seconds: float | None
    executions: int
    batches: int
    ended: int
    fences_lost: int
    malformed: int
    gone: int
    overflowed: int
    shards_taken_over: int
    marks_taken_back: int
    missed: int
    stale: int
    last: RefreshRun | None
    per_second: float


class Signalled(ApiObject):
    """Who acknowledged a signal to coordinators."""

    _shown: ClassVar[tuple[str, ...]] = ("id",)

    id: str
    acknowledged: list[str]
    missing: list[str]
    answers: dict[str, dict[str, Any]]
    reasons: dict[str, str]


class Swept(ApiObject):
    """What was removed of dead coordinators."""

    _shown: ClassVar[tuple[str, ...]] = ("stale", "removed_keys")

    checked: int
    stale: int
    removed_keys: int
    kept: int
    skipped: int
    ms: float
    per_second: float
    stale_ids: list[str]
    dry_run: bool
    mode: str
