"""What the audit log says of a sweep; apart from the sweep, which takes a client of Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.engine.audit.record import Entry, record_alone
from windlass.store.database import Database

if TYPE_CHECKING:
    from windlass.engine.cluster.sweep import SweepReport


def sweep_entry(report: SweepReport) -> Entry:
    """It counts the keys that were removed."""
    return Entry(
        action="cluster.sweep",
        after={
            "checked": report.checked,
            "stale": report.stale,
            "kept": report.kept,
            "skipped": report.skipped,
            "stale_ids": report.stale_ids,
        },
        count=report.removed_keys,
    )


async def record_sweep(database: Database, report: SweepReport) -> None:
    """Of a node that sweeps by itself every few minutes: only what has removed something."""
    if report.removed_keys:
        await record_alone(database, sweep_entry(report))
