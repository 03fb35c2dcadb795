"""The consistency check (`windlass doctor`): is everything as we promise, and what would mend it?

Checks G10 (events fold to rows), that no job is without an owner, that parents and children are
linked, that locks are held and waited for by living jobs, counters against truth, that the ledgers
of schedules have no gaps, that the days to come have their partitions, that our role has the rights
of a node, and that the identity provider answers, if there is one. Repairs, when asked, only what
cannot do harm: links, what a job waits for, and counters, whose corrections are deltas. May run
beside working nodes; nobody has to stand still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from windlass import ids
from windlass.engine.audit.record import Entry, record_alone
from windlass.engine.doctor.finding import Finding
from windlass.engine.doctor.folds import check_folds
from windlass.engine.doctor.ledger import check_ledger
from windlass.engine.doctor.links import check_links, check_owners
from windlass.engine.doctor.privileges import check_privileges
from windlass.engine.identity.sign_on_answers import ProviderAway
from windlass.engine.jobs.partitions import days_ahead
from windlass.engine.locks.mend import mend_locks
from windlass.limits import PARTITIONS_AHEAD_DAYS, PARTITIONS_LOW_DAYS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

if TYPE_CHECKING:
    from windlass.engine.identity.provider import Provider

# All are counted; so many are kept to be shown.
FINDINGS_MAX: Final = 1_000


@dataclass(slots=True)
class DoctorReport:
    """What a check of the whole database found."""

    jobs: int = 0  # looked at
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # by check
    repaired: int = 0
    notes: list[str] = field(default_factory=list)  # under which role, over which wire

    @property
    def is_well(self) -> bool:
        """True when nothing is wrong, or nothing any more."""
        return self.counts.total() == self.repaired

    def add(self, findings: list[Finding]) -> None:
        self.counts.update(finding.check for finding in findings)
        self.repaired += sum(finding.is_repaired for finding in findings)
        self.findings += findings[: FINDINGS_MAX - len(self.findings)]


async def doctor(
    database: Database,
    *,
    repair: bool = False,
    retention_days: int | None = None,
    provider: Provider | None = None,
    on_progress: Callable[[int], None] = lambda _jobs: None,
) -> DoctorReport:
    """`retention_days` as the nodes have it; None: nothing was forgotten. `provider`, if people log
    in through one, is asked how it is. `on_progress` hears how many jobs have been looked at.
    """
    if repair:
        await record_alone(database, Entry(action="database.repair"))
    report = DoctorReport()
    async for jobs, wrong in check_folds(database):
        report.jobs += jobs
        report.add(wrong)
        on_progress(report.jobs)
    report.add(await check_owners(database))
    report.add(await check_links(database, repair=repair))
    report.add(await check_locks(database, repair=repair))
    report.add(await check_counters(database, repair=repair))
    report.add(await check_ledger(database, retention_days))
    report.add(await check_partitions(database))
    notes, wrong = await check_privileges(database)
    report.notes += notes
    report.add(wrong)
    if provider is not None:
        report.add(await check_provider(provider))
    return report


async def check_provider(provider: Provider) -> list[Finding]:
    """Does it say where people are to be sent, and with which keys it signs?"""
    try:
        await provider.keys()
    except ProviderAway as trouble:
        return [Finding(check="sign_on", subject=provider.issuer, detail=str(trouble))]
    return []


# Every row is counted.
COUNT_SECONDS: Final = 1800


async def check_counters(database: Database, *, repair: bool) -> list[Finding]:
    async with database.side(readonly=False) as connection:
        await connection.execute(f"SET LOCAL statement_timeout = '{COUNT_SECONDS}s'")
        wrong = await connection.fetch(statement("counter_check"), timeout=COUNT_SECONDS)
        if repair:
            await _correct(connection, wrong)
    return [
        Finding(
            check="counter",
            subject=row["queue"],
            detail=f"{row['what']} is counted as {row['counted']} and is {row['should']}",
            repair="add the difference",
            is_repaired=repair,
        )
        for row in wrong
    ]


async def _correct(connection: Connection[Record], wrong: list[Record]) -> None:
    await connection.executemany(
        statement("counter_correct"),
        [(row["queue"], row["what"], row["should"] - row["counted"]) for row in wrong],
    )


FOUND_MAX: Final = 10_000
_DETAILS: Final = {
    "held": "holds lock {lock!r} although it has ended",
    "in_line": "is in the wait list of lock {lock!r} although it does not wait for it",
    "in_no_line": "waits for its locks and is in no wait list",
}
_REPAIRS: Final = {
    "held": "release it and let the next waiter go",
    "in_line": "take it out of the wait list",
    "in_no_line": "put it into the wait lists",
}


async def check_locks(database: Database, *, repair: bool) -> list[Finding]:
    found = await database.read("lock_strays", FOUND_MAX)
    findings = [_finding(row) for row in found]
    if findings and repair:
        await mend_locks(database)
        left = {_key(row) for row in await database.read("lock_strays", FOUND_MAX)}
        for finding, row in zip(findings, found, strict=True):
            finding.is_repaired = _key(row) not in left
    return findings


def _key(row: Record) -> tuple[object, ...]:
    return row["problem"], row["lock"], row["job_id"]


def _finding(row: Record) -> Finding:
    problem = row["problem"]
    return Finding(
        check=f"lock_{problem}",
        subject=ids.show("job", row["job_id"]),
        detail=_DETAILS[problem].format(lock=row["lock"]),
        repair=_REPAIRS[problem],
    )


async def check_partitions(database: Database) -> list[Finding]:
    days = await days_ahead(database)
    if days >= PARTITIONS_LOW_DAYS:
        return []
    return [
        Finding(
            check="partitions",
            subject="history",
            detail=f"has partitions for {days} days to come and not for {PARTITIONS_AHEAD_DAYS}; a "
            "transaction that has been open for long keeps nodes from making them",
        )
    ]
