"""Look over the whole database: is everything as we promise, and what would mend it?

Checks G10 (events fold to rows), that no job is without an owner, that parents and children are
linked, that locks are held and waited for by living jobs, counters against truth, that the ledgers
of schedules have no gaps, and that the days to come have their partitions. Repairs, when asked,
only what cannot do harm: links, what a job waits for, and counters. May run beside working nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from windlass.engine.doctor.counters import check_counters
from windlass.engine.doctor.finding import Finding
from windlass.engine.doctor.folds import check_folds
from windlass.engine.doctor.ledger import check_ledger
from windlass.engine.doctor.links import check_links, check_owners
from windlass.engine.doctor.locks import check_locks
from windlass.engine.doctor.partitions import check_partitions
from windlass.store.database import Database

# All are counted; so many are kept to be shown.
FINDINGS_MAX: Final = 1_000


@dataclass(slots=True)
class Report:
    jobs: int = 0  # looked at
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # by check
    repaired: int = 0

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
    on_progress: Callable[[int], None] = lambda _jobs: None,
) -> Report:
    """`retention_days` as the nodes have it; None: nothing was forgotten. `on_progress` hears how
    many jobs have been looked at.
    """
    report = Report()
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
    return report
