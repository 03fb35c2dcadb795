"""What happened to a job or an execution, moved into the past: its rows are in the days of then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tests.as_node_role import by_hand
from windlass.engine.executions import facts
from windlass.store.database import Database

# How a row of each table is found, and which instants of it move; the first is that of its day.
MOVES = {
    "job_history": ("id", "finished_at", "started_at", "created_at", "run_at"),
    "attempt": ("job_id", "ended_at", "started_at", "due_at", "next_run_at"),
    "event": ("job_id", "at"),
    "job_log": ("job_id", "begun_at", "at"),
    "job": ("id", "created_at", "started_at"),
}


async def age(database: Database, job_ids: list[UUID], days: int, *, has_day: bool = True) -> str:
    """Returns how the names of that day's partitions end; with `has_day` they are there."""
    day = (datetime.now(UTC) - timedelta(days=days)).date()
    async with by_hand(database, readonly=False) as connection:
        # Finished rows are final to everybody else.
        await connection.execute("SET LOCAL session_replication_role = replica")
        for table, (key, *instants) in MOVES.items():
            if has_day and table != "job":
                await connection.execute("SELECT windlass.make_partition($1, $2)", table, day)
            moved = ", ".join(f"{one} = {one} - $2 * interval '1 day'" for one in instants)
            await connection.execute(
                f"UPDATE windlass.{table} SET {moved} WHERE {key} = ANY ($1)", job_ids, days
            )
    return f"{day:%Y%m%d}"


async def age_execution(database: Database, execution_id: UUID, days: int) -> str:
    """When it was made, and all its jobs; when it ended stays."""
    facts._facts.drop([execution_id])  # this process remembers when it was made
    async with by_hand(database, readonly=False) as connection:
        await connection.execute(
            """UPDATE windlass.execution SET created_at = created_at - $2 * interval '1 day'
               WHERE id = $1""",
            execution_id,
            days,
        )
        await connection.execute("SET LOCAL session_replication_role = replica")
        rows = await connection.fetch(
            """SELECT id FROM windlass.job_history WHERE execution_id = $1
               UNION ALL SELECT id FROM windlass.job WHERE execution_id = $1""",
            execution_id,
        )
        await connection.execute(
            """UPDATE windlass.event SET at = at - $2 * interval '1 day'
               WHERE noun = 'execution' AND subject = $1""",
            execution_id.hex,
            days,
        )
    return await age(database, [row["id"] for row in rows], days)
