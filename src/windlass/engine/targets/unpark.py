"""Unpark jobs as their targets have room: circuit breaker, rate limit and concurrency limit.

Owns: the only statements that end a job's parking for a target, and those that move a breaker. What
has waited for a day for a target that is gone (410) becomes a dead letter.
Promises: a limit is decided under the lock of the target's row, from what is committed: the number
of passes out is exact, whichever nodes ask at once. A pass whose job was cancelled, or whose node
died, is gone with it, so a probe that vanished is followed by another.
Never: talks to Redis inside the transaction; the rate is asked before (a token that finds no job
is lost, which makes us slower, not wrong).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.jobs.end import advance
from windlass.limits import TARGET_GONE_SECONDS, TARGET_PROBES, TARGETS_PAGE_MAX, UNPARK_BATCH_MAX
from windlass.model.job.target import Target, target_from, unpark_count
from windlass.store.database import Connection, Database, Record, RowLocked
from windlass.store.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChanges:
    """Of a page of the targets that jobs are parked for, and of all that have changed."""

    rows: list[Record]  # of a page, of those asked for by name, and the first that have changed
    more: list[Record]  # more that have changed, and nothing else is known of
    after: str  # where the page began
    until: str | None  # where it ended, and the next one begins; None: there is no other


async def read_exceptional(database: Database) -> tuple[list[Target], datetime]:
    """All targets out of the ordinary, and the database's time."""
    rows = await database.run("target_special")
    return [target_from(row) for row in rows if row["host"] is not None], rows[0]["now"]


async def read_changes(
    database: Database, since: datetime, *, after: str = "", named: Collection[str] = ()
) -> TargetChanges:
    """Targets that jobs are parked for (`waiting` says how many, to 500), a page of them behind the
    host `after`; those of `named` in any case; and all that have changed.
    """
    rows = await database.run("target_news", since, after, sorted(named), TARGETS_PAGE_MAX)
    changed = sorted((row["changed_at"], row["host"]) for row in rows if row["changed_at"] > since)
    more: list[Record] = []
    if len(changed) >= TARGETS_PAGE_MAX:
        more = await _changed_after(database, *changed[TARGETS_PAGE_MAX - 1])
    return TargetChanges(
        rows=rows, more=more, after=after, until=rows[0]["page_end"] if rows else None
    )


async def _changed_after(database: Database, changed_at: datetime, host: str) -> list[Record]:
    found: list[Record] = []
    while True:
        page = await database.run("target_changed", changed_at, host, TARGETS_PAGE_MAX)
        found += page
        if len(page) < TARGETS_PAGE_MAX:
            return found
        changed_at, host = page[-1]["changed_at"], page[-1]["host"]


async def unpark(database: Database, most: Mapping[str, int]) -> list[Record]:
    """Unpark jobs of these targets, at most so many of each; returns them with their lines.

    Other nodes, who unpark jobs of the same targets, are waited for; a row that somebody keeps for
    longer is left out.
    """
    if not most:
        return []

    async def work(lock: str, connection: Connection[Record]) -> list[Record]:
        rows = await connection.fetch(statement(lock), sorted(most))
        counts = await _counts(connection, rows, most)
        going = [(target, count) for target, count in counts if count > 0]
        if not going:
            return []
        return await connection.fetch(
            statement("job_unpark_many"),
            [target.host for target, _ in going],
            [count for _, count in going],
            [not target.is_unlimited for target, _ in going],
        )

    try:
        return await database.settle_together(partial(work, "target_lock_many"))
    except RowLocked:
        return await database.settle_together(partial(work, "target_lock_free_many"))


async def _counts(
    connection: Connection[Record], rows: list[Record], most: Mapping[str, int]
) -> list[tuple[Target, int]]:
    targets = [target_from(row) for row in rows]
    limited = [target.host for target in targets if not target.is_unlimited]
    passes: dict[str, int] = {}
    if limited:
        await connection.execute(statement("target_half_open"), limited)
        found = await connection.fetch(statement("target_passes"), limited)
        passes = {row["host"]: row["passes"] for row in found}
    return [
        (
            target,
            unpark_count(
                target,
                row["now"],
                passes=passes.get(target.host, 0),
                probes=TARGET_PROBES,
                most=most[target.host],
            ),
        )
        for target, row in zip(targets, rows, strict=True)
    ]


async def open_breaker(database: Database, host: str, reason: str, chance: float) -> Target | None:
    """None: it was open already, or has no breaker. Raises RowLocked, as the next two."""
    return _first(await database.settle("target_open", host, reason[:500], chance))


async def close_breaker(database: Database, host: str) -> Target | None:
    """None: it was not half open."""
    return _first(await database.settle("target_close", host))


async def disable_gone(database: Database, host: str, reason: str) -> Target | None:
    """None: it was disabled already."""

    async def work(connection: Connection[Record]) -> list[Record]:
        rows = await connection.fetch(statement("target_gone"), host, reason[:500])
        if rows:
            await record(connection, Entry(action="target.disable", name=host, note=reason))
        return rows

    return _first(await database.settle_together(work))


async def add_tally(database: Database, tally: Sequence[tuple[str, int, int]]) -> set[str]:
    """Add up what a node saw: host, successes, failures. Returns the hosts whose rows were free;
    what was seen of the others is to be told again.
    """
    hosts, succeeded, failed = zip(*sorted(tally), strict=True)
    rows = await database.settle("target_tell_many", list(hosts), list(succeeded), list(failed))
    return {row["host"] for row in rows}


async def bury_gone(database: Database, hosts: Sequence[str]) -> Effects:
    """End what has waited too long for targets that answered 410, some of it at a time."""

    async def work(connection: Connection[Record]) -> Effects:
        found = await connection.fetch(
            statement("job_gone_many"), list(hosts), TARGET_GONE_SECONDS, UNPARK_BATCH_MAX
        )
        if not found:
            return Effects()
        ended = await connection.fetch(
            statement("job_drop_many"),
            [row["id"] for row in found],
            ["dead"] * len(found),
            [_gone(row["disabled_reason"]) for row in found],
            ["gone"] * len(found),
        )
        return await advance(connection, ended)

    return await database.settle_together(work)


def _gone(reason: str | None) -> str:
    message = f"its target is disabled: {reason or 'the receiver answered 410 Gone'}"
    return json.dumps({"cause": "gone", "message": message})


def _first(rows: Sequence[Record]) -> Target | None:
    return target_from(rows[0]) if rows else None
