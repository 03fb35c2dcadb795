"""Let parked jobs go to their targets, as many as there is room for.

Owns: the only statements that end a job's parking, and those that move a breaker.
Promises: a limit is decided under the lock of the target's row, from what is committed: the number
of passes out is exact, whichever nodes ask at once. A pass whose job was cancelled, or whose node
died, is gone with it, so a probe that vanished is followed by another.
Never: talks to Redis inside the transaction; the rate is asked before (a token that finds no job
is lost, which makes us slower, not wrong).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from windlass.limits import TARGET_PROBES
from windlass.model.breaker import Target, room, target_from
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

NEWS_MAX = 1_000


async def special(database: Database) -> tuple[list[Target], datetime]:
    """All targets out of the ordinary, and the database's time."""
    rows = await database.run("target_special")
    return [target_from(row) for row in rows if row["host"] is not None], rows[0]["now"]


async def news(database: Database, since: datetime) -> list[Record]:
    """Targets that jobs are parked for (`waiting` says how many, to 500) or that have changed."""
    return await database.run("target_news", since, NEWS_MAX)


async def let_go(database: Database, places: Mapping[str, int]) -> list[Record]:
    """Unpark jobs of these targets, at most so many of each; returns them with their lines."""
    if not places:
        return []

    async def work(connection: Connection[Record]) -> list[Record]:
        rows = await connection.fetch(statement("target_lock_many"), sorted(places))
        counts = await _counts(connection, rows, places)
        going = [(target, count) for target, count in counts if count > 0]
        if not going:
            return []
        return await connection.fetch(
            statement("job_unpark_many"),
            [target.host for target, _ in going],
            [count for _, count in going],
            [not target.is_unlimited for target, _ in going],
        )

    return await database.together(work)


async def _counts(
    connection: Connection[Record], rows: list[Record], places: Mapping[str, int]
) -> list[tuple[Target, int]]:
    targets = [target_from(row) for row in rows]
    limited = [target.host for target in targets if not target.is_unlimited]
    passes: dict[str, int] = {}
    if limited:
        await connection.execute(statement("target_half_open"), limited)
        found = await connection.fetch(statement("target_passes"), limited)
        passes = {row["host"]: row["passes"] for row in found}
    return [
        (
            target,
            room(
                target,
                row["now"],
                passes=passes.get(target.host, 0),
                probes=TARGET_PROBES,
                places=places[target.host],
            ),
        )
        for target, row in zip(targets, rows, strict=True)
    ]


async def open_breaker(database: Database, host: str, reason: str, chance: float) -> Target | None:
    """None: it was open already, or has no breaker."""
    return _first(await database.run("target_open", host, reason[:500], chance))


async def close_breaker(database: Database, host: str) -> Target | None:
    """None: it was not half open."""
    return _first(await database.run("target_close", host))


async def disable_gone(database: Database, host: str, reason: str) -> Target | None:
    """None: it was disabled already."""
    return _first(await database.run("target_gone", host, reason[:500]))


def _first(rows: Sequence[Record]) -> Target | None:
    return target_from(rows[0]) if rows else None
