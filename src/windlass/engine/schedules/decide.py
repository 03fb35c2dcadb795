"""Decide which instants of locked schedules are due, and plan what each of them makes: misfire,
overlap, pauses, jitter.

    due_of         which instants, of which schedules; and whose rule cannot be followed
    unfinished_of  what these have made before and what has not ended, for their overlap
    plan_firings   a `PlannedFiring` for each instant: the decision, a fresh id, what it waits for

What becomes of an instant is `model.schedule.decision`; that is brought together here with what is
stored. A planned firing is entered in the ledger by `fire`, made by `make`, and may be refused
there. `Fired` is what came of a round, with its effects (`engine.effects`).
Never: writes anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from uuid import UUID

from windlass import ids
from windlass.engine.effects import Effects
from windlass.engine.jobs.admission import QueueDefaults
from windlass.engine.schedules.known_rules import KnownRule, rule_of
from windlass.limits import FIRE_DECISIONS_MAX, OVERLAP_LOOK_MAX, POLICIES_KEPT_MAX
from windlass.model.schedule.decision import (
    Decision,
    FiringState,
    Misfire,
    Overlap,
    Pause,
    Pending,
    Policy,
    decide,
)
from windlass.store.database import Connection, Record, RowLocked
from windlass.store.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class FireOptions:
    """What a round needs to know of its installation."""

    queue_defaults: QueueDefaults = field(default_factory=QueueDefaults)
    max_attempts: int = 5  # of a job that does not say
    # Whether queues that other transactions hold are waited for, as long as lock_timeout says.
    # False: SchedulesHeld names at once whom that concerns.
    is_waiting: bool = True


@dataclass(slots=True, kw_only=True)
class Fired:
    """What came of a round, or of a part of it."""

    schedules: int = 0
    states: Counter[str] = field(default_factory=Counter)
    late_seconds: list[float] = field(default_factory=list)  # of each that was made by its rule
    effects: Effects = field(default_factory=Effects)
    is_full: bool = False  # there may be more

    def add(self, other: Fired) -> None:
        """What came of others, in the same transaction."""
        self.schedules += other.schedules
        self.states += other.states
        self.late_seconds += other.late_seconds
        self.effects.add(other.effects)
        self.is_full = self.is_full or other.is_full


class SchedulesHeld(RowLocked):
    """Other transactions hold queues that these schedules need; nothing was changed."""

    def __init__(self, schedule_ids: Sequence[UUID], reason: str) -> None:
        self.schedule_ids = schedule_ids
        super().__init__(reason)


@dataclass(slots=True, kw_only=True)
class Due:
    """A schedule that is locked, and what is due of it."""

    row: Record
    rule: KnownRule
    pending: Pending


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was made after all."""

    state: FiringState
    reason: str


@dataclass(slots=True, kw_only=True)
class PlannedFiring:
    """One decision of a schedule on its way to the job or execution that it makes."""

    row: Record  # the schedule's
    decision: Decision
    beside: Sequence[Record] = ()  # what the schedule made before and what has not ended
    behind: UUID | None = None  # what it waits for; None: nothing
    made_id: UUID | None = None  # of its job or execution; None: nothing is made
    jitter_seconds: float = 0.0  # by which it was to go later than its instant
    is_entered: bool = False  # in the ledger, by us
    refusal: Refusal | None = None  # None: it is as decided

    @property
    def job_id(self) -> UUID | None:
        return self.made_id if self.row["workflow"] is None else None

    @property
    def execution_id(self) -> UUID | None:
        return self.made_id if self.row["workflow"] is not None else None

    @property
    def state(self) -> FiringState:
        return self.decision.state if self.refusal is None else self.refusal.state

    @property
    def is_made(self) -> bool:
        return self.decision.is_made and self.refusal is None


def due_of(
    rows: Sequence[Record], now: datetime, is_hasty: bool
) -> tuple[list[Due], dict[UUID, str]]:
    """Up to what one transaction decides; the rest of the schedules wait for the next. And those
    whose rule makes no sense any more, with the reason: a zone may have gone, or a country.
    """
    due: list[Due] = []
    broken: dict[UUID, str] = {}
    decisions = 0
    for row in rows:
        try:
            known = rule_of(row["rule"], row["name"], row["created_at"])
            found = known.pending(row["id"], row["next_at"], now, is_hasty)
        except Exception as trouble:  # whatever it is: it must not hold up its neighbours
            broken[row["id"]] = f"its rule cannot be followed: {trouble}"
            continue
        decisions += len(found.instants)
        if due and decisions > FIRE_DECISIONS_MAX:
            break
        due.append(Due(row=row, rule=known, pending=found))
    return due, broken


