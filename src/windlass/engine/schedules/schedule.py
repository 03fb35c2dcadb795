"""Schedule, draft, filter and firing: the records that this room takes and hands out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from windlass.model.json.etag import tag_of
from windlass.model.schedule.decision import FiringState, Misfire, Overlap
from windlass.store.database import Record

Source: TypeAlias = Literal["api", "app", "import"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDraft:
    """A schedule that somebody asked for: checked, but not yet stored."""

    name: str
    rule_json: str  # checked, as given: cron or every or at, timezone, dst, starts_at, …
    job: str | None = None  # JSON as of POST /v1/jobs; None: it starts a workflow
    workflow: str | None = None  # JSON {"name", "version", "input"}; None: it submits a job
    overlap: Overlap = "allow"
    misfire: Misfire = "fire_once"
    catchup_seconds: float | None = None  # None: however long ago they were missed
    priority: int | None = None  # None: as its job or workflow says
    owner: str | None = None
    source: Source = "api"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    id: UUID
    name: str
    created_at: datetime
    changed_at: datetime  # when its rule was last put
    next_at: datetime | None  # the next due instant; None: there is none any more
    fire_at: datetime | None  # when that is fired: with its jitter
    last_at: datetime | None  # the newest due instant that was decided; None: none yet
    paused_at: datetime | None  # None: it is not paused
    note: str | None  # why it is paused
    edition: int
    rule_json: str
    job: str | None
    workflow: str | None
    overlap: Overlap
    misfire: Misfire
    catchup_seconds: float | None
    priority: int | None
    owner: str | None
    source: Source
    tags: tuple[str, ...]

    @property
    def etag(self) -> str:
        # A name that was deleted begins at edition 1 again.
        return tag_of(self.id.hex, self.edition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """What became of one due instant, or of a trigger."""

    schedule_id: UUID
    instant: datetime
    state: FiringState
    fired_at: datetime  # when it was decided
    job_id: UUID | None = None
    execution_id: UUID | None = None
    is_asked: bool = False  # by a trigger or a backfill
    reason: str | None = None  # why it was skipped or coalesced
    stands_for: int = 1  # itself, and instants before it that were too many for a row each

    @property
    def late_seconds(self) -> float:
        return max(0.0, (self.fired_at - self.instant).total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFilter:
    """Which schedules; a part that is None does not matter, all together must hold."""

    names: tuple[str, ...] | None = None
    prefix: str | None = None  # of the name
    tags: tuple[str, ...] | None = None  # it has all of these
    source: Source | None = None
    is_paused: bool | None = None
    workflow: str | None = None  # it starts this one
    queue: str | None = None  # its jobs go there


def schedule_from(row: Record) -> Schedule:
    return Schedule(
        id=row["id"],
        name=row["name"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        next_at=row["next_at"],
        fire_at=row["fire_at"],
        last_at=row["last_at"],
        paused_at=row["paused_at"],
        note=row["note"],
        edition=row["edition"],
        rule_json=row["rule"],
        job=row["job"],
        workflow=row["workflow"],
        overlap=row["overlap"],
        misfire=row["misfire"],
        catchup_seconds=row["catchup"],
        priority=row["priority"],
        owner=row["owner"],
        source=row["source"],
        tags=tuple(row["tags"] or ()),
    )


def firing_from(row: Record) -> Firing:
    return Firing(
        schedule_id=row["schedule_id"],
        instant=row["instant"],
        state=row["state"],
        fired_at=row["fired_at"],
        job_id=row["job_id"],
        execution_id=row["execution_id"],
        is_asked=row["is_asked"],
        reason=row["reason"],
        stands_for=row["stands_for"],
    )
