"""Fire identical schedules together, in one batch: the thousand that the hour strikes.

    group by pattern and instant -> one next instant a group
        -> ledger and schedules, jobs: a statement each

Schedules are alike when the same rule makes the same job, and nothing else matters. Whoever puts a
schedule writes that down (`group_key`, the column `alike`); ten thousand reports at eight o'clock
are then one calculation, and a row each.

Owns: schedule_fire_alike_many.
Promises: what `fire.fire_rows` would have made of them. Whatever is not of the usual sort (missed,
more than one instant due, a queue with limits) is left to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.jobs.request import COPY_COLUMNS, Request, copy_rows
from windlass.engine.schedules.decide import Fired
from windlass.engine.schedules.known_rules import KnownRule, needs_of, rule_of
from windlass.engine.schedules.make import draft_of
from windlass.engine.schedules.schedule import ScheduleDraft
from windlass.errors import InvalidInput
from windlass.limits import LATE_SECONDS, MISFIRE_SECONDS, RULES_KEPT_MAX
from windlass.model.job.draft import Draft
from windlass.model.json import strict as strict_json
from windlass.model.schedule.placeholder import INSTANT
from windlass.store.database import Connection, Record
from windlass.store.statements import statement

_IN_TIME: Final = timedelta(seconds=MISFIRE_SECONDS)


class AlreadyInLedger(Exception):
    """An instant was in the ledger already: each has to be looked at by itself."""


def group_key(draft: ScheduleDraft) -> UUID | None:
    """The same for all that fire alike; None: what it does depends on more than rule and job."""
    rule = strict_json.parse(draft.rule_json.encode())
    is_own = draft.job is None or draft.overlap != "allow" or bool(rule.get("jitter"))
    is_own = is_own or INSTANT in (draft.job or "")
    if is_own or any(needs_of(draft.rule_json)):
        return None
    said = strict_json.write([draft.rule_json, draft.job, draft.owner, draft.priority])
    return UUID(bytes=hashlib.sha256(said.encode()).digest()[:16])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What all that are alike have in common."""

    rule: KnownRule
    draft: Draft


@dataclass(slots=True)
class Patterns:
    """Those met last, for one number of attempts that a job has unless it says."""

    max_attempts: int
    _known: dict[UUID, Pattern | None] = field(default_factory=dict)

    async def learn(self, connection: Connection[Record], examples: dict[UUID, UUID]) -> None:
        """`examples`: of each that may be asked for, a schedule that is like it."""
        new = [example for alike, example in examples.items() if alike not in self._known]
        if not new:
            return
        if len(self._known) + len(new) > RULES_KEPT_MAX:
            self._known.clear()
            new = list(examples.values())
        for row in await connection.fetch(statement("schedule_read_many"), new):
            self._known[row["alike"]] = self._read(row)

    def get(self, alike: UUID) -> Pattern | None:
        """None: it turned out not to be plain, and each of them goes its own way."""
        return self._known.get(alike)

    def _read(self, row: Record) -> Pattern | None:
        try:
            rule = rule_of(row["rule"], "", row["created_at"])
            draft = draft_of(row["job"], row["owner"], row["priority"], self.max_attempts)
        except InvalidInput:
            return None  # alone, it will say what is wrong with it
        return Pattern(rule=rule, draft=draft) if draft.is_plain else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Schedules that are alike and due at the same instant."""

    pattern: Pattern
    instant: datetime
    next_at: datetime | None
    schedule_ids: Sequence[UUID]

    def late_seconds(self, now: datetime) -> float:
        return max(0.0, (now - self.instant).total_seconds())


async def group_due(
    connection: Connection[Record], rows: Sequence[Record], now: datetime, patterns: Patterns
) -> tuple[list[Group], list[UUID]]:
    """The groups, and the schedules that go their own way."""
    together: dict[tuple[UUID, datetime], list[UUID]] = {}
    alone: list[UUID] = []
    for schedule_id, next_at, alike, _ in rows:
        if alike is None:
            alone.append(schedule_id)
        else:
            together.setdefault((alike, next_at), []).append(schedule_id)
    await patterns.learn(connection, {alike: few[0] for (alike, _), few in together.items()})
    groups = []
    for (alike, instant), schedule_ids in together.items():
        group = _group(patterns.get(alike), instant, schedule_ids, now)
        if group is None:
            alone += schedule_ids
        else:
            groups.append(group)
    return await _with_room(connection, groups, alone)


def _group(
    pattern: Pattern | None, instant: datetime, schedule_ids: Sequence[UUID], now: datetime
) -> Group | None:
    """None: not of the usual sort."""
    if pattern is None or now - instant > _IN_TIME:
        return None
    next_at = pattern.rule.next_after(instant)
    if next_at is not None and next_at <= now:
        return None
    return Group(pattern=pattern, instant=instant, next_at=next_at, schedule_ids=schedule_ids)


async def _with_room(
    connection: Connection[Record], groups: list[Group], alone: list[UUID]
) -> tuple[list[Group], list[UUID]]:
    """Only queues without limits: those are kept without until the commit."""
    queues = sorted({group.pattern.draft.queue for group in groups})
    if not queues:
        return groups, alone
    found = await connection.fetch(statement("queue_share_many"), queues)
    free = {row["name"] for row in found}
    for group in groups:
        if group.pattern.draft.queue not in free:
            alone += group.schedule_ids
    return [group for group in groups if group.pattern.draft.queue in free], alone


async def fire_groups(
    connection: Connection[Record], groups: Sequence[Group], now: datetime
) -> Fired:
    """Raises AlreadyInLedger."""
    fired = Fired()
    if not groups:
        return fired
    counts = [len(group.schedule_ids) for group in groups]
    late = [group.late_seconds(now) for group in groups]
    states = ["late" if seconds > LATE_SECONDS else "fired" for seconds in late]
    job_ids = ids.uuid7_many(sum(counts))
    entered = await connection.execute(
        statement("schedule_fire_alike_many"),
        [schedule_id for group in groups for schedule_id in group.schedule_ids],
        _repeated([group.instant for group in groups], counts),
        job_ids,
        _repeated(states, counts),
        _repeated([group.next_at for group in groups], counts),
    )
    if entered != f"INSERT 0 {len(job_ids)}":
        raise AlreadyInLedger
    await connection.copy_records_to_table(
        "job", schema_name="windlass", columns=COPY_COLUMNS, records=_records(groups, job_ids, now)
    )
    fired.schedules = len(job_ids)
    for group, state, seconds, count in zip(groups, states, late, counts, strict=True):
        fired.states[state] += count
        fired.late_seconds += [seconds] * count
        draft = group.pattern.draft
        fired.effects.add_line((draft.queue, draft.priority), draft.run_at or draft.delay_seconds)
    return fired


def _repeated(values: Sequence[Any], counts: Sequence[int]) -> list[Any]:
    column: list[Any] = []
    for value, count in zip(values, counts, strict=True):
        column += [value] * count
    return column


def _records(
    groups: Sequence[Group], job_ids: Sequence[UUID], now: datetime
) -> Iterable[tuple[Any, ...]]:
    """A job is its id and what all of its group have."""
    fresh = iter(job_ids)
    for group in groups:
        request = Request(drafts=[group.pattern.draft], job_ids=[job_ids[0]])
        [(_, *common)] = copy_rows(request, now)
        rest = tuple(common)
        for _ in group.schedule_ids:
            yield (next(fresh), *rest)