async def unfinished_of(
    connection: Connection[Record], rows: Sequence[Record]
) -> dict[UUID, list[Record]]:
    """What schedules that mind have made and what has not ended, newest first."""
    minding = [row["id"] for row in rows if row["overlap"] != "allow"]
    found: dict[UUID, list[Record]] = {}
    if minding:
        for left in await connection.fetch(
            statement("schedule_unfinished_many"), minding, OVERLAP_LOOK_MAX
        ):
            found.setdefault(left["schedule_id"], []).append(left)
    return found


def plan_firings(
    due: Sequence[Due], now: datetime, beside: Mapping[UUID, Sequence[Record]]
) -> list[PlannedFiring]:
    """What is to be made of them. `beside`: see unfinished_of."""
    decided = [(one, _decide(one, now, beside.get(one.row["id"], ()))) for one in due]
    made = sum(decision.is_made for _, decisions in decided for decision in decisions)
    fresh = iter(ids.uuid7_many(made))
    planned: list[PlannedFiring] = []
    for one, decisions in decided:
        planned += _plan(one, decisions, beside.get(one.row["id"], ()), fresh)
    return planned


def _plan(
    one: Due, decisions: Sequence[Decision], left: Sequence[Record], fresh: Iterator[UUID]
) -> list[PlannedFiring]:
    planned = plan_decisions(one.row, decisions, left, fresh)
    if one.rule.rule.jitter_seconds:
        for firing in planned:
            instant = firing.decision.instant
            goes_at = one.rule.fire_at(one.row["id"], instant)
            firing.jitter_seconds = (goes_at - instant).total_seconds()
    return planned


def _decide(one: Due, now: datetime, left: Sequence[Record]) -> list[Decision]:
    row = one.row
    jitter = one.rule.rule.jitter_seconds
    pauses = pauses_of(row, one.pending.instants[0], now)
    policy = _policy(row["overlap"], row["misfire"], row["catchup"], jitter, pauses)
    names = [shown_id(found) for found in left]
    return decide(one.pending.instants, now, policy, older=one.pending.older, unfinished=names)


@lru_cache(maxsize=POLICIES_KEPT_MAX)
def _policy(
    overlap: Overlap,
    misfire: Misfire,
    catchup_seconds: float | None,
    jitter_seconds: float,
    pauses: tuple[Pause, ...],
) -> Policy:
    return Policy(
        overlap=overlap,
        misfire=misfire,
        catchup_seconds=catchup_seconds,
        jitter_seconds=jitter_seconds,
        pauses=pauses,
    )


def pauses_of(row: Record, first: datetime, now: datetime) -> tuple[Pause, ...]:
    """When it was paused, as far as it concerns instants from `first` on; until now, if it is."""
    ends = list(row["pauses"] or ())
    pauses = list(zip(ends[::2], ends[1::2], strict=True))
    resumed_at = row["resumed_at"]
    if resumed_at is not None and (not pauses or pauses[-1][1] < resumed_at):
        # A node of before has resumed it: since when it was paused is not known.
        pauses.append((datetime.min.replace(tzinfo=UTC), resumed_at))
    if row["paused_at"] is not None:
        pauses.append((row["paused_at"], now))
    return tuple(pause for pause in pauses if pause[1] >= first)


def plan_decisions(
    row: Record, decisions: Sequence[Decision], left: Sequence[Record], fresh: Iterator[UUID]
) -> list[PlannedFiring]:
    """The decisions of one schedule, each with a fresh id and what it waits for."""
    before = (left[0]["job_id"] or left[0]["execution_id"]) if left else None
    planned = []
    for decision in decisions:
        one = PlannedFiring(row=row, decision=decision, beside=left)
        if decision.is_made:
            one.made_id = next(fresh)
            one.behind = before if decision.waits else None
            before = one.made_id
        planned.append(one)
    return planned


def shown_id(left: Record) -> str:
    if left["job_id"] is not None:
        return ids.show("job", left["job_id"])
    return ids.show("execution", left["execution_id"])
