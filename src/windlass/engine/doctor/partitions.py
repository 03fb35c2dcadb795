"""Has the history its partitions for the days to come?"""

from __future__ import annotations

from windlass.engine.doctor.finding import Finding
from windlass.engine.jobs.partitions import days_ahead
from windlass.limits import PARTITIONS_AHEAD_DAYS, PARTITIONS_LOW_DAYS
from windlass.store.database import Database


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
