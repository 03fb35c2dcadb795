"""Bring executions up to date with their jobs, a batch at a time.

Owns: the one statement that writes an execution's state as the aggregate of its jobs (G8).
Promises: what it writes was true in one snapshot, and nothing older is ever written after it: the
fence is `refresh_seq`, which whoever writes a state raises. An execution whose fence was lost is
tried again; one that loses again and again is told, and nobody may take it for refreshed. Nobody
waits for an execution whose row somebody holds: it is told as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final
from uuid import UUID

from windlass.engine.finished import Finished
from windlass.limits import (
    REFRESH_NET_GRACE_SECONDS,
    REFRESH_NET_MAX,
    REFRESH_NET_SPAN_SECONDS_MAX,
    REFRESH_TRIES,
    REFRESH_WAITING_MAX,
)
from windlass.store.database import Database, Held

# By their numbers: a tenth of the time of comparing ids.
ORDER: Final = attrgetter("int")

# What is to be done for executions whose end is more than a state.
Conclude = Callable[[Database, Sequence[UUID]], Awaitable[Finished]]


@dataclass(slots=True, kw_only=True)
class Refreshed:
    jobs: dict[UUID, int] = field(default_factory=dict)  # of those that have not ended
    ended: list[UUID] = field(default_factory=list)  # by this refresh
    unconcluded: list[UUID] = field(default_factory=list)  # all their jobs have ended
    same: int = 0  # they had ended, and nothing moved
    gone: int = 0  # there is no such execution
    lost: set[UUID] = field(default_factory=set)  # the fence moved on every time
    losses: int = 0  # how often it did
    held: set[UUID] = field(default_factory=set)  # somebody keeps their rows: nothing was done


async def refresh(database: Database, execution_ids: Iterable[UUID]) -> Refreshed:
    """Refresh them in one statement, and those whose fence was lost in another. Raises
    Unavailable; then it is not known which were refreshed, and all may be tried again.
    """
    done = Refreshed(lost=set(execution_ids))
    for _ in range(REFRESH_TRIES):
        if not done.lost:
            break
        try:
            rows = await database.settle("execution_refresh_many", sorted(done.lost, key=ORDER))
        except Held:
            found = await held_executions(database, done.lost)
            done.held |= found
            done.lost -= found
            continue
        for row in rows:
            done.lost.discard(row["id"])
            match row["word"]:
                case "gone":
                    done.gone += 1
                    continue
                case "same":
                    done.same += 1
                case _ if row["is_ended_now"]:
                    done.ended.append(row["id"])
                case _:
                    done.jobs[row["id"]] = row["jobs"]
            if row["needs_conclusion"]:
                done.unconcluded.append(row["id"])
        done.losses += len(done.lost)
    return done


async def held_executions(database: Database, execution_ids: Iterable[UUID]) -> set[UUID]:
    """Those that cannot be written just now, because somebody holds a row that this needs."""
    rows = await database.settle("execution_row_held_many", list(execution_ids))
    return {row["id"] for row in rows}


async def nothing_to_conclude(_database: Database, _execution_ids: Sequence[UUID]) -> Finished:
    return Finished()


async def stale_executions(
    database: Database, shards: Iterable[int], older_seconds: float
) -> list[UUID]:
    """Unfinished ones of these shards that nobody refreshed for so long, oldest first."""
    wanted = sorted(shards)
    if not wanted:
        return []
    most = -(-REFRESH_NET_MAX // len(wanted))
    rows = await database.run("execution_stale", wanted, older_seconds, most)
    return [row["id"] for row in rows]


async def missed_executions(database: Database, span_seconds: float) -> list[UUID]:
    """Unfinished ones of any shard that were not refreshed after a job of theirs ended."""
    since = min(span_seconds, REFRESH_NET_SPAN_SECONDS_MAX) + REFRESH_NET_GRACE_SECONDS
    rows = await database.read(
        "execution_missed", since, REFRESH_NET_GRACE_SECONDS, REFRESH_WAITING_MAX
    )
    return [row["id"] for row in rows]
