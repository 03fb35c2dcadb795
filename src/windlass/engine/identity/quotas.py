"""Quotas of jobs: a day, and of bytes that wait; counted where jobs are admitted.

    lock the rows of whoever has a quota -> what waits is counted anew, if it matters
        -> each request is judged beside its queue's room -> admitted -> charged, once a batch

Owns: the only statements that write what was used of a quota of jobs.
Promises: counted in the transaction that admits, under a lock: never more than the limit, whichever
nodes and however many at once; what is refused, or answered again, costs nothing. Who has no quota
is not looked for. A row that somebody else holds is not waited for where others would wait too: who
needs it is answered RowLocked, and comes again apart (engine.jobs.contention).

Of bytes that wait the row has what was counted last and what came since, so never too little. The
end of a job pays nothing: before somebody is refused, what has ended is taken out, at most once in
QUOTA_RECOUNT_SECONDS. So long after a job has ended there is room. Whoever has very many jobs is
counted apart (QuotaCounts), in a transaction that admits nobody: it would keep others waiting.
Until that is done he is held to what was counted before; where nothing was, he waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

import structlog

from windlass.clock import monotonic
from windlass.errors import QueueFull, QuotaExceeded, Unauthorized, WindlassError
from windlass.limits import (
    QUOTA_COUNT_REST_SECONDS_MAX,
    QUOTA_COUNTED_AT_ONCE_MAX,
    QUOTA_ENDED_MAX,
    QUOTA_FOUND_AT_ONCE_BYTES_MAX,
    QUOTA_RECOUNT_SECONDS,
    TOKENS_KEPT_MAX,
)
from windlass.model.identity.quota import SubjectQuota
from windlass.store.database import Connection, Database, Record, RowLocked
from windlass.store.statements import statement
from windlass.supervise import supervisor

log = structlog.get_logger()

_RESTS: Final = 4  # of a count apart: so many times as long as it took
_MANY_BYTES_SECONDS: Final = float(QueueFull.retry_after_seconds)


@dataclass(slots=True, kw_only=True)
class _Use:
    """What somebody has used, and what is about to be charged."""

    day: date
    day_left_seconds: float
    jobs: int
    bytes: int
    job_rows: int
    rows_left: int
    counted_seconds: float | None  # how long ago; None: what waits is not known
    promised_jobs: int = 0  # to requests that were judged and are about to be admitted
    promised_bytes: int = 0
    new_jobs: int = 0
    new_bytes: int = 0
    new_rows: int = 0


class QuotaRows:
    """Sees to it that there is a row to be locked."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: set[UUID] = set()  # that have theirs

    async def ensure(self, quotas: Iterable[SubjectQuota]) -> None:
        fresh = sorted({one.id for one in quotas} - self._known)
        if not fresh:
            return
        await self._database.run("quota_ensure_many", fresh)
        if len(self._known) > TOKENS_KEPT_MAX:
            self._known.clear()
        self._known.update(fresh)


