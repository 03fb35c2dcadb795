"""Fire schedules that are alike, without a thought for each: the thousand that the hour strikes.

    group by pattern and instant -> one next instant a group
        -> ledger and schedules, jobs: a statement each

Owns: schedule_fire_alike_many.
Promises: what `fire_rows` would have made of them. Whatever is not of the usual sort (missed, more
than one instant due, a queue with limits) is left to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.jobs.request import COPIED, Request, copied
from windlass.engine.schedules.alike import Pattern, Patterns
from windlass.engine.schedules.fired import Fired
from windlass.limits import LATE_SECONDS, MISFIRE_SECONDS
from windlass.store.database import Connection, Record
from windlass.store.statements import statement

_IN_TIME: Final = timedelta(seconds=MISFIRE_SECONDS)


class EnteredBefore(Exception):
    """An instant was in the ledger already: each has to be looked at by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Schedules that are alike and due at the same instant."""

    pattern: Pattern
    instant: datetime
    next_at: datetime | None
    schedule_ids: Sequence[UUID]

    def late_seconds(self, now: datetime) -> float:
        return max(0.0, (now - self.instant).total_seconds())


async def sort(
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


async def fire_alike(
    connection: Connection[Record], groups: Sequence[Group], now: datetime
) -> Fired:
    """Raises EnteredBefore."""
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
        raise EnteredBefore
    await connection.copy_records_to_table(
        "job", schema_name="windlass", columns=COPIED, records=_records(groups, job_ids, now)
    )
    fired.schedules = len(job_ids)
    for group, state, seconds, count in zip(groups, states, late, counts, strict=True):
        fired.states[state] += count
        fired.late_seconds += [seconds] * count
        draft = group.pattern.draft
        fired.add_line((draft.queue, draft.priority), draft.run_at or draft.delay_seconds)
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
        [(_, *common)] = copied(request, now)
        rest = tuple(common)
        for _ in group.schedule_ids:
            yield (next(fresh), *rest)
