"""Schedules, their firings and what is to come, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from windlass.sdk.http.api_object import ApiObject


class ClockChanges(ApiObject):
    """What becomes of instants that a change of clocks skips or repeats."""

    _shown: ClassVar[tuple[str, ...]] = ("gap", "overlap")

    gap: str | None
    overlap: str | None


class ScheduledWorkflow(ApiObject):
    """The workflow that a schedule starts."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    name: str
    version: int | None
    input: dict[str, Any]


class Schedule(ApiObject):
    """A rule by which jobs are made or workflows started."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "state", "words")

    id: str
    name: str
    state: str
    cron: str | None
    every: float | str | None
    at: str | list[str] | None
    timezone: str
    dst: ClockChanges | None
    starts_at: datetime | None
    ends_at: datetime | None
    jitter: float | str | None
    calendar: dict[str, Any] | None
    words: str
    job: dict[str, Any] | None
    workflow: ScheduledWorkflow | None
    overlap: str
    misfire: str
    catchup: float | None
    priority: str | None
    tags: list[str]
    source: str
    owner: str | None
    edition: int
    next_at: datetime | None
    fire_at: datetime | None
    last_at: datetime | None
    paused_at: datetime | None
    note: str | None
    created_at: datetime
    changed_at: datetime


class Firing(ApiObject):
    """An instant of a schedule, and what came of it."""

    _shown: ClassVar[tuple[str, ...]] = ("instant", "state")

    instant: datetime
    state: str
    fired_at: datetime
    late_seconds: float
    reason: str | None
    job_id: str | None
    execution_id: str | None
    is_asked: bool
    stands_for: int


class NextInstant(ApiObject):
    """An instant at which a schedule will fire."""

    _shown: ClassVar[tuple[str, ...]] = ("local", "note")

    instant: datetime
    local: str
    note: str | None


class ScheduleTimes(ApiObject):
    """When a schedule will fire, and its rule in words."""

    _shown: ClassVar[tuple[str, ...]] = ("words",)

    next: list[NextInstant]
    words: str


class SchedulesChanged(ApiObject):
    """The schedules that were paused or resumed."""

    _shown: ClassVar[tuple[str, ...]] = ("count",)

    names: list[str]
    count: int


class Backfill(ApiObject):
    """What a backfill fired, or would."""

    _shown: ClassVar[tuple[str, ...]] = ("fired", "skipped", "count")

    dry_run: bool
    count: int
    made: int | None
    limit: int
    fired: int
    skipped: int