class QuotaBook:
    """What those who ask for jobs in one transaction have used, locked until it ends."""

    def __init__(self, uses: dict[UUID, _Use], held: frozenset[UUID]) -> None:
        self._uses = uses
        self._held = held  # by other transactions
        self._rows: list[tuple[UUID, UUID]] = []  # subject and job, for those who count bytes
        self.uncounted: dict[UUID, SubjectQuota] = {}  # that would have taken too long

    def hindrance(self, quotas: Sequence[SubjectQuota]) -> WindlassError | None:
        """Why nothing can be decided for these: another transaction holds a row of theirs, or they
        are gone.
        """
        for one in quotas:
            if one.id in self._held:
                return RowLocked(f"another transaction holds the quota of {one.name}")
            if one.id not in self._uses:
                return Unauthorized(f"{one.name} is not known here any more")
        return None

    async def recount(
        self, connection: Connection[Record], asked: Mapping[UUID, tuple[SubjectQuota, int]]
    ) -> None:
        """Count what waits anew, of whoever would be refused by what is known, and of whoever has
        as many jobs noted that may have ended as others. `asked`: by subject all that is asked for.
        What would take long is left `uncounted`.
        """
        wanted = [
            subject
            for subject, (one, size) in asked.items()
            if subject in self._uses and _may_be_less(self._uses[subject], one, size)
        ]
        if not wanted:
            return
        many = {one for one in wanted if self._uses[one].job_rows > QUOTA_COUNTED_AT_ONCE_MAX}
        unknown = {one for one in wanted if self._uses[one].counted_seconds is None}
        if unknown:
            [found] = await connection.fetch(statement("quota_find_bytes"))
            many |= unknown if found["bytes"] > QUOTA_FOUND_AT_ONCE_BYTES_MAX else set()
        self.uncounted = {one: asked[one][0] for one in wanted if one in many}
        if at_once := [one for one in wanted if one not in many]:
            await self.count(connection, at_once)

    async def count(self, connection: Connection[Record], subjects: Sequence[UUID]) -> None:
        """What waits of these, however long it takes."""
        wanted = [one for one in subjects if one in self._uses]
        unknown = [one for one in wanted if self._uses[one].counted_seconds is None]
        if unknown:
            await connection.fetch(statement("quota_find_many"), unknown)
        for row in await connection.fetch(statement("quota_recount_many"), wanted):
            use = self._uses[row["subject"]]
            use.bytes, use.job_rows = row["bytes"], row["job_rows"]
            use.rows_left, use.counted_seconds = row["job_rows"], 0.0

    def unknown(self, quotas: Sequence[SubjectQuota]) -> RowLocked | None:
        """Nothing can be decided before it is counted what waits of one of these."""
        for one in quotas:
            if one.id in self.uncounted and self._uses[one.id].counted_seconds is None:
                return RowLocked(f"it is being counted what waits of {one.name}")
        return None

    def refusal(self, quotas: Sequence[SubjectQuota], jobs: int, size: int) -> QuotaExceeded | None:
        """Why so many jobs with so many bytes may not come; None: they may."""
        for one in quotas:
            use, quota = self._uses[one.id], one.quota
            current = use.jobs + use.promised_jobs
            if quota.jobs_per_day is not None and jobs and current + jobs > quota.jobs_per_day:
                return QuotaExceeded(
                    subject=one.name,
                    quota="jobs_per_day",
                    limit=quota.jobs_per_day,
                    current=current,
                    requested=jobs,
                    wait_seconds=use.day_left_seconds,
                )
            waiting = use.bytes + use.promised_bytes
            if quota.bytes_waiting is not None and size and waiting + size > quota.bytes_waiting:
                return QuotaExceeded(
                    subject=one.name,
                    quota="bytes_waiting",
                    limit=quota.bytes_waiting,
                    current=waiting,
                    requested=size,
                    wait_seconds=_MANY_BYTES_SECONDS,
                )
        return None

    def promise(self, quotas: Sequence[SubjectQuota], jobs: int, size: int) -> None:
        """They may: whoever is judged after them finds it used."""
        for one in quotas:
            use = self._uses[one.id]
            use.promised_jobs += jobs
            use.promised_bytes += size

    def admitted(
        self, quotas: Sequence[SubjectQuota], jobs: int, size: int, job_ids: Iterable[UUID] = ()
    ) -> None:
        """They have come: perhaps fewer than was promised. `job_ids`: of jobs whose bytes wait."""
        for one in quotas:
            use = self._uses[one.id]
            use.new_jobs += jobs
            if one.quota.bytes_waiting is not None:
                rows = [(one.id, job_id) for job_id in job_ids]
                use.new_bytes += size
                use.new_rows += len(rows)
                self._rows += rows

    async def charge(self, connection: Connection[Record]) -> None:
        """Write down what has come, once for all of them."""
        spent = [(subject, use) for subject, use in self._uses.items() if use.new_jobs]
        if not spent:
            return
        await connection.fetch(
            statement("quota_charge_many"),
            [subject for subject, _ in spent],
            [use.day for _, use in spent],
            [use.new_jobs for _, use in spent],
            [use.new_bytes for _, use in spent],
            [use.new_rows for _, use in spent],
            [subject for subject, _ in self._rows],
            [job_id for _, job_id in self._rows],
        )


