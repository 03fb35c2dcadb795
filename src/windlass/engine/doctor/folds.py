"""Check events against rows: does folding a job's events give its row (G10)? A piece at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.doctor.finding import Finding
from windlass.engine.jobs.history import events_of_rows
from windlass.model.job.event import Event
from windlass.model.job.fold import fold
from windlass.store.database import Database, Record
from windlass.store.statements import statement

BATCH: Final = 2_000
_COMPARED: Final = (
    "state",
    "attempt",
    "run_at",
    "started_at",
    "finished_at",
    "node_id",
    "crashes",
    "snoozes",
    "replays",
)


async def check_folds(database: Database) -> AsyncIterator[tuple[int, list[Finding]]]:
    """Of each piece: how many jobs it had, and what is wrong with them."""
    kept_since: datetime | None = (await database.read("partition_oldest"))[0]["day"]
    last = UUID(int=0)
    while True:
        # One snapshot for rows, attempts and events: nothing can happen in between.
        async with database.side(isolation="repeatable_read", readonly=True) as connection:
            rows = await connection.fetch(statement("job_scan"), last, BATCH)
            told = await events_of_rows(connection, rows)
        if not rows:
            return
        last = rows[-1]["id"]
        wrong = _in_two_tables(rows)
        for row, events in told.values():
            # Events of before the retention are gone with their day; such a job cannot be told.
            if kept_since is None or row["created_at"] >= kept_since:
                wrong += _compare(row, events)
        yield len(rows), wrong


def _in_two_tables(rows: list[Record]) -> list[Finding]:
    seen: set[UUID] = set()
    twice = []
    for row in rows:
        if row["id"] in seen:
            twice.append(
                Finding(
                    check="place",
                    subject=ids.show("job", row["id"]),
                    detail="is both unfinished and in the history",
                )
            )
        seen.add(row["id"])
    return twice


def _compare(row: Record, events: list[Event]) -> list[Finding]:
    job = fold(events)
    wrong = [
        f"{name} is {_shown(row[name])}, its events say {_shown(getattr(job, name))}"
        for name in _COMPARED
        if row[name] != getattr(job, name)
    ]
    if not wrong:
        return []
    subject = ids.show("job", row["id"])
    return [Finding(check="fold", subject=subject, detail="; ".join(wrong))]


def _shown(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
