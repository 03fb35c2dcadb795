"""Dead letters by what went wrong."""

from __future__ import annotations

from typing import Final

from windlass.store.database import Database, Record
from windlass.store.statements import statement

# Groups are of the newest dead letters; a longer look would cost more than it tells.
GROUPED_MAX: Final = 100_000


async def group_dead(database: Database) -> list[Record]:
    """queue, kind, cause, count, first_at, last_at and sample_id of each group, largest first."""
    return await database.browse(statement("dead_groups"), GROUPED_MAX)
