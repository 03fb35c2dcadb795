"""Do the counters say what is there? Corrections are deltas, so nobody has to stand still."""

from __future__ import annotations

from typing import Final

from windlass.engine.doctor.finding import Finding
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

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
