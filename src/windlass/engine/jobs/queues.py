"""Queues: their limits (backpressure, concurrency, rate limit), pause and resume, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final

from windlass.engine.audit.record import Entry, ask_and_record, record
from windlass.engine.jobs.stats import QueueCounts, read_counters
from windlass.errors import NotFound
from windlass.model.json.etag import UNCONDITIONAL, Precondition, tag_of
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

_KNOWN_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """None: no limit of its own."""

    max_jobs: int | None = None  # unfinished jobs
    max_bytes: int | None = None  # of their input
    max_running: int | None = None  # attempts at once in the whole cluster
    rate: float | None = None  # starts a second in the whole cluster
    submit_rate: float | None = None  # jobs that may come in a second

    @property
    def etag(self) -> str:
        return tag_of(*astuple(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    name: str
    limits: QueueLimits
    is_paused: bool
    paused_at: datetime | None  # None: it is not paused
    created_at: datetime
    held: QueueCounts


async def list_queues(database: Database, limit: int, after: str = "") -> list[Queue]:
    """Up to `limit` queues by name, from the one that follows `after`."""
    return await _read(database, after, limit, None)


async def read_queue(database: Database, name: str) -> Queue:
    found = await _read(database, "", 1, name)
    if not found:
        raise NotFound("queue", name)
    return found[0]


async def put_queue(
    database: Database, name: str, limits: QueueLimits, wanted: Precondition = UNCONDITIONAL
) -> Queue:
    """Set all its limits; a queue that is not known yet is made. Raises PreconditionFailed."""

    async def work(connection: Connection[Record]) -> None:
        row = await connection.fetchrow(statement("queue_hold"), name)
        assert row is not None, "it is made if need be"
        before = None if row["is_made"] else _queue_limits(row)
        wanted.check("queue", name, None if before is None else before.etag)
        await connection.fetch(
            statement("queue_put"),
            *(name, limits.max_jobs, limits.max_bytes, limits.max_running, limits.rate),
            limits.submit_rate,
        )
        known = None if before is None else asdict(before)
        entry = Entry(action="queue.put", name=name, before=known, after=asdict(limits))
        await record(connection, entry)

    await database.ask(work, about=("queue", name))
    # As this call left it: another may have followed, and its limits are not this caller's.
    return replace(await read_queue(database, name), limits=limits)


async def pause_queue(database: Database, name: str) -> Queue:
    """From now on nothing of it starts; what runs goes on."""
    return await _set_paused(database, name, is_paused=True)


async def resume_queue(database: Database, name: str) -> Queue:
    return await _set_paused(database, name, is_paused=False)


async def misspelt_queues(database: Database, names: Sequence[str]) -> dict[str, str]:
    """Those of `names` that do not exist yet, by what may have been meant: a queue whose name is
    nearly the same. One without a likeness is only new.
    """
    if not names:
        return {}
    rows = await database.read("queue_list", "", _KNOWN_MAX, None)
    known = [row["name"] for row in rows]
    alike = {name: get_close_matches(name, known, n=1) for name in names if name not in known}
    return {name: near[0] for name, near in alike.items() if near}


async def _set_paused(database: Database, name: str, *, is_paused: bool) -> Queue:
    entry = Entry(action="queue.pause" if is_paused else "queue.resume", name=name)
    if not await ask_and_record(
        *(database, "queue_pause", name, is_paused),
        entries=lambda _rows: [entry],
        about=("queue", name),
    ):
        raise NotFound("queue", name)
    return await read_queue(database, name)


async def _read(database: Database, after: str, limit: int, name: str | None) -> list[Queue]:
    rows = await database.read("queue_list", after, limit, name)
    counters = await read_counters(database) if rows else {}
    return [_queue(row, counters.get(row["name"], QueueCounts())) for row in rows]


def _queue(row: Any, held: QueueCounts) -> Queue:
    return Queue(
        name=row["name"],
        limits=_queue_limits(row),
        is_paused=row["is_paused"],
        paused_at=row["paused_at"],
        created_at=row["created_at"],
        held=held,
    )


def _queue_limits(row: Any) -> QueueLimits:
    return QueueLimits(
        max_jobs=row["max_jobs"],
        max_bytes=row["max_bytes"],
        max_running=row["max_running"],
        rate=row["rate"],
        submit_rate=row["submit_rate"],
    )