NO_BOOK: Final = QuotaBook({}, frozenset())


async def open_book(
    connection: Connection[Record], quotas: Iterable[SubjectQuota], *, is_waiting: bool
) -> QuotaBook:
    """Lock what these have used; `is_waiting`: also what others hold, as long as the caller's
    lock_timeout says. Nothing is asked where there are none.
    """
    subjects = sorted({one.id for one in quotas})
    if not subjects:
        return NO_BOOK
    name = "quota_wait_many" if is_waiting else "quota_lock_many"
    rows = await connection.fetch(statement(name), subjects)
    uses = {
        row["subject"]: _Use(
            day=row["day"],
            day_left_seconds=row["day_left_seconds"],
            jobs=row["jobs"],
            bytes=row["bytes"],
            job_rows=row["job_rows"],
            rows_left=row["rows_left"],
            counted_seconds=row["counted_seconds"],
        )
        for row in rows
        if row["is_locked"]
    }
    return QuotaBook(uses, frozenset(row["subject"] for row in rows if not row["is_locked"]))


class QuotaCounts:
    """Counts what waits of those who have very many jobs, one after the other: each takes a
    connection for as long as it lasts. On other nodes whoever comes second finds the row held, and
    leaves it. What took long is not done again at once: meanwhile its owner submits nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._under_way: set[UUID] = set()
        self._turn = asyncio.Semaphore(1)
        self._not_before: dict[UUID, float] = {}  # by the monotonic clock

    def begin(self, quotas: Iterable[SubjectQuota]) -> None:
        for one in quotas:
            is_early = monotonic() < self._not_before.get(one.id, 0.0)
            if one.id not in self._under_way and not is_early:
                self._under_way.add(one.id)
                supervisor().spawn(self._count(one), name="quota count")

    async def _count(self, one: SubjectQuota) -> None:
        async with self._turn:
            await self._count_now(one)

    async def _count_now(self, one: SubjectQuota) -> None:
        begun = monotonic()
        try:
            async with self._database.side(readonly=False) as connection:
                book = await open_book(connection, [one], is_waiting=False)
                await book.count(connection, [one.id])
        except WindlassError as trouble:  # it is begun again with the next job
            log.warning("quota_not_counted", subject=one.name, error=str(trouble))
        finally:
            self._under_way.discard(one.id)
            if len(self._not_before) >= TOKENS_KEPT_MAX:
                self._not_before.clear()
            now = monotonic()
            rest = min(_RESTS * (now - begun), QUOTA_COUNT_REST_SECONDS_MAX)
            self._not_before[one.id] = now + rest


def counting(quotas: Sequence[SubjectQuota]) -> tuple[SubjectQuota, ...]:
    """Those of them that are asked when jobs are admitted."""
    return tuple(one for one in quotas if one.quota.counts_jobs) if quotas else ()


def counting_starts(quotas: Sequence[SubjectQuota]) -> tuple[SubjectQuota, ...]:
    """Those of them that are asked when executions are started."""
    return tuple(one for one in quotas if one.quota.jobs_per_day is not None) if quotas else ()


def _may_be_less(use: _Use, one: SubjectQuota, size: int) -> bool:
    """Is it worth counting what waits?"""
    most = one.quota.bytes_waiting
    if most is None:
        return False
    if use.counted_seconds is None or use.job_rows > 2 * use.rows_left + QUOTA_ENDED_MAX:
        return True
    return use.bytes + size > most and use.counted_seconds >= QUOTA_RECOUNT_SECONDS


# -- what is left, to be shown ---------------------------------------------------------------------


async def read_left(
    database: Database, quotas: Sequence[SubjectQuota]
) -> dict[UUID, Mapping[str, Any]]:
    """By subject: jobs of today, day_ends_at, bytes (None: not counted yet). Who has used nothing
    yet is not among them.
    """
    asked = [one.id for one in counting(quotas)]
    if not asked:
        return {}
    rows = await database.run("quota_left", asked, QUOTA_COUNTED_AT_ONCE_MAX)
    return {row["subject"]: dict(row) for row in rows}
