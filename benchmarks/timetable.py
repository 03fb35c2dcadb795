"""Schedules to be measured, written as rows at once; and whether each of their instants was fired.

Each submits a job that does nothing, with the input everybody carries. What is due is asked of the
rule, not of the ledger: a schedule that went silent is one that missed something.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import asyncpg
import msgspec

from benchmarks.rows import PAYLOAD
from benchmarks.schema import settle
from benchmarks.until import until
from windlass import ids
from windlass.engine.schedules.fire_together import group_key
from windlass.engine.schedules.known_rules import KnownRule, rule_of
from windlass.engine.schedules.schedule import ScheduleDraft
from windlass.model.schedule.next import between

Due: TypeAlias = tuple[UUID, datetime]
Entry: TypeAlias = tuple[UUID, datetime, UUID | None]  # of the ledger: what was due, and its job

JOB = msgspec.json.encode({"kind": "noop", "input": PAYLOAD}).decode()
COLUMNS = ("id", "name", "created_at", "changed_at", "next_at", "fire_at", "rule", "job", "alike")
# They were not all made in one instant: `every` counts from there.
MADE_WITHIN = timedelta(minutes=1)
NOW = "SELECT clock_timestamp()"
FIRINGS = "SELECT schedule_id, instant, job_id FROM windlass.firing WHERE instant <= $1"
# But those of instants that came later, and of queues that nothing is fired into.
JOBS = """
SELECT id
FROM (SELECT id, queue FROM windlass.job UNION ALL SELECT id, queue FROM windlass.job_history) j
WHERE NOT EXISTS (SELECT FROM windlass.firing f WHERE f.job_id = j.id AND f.instant > $1)
  AND queue = 'default'
"""
LEFT = "SELECT EXISTS (SELECT FROM windlass.schedule WHERE paused_at IS NULL AND fire_at <= $1)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    missed: int  # instants without a job
    doubled: int  # jobs beyond one an instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    put_at: datetime  # by the database's clock, as every time here
    rules: dict[UUID, KnownRule]

    def due(self, until: datetime) -> set[Due]:
        """Every instant up to there, of every schedule."""
        return {
            (schedule_id, instant)
            for schedule_id, known in self.rules.items()
            for instant in between(known.rule, self.put_at, until, sys.maxsize)
        }

    async def faults(self, eye: asyncpg.Connection, until: datetime) -> Faults:
        """All instants up to `until` have been decided: see `decided`."""
        # One look: meanwhile jobs come, and go to the history.
        async with eye.transaction(isolation="repeatable_read", readonly=True):
            firings = await eye.fetch(FIRINGS, until)
            jobs = await eye.fetch(JOBS, until)
        entries = [(row["schedule_id"], row["instant"], row["job_id"]) for row in firings]
        return judge(self.due(until), entries, [row["id"] for row in jobs])


def judge(due: AbstractSet[Due], firings: Iterable[Entry], jobs: Iterable[UUID]) -> Faults:
    """What was due against what the ledger says, and against the jobs that there are."""
    there = Counter(jobs)
    made: dict[UUID, Due] = {}
    for schedule_id, instant, job_id in firings:
        if job_id is not None and job_id in there and (schedule_id, instant) in due:
            made.setdefault(job_id, (schedule_id, instant))
    kept = set(made.values())
    return Faults(missed=len(due - kept), doubled=there.total() - len(kept))


async def put(connection: asyncpg.Connection, rules: Sequence[str], count: int) -> Timetable:
    """So many schedules by these rules in turns."""
    now: datetime = await connection.fetchval(NOW)
    records = []
    known_by_id = {}
    for number, schedule_id in enumerate(ids.uuid7_many(count)):
        name, text = f"s{number:06}", rules[number % len(rules)]
        made_at = now - MADE_WITHIN * number / count
        known_by_id[schedule_id] = known = rule_of(text, name, made_at)
        next_at = known.next_after(now)
        alike = group_key(ScheduleDraft(name=name, rule_json=text, job=JOB))
        records.append((schedule_id, name, made_at, made_at, next_at, next_at, text, JOB, alike))
    await connection.copy_records_to_table(
        "schedule", schema_name="windlass", columns=COLUMNS, records=records
    )
    await settle(connection, "windlass.schedule")
    return Timetable(put_at=now, rules=known_by_id)


async def decided(eye: asyncpg.Connection, at: datetime) -> None:
    """Until nothing is left that was due at `at`."""

    async def is_none_left() -> bool:
        return not await eye.fetchval(LEFT, at)

    await until(is_none_left)
