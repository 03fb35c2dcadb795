"""The ledger of firings: every instant at which a schedule was due, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from windlass.engine.schedules.schedule import Firing, firing_from
from windlass.limits import LEDGER_FORGET_BATCH, SILENT_SECONDS
from windlass.model.schedule.decision import FiringState
from windlass.store.database import Database
from windlass.store.statements import statement


async def list_firings(
    database: Database,
    schedule_id: UUID,
    limit: int,
    before: datetime | None = None,
    *,
    states: Sequence[FiringState] | None = None,
) -> list[Firing]:
    """Newest instant first; `before`: the instant of the last one seen."""
    chosen = None if states is None else list(states)
    rows = await database.read("firing_list", schedule_id, before, chosen, limit)
    return [firing_from(row) for row in rows]


async def count_silent(database: Database) -> int:
    """Schedules that should have been fired a while ago and were not."""
    rows = await database.browse(statement("schedule_silent"), SILENT_SECONDS)
    silent: int = rows[0]["silent"]
    return silent


async def forget_firings(database: Database, retention_days: int) -> int:
    """Remove what is past the retention; what has not ended stays."""
    forgotten: int = 0
    while True:
        [row] = await database.read("firing_forget", retention_days, LEDGER_FORGET_BATCH)
        forgotten += row["forgotten"]
        if row["forgotten"] < LEDGER_FORGET_BATCH:
            return forgotten
