"""Queues, targets, locks and secrets, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from windlass.sdk.http.api_object import ApiObject


class Counts(ApiObject):
    """How many jobs are in each state."""

    _shown: ClassVar[tuple[str, ...]] = ("queued", "running", "dead")

    blocked: int
    queued: int
    running: int
    succeeded: int
    dead: int
    cancelled: int
    expired: int
    skipped: int


class Queue(ApiObject):
    """A queue with its limits and counts."""

    _shown: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    max_jobs: int | None
    max_bytes: int | None
    max_running: int | None
    rate: float | None
    submit_rate: float | None
    is_paused: bool
    paused_at: datetime | None
    created_at: datetime
    counts: Counts
    bytes: int


class TargetBreaker(ApiObject):
    """The circuit breaker of a target."""

    _shown: ClassVar[tuple[str, ...]] = ("state", "reason")

    state: str
    opened_at: datetime | None
    open_until: datetime | None
    opens: int
    reason: str | None
    failures: int
    rest: float
    rest_max: float


class Target(ApiObject):
    """A host that webhooks go to."""

    _shown: ClassVar[tuple[str, ...]] = ("host", "state")

    host: str
    state: str
    disabled_at: datetime | None
    disabled_reason: str | None
    rate: float | None
    max_running: int | None
    breaker: TargetBreaker
    parked: int
    parked_more: bool
    running: int | None
    succeeded: int
    failed: int
    last_answer_at: datetime | None
    last_failure_at: datetime | None
    created_at: datetime


class TargetSecret(ApiObject):
    """What the receiver of a target verifies signatures with."""

    _shown: ClassVar[tuple[str, ...]] = ("host", "name")

    host: str
    secrets: list[str]
    name: str


class LockHolder(ApiObject):
    """Somebody who holds a lock."""

    _shown: ClassVar[tuple[str, ...]] = ("token", "job_id", "owner")

    token: int
    job_id: str | None
    owner: str | None
    taken_at: datetime
    expires_at: datetime | None


class LockWaiter(ApiObject):
    """Somebody who waits for a lock."""

    _shown: ClassVar[tuple[str, ...]] = ("job_id", "owner", "priority")

    job_id: str | None
    owner: str | None
    priority: str
    since: datetime
    until: datetime | None


class LockInfo(ApiObject):
    """A lock: who holds it, who waits for it."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "held", "capacity")

    name: str
    capacity: int
    token: int
    held: int
    waiting: int
    waiting_more: bool
    changed_at: datetime
    holders: list[LockHolder]
    waiters: list[LockWaiter]


class LockHold(ApiObject):
    """A lock that was taken, until `expires_at`; `token` is the fencing token."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "token")

    name: str
    token: int
    expires_at: datetime
    capacity: int


class LockRenewed(ApiObject):
    """A lock that is held for longer."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "token")

    name: str
    token: int
    expires_at: datetime


class Secret(ApiObject):
    """What is known of a secret, without its value."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    name: str
    kind: str
    public_key: str | None
    version: int
    versions: int
    created_at: datetime
    rotated_at: datetime | None
    overlap_until: datetime | None
    is_readable: bool
    hosts: list[str] | None


class SecretPut(ApiObject):
    """A secret that was written; with its value if that was generated."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    name: str
    kind: str
    public_key: str | None
    version: int
    versions: int
    created_at: datetime
    rotated_at: datetime | None
    overlap_until: datetime | None
    is_readable: bool
    hosts: list[str] | None
    value: str | None
