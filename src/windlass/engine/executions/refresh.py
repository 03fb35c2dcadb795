"""Refresh executions: bring their state up to date with their jobs, a batch at a time; and who does
so, for which shard, and how much of it.

Owns: the one statement that writes an execution's state as the aggregate of its jobs (G8).
Promises: what it writes was true in one snapshot, and nothing older is ever written after it: the
fence is `refresh_seq`, which whoever writes a state raises. An execution whose fence was lost is
tried again; one that loses again and again is told, and nobody may take it for refreshed. Nobody
waits for an execution whose row somebody holds: it is told as well.

The loops that call this are in `runtime.refresh`; `Tally` is what they have done since the node
started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from windlass.clock import monotonic, wall
from windlass.engine.effects import Effects
from windlass.fastlane.lane import LaneDown
from windlass.fastlane.marks import Marks
from windlass.limits import (
    REFRESH_NET_GRACE_SECONDS,
    REFRESH_NET_MAX,
    REFRESH_NET_SPAN_SECONDS_MAX,
    REFRESH_TRIES,
    REFRESH_WAITING_MAX,
)
from windlass.model.workflow.refresh import SHARDS, owner_of
from windlass.store.database import Database, RowLocked

# By their numbers: a tenth of the time of comparing ids.
ORDER: Final = attrgetter("int")
RATE_SECONDS: Final = 60  # over which Tally.per_second is taken

# What is to be done for executions whose end is more than a state.
Conclude = Callable[[Database, Sequence[UUID]], Awaitable[Effects]]


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
        except RowLocked:
            found = await find_locked_executions(database, done.lost)
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


async def find_locked_executions(database: Database, execution_ids: Iterable[UUID]) -> set[UUID]:
    """Those that cannot be written just now, because somebody holds a row that this needs."""
    rows = await database.settle("execution_row_held_many", list(execution_ids))
    return {row["id"] for row in rows}


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


async def oldest_refresh_seconds(database: Database) -> float | None:
    """How long ago the unfinished execution was refreshed of which that was longest ago."""
    [row] = await database.run("execution_oldest", SHARDS)
    seconds: float | None = row["seconds"]
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    shard: int
    node_id: UUID | None  # None: no node lives
    marks: int | None  # executions that wait to be refreshed; None: Redis does not say
    inflight: int | None  # that are being refreshed


async def read_shards(database: Database, marks: Marks) -> list[Shard]:
    nodes = [row["id"] for row in await database.run("node_members")]
    sizes: list[tuple[int | None, int | None]]
    try:
        sizes = [*await marks.sizes()]
    except LaneDown:
        sizes = [(None, None)] * SHARDS
    return [
        Shard(shard=shard, node_id=owner_of(shard, nodes), marks=waiting, inflight=under_way)
        for shard, (waiting, under_way) in enumerate(sizes)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    at: datetime
    executions: int
    ended: int
    seconds: float


@dataclass(slots=True, kw_only=True)
class Tally:
    executions: int = 0
    batches: int = 0
    ended: int = 0
    fences_lost: int = 0
    # Marks that were dropped: they named no execution, one that is gone, or were too many to keep.
    malformed: int = 0
    gone: int = 0
    overflowed: int = 0
    # Shards that came from nodes that are gone; marks that they had claimed and not acknowledged.
    shards_taken_over: int = 0
    marks_taken_back: int = 0
    # Found by the net: for a lost mark, or because nothing was heard of them for long.
    missed: int = 0
    stale: int = 0
    last: Batch | None = None  # None: there was none yet
    _seconds: deque[tuple[int, int]] = field(default_factory=deque)  # second, executions in it

    def refreshed(self, count: int, done: Refreshed, seconds: float) -> None:
        self.executions += count
        self.batches += 1
        self.ended += len(done.ended)
        self.fences_lost += done.losses
        self.gone += done.gone
        self.last = Batch(at=wall(), executions=count, ended=len(done.ended), seconds=seconds)
        now = int(monotonic())
        if self._seconds and self._seconds[-1][0] == now:
            count += self._seconds.pop()[1]
        self._seconds.append((now, count))
        self._forget_before(now - RATE_SECONDS)

    @property
    def per_second(self) -> float:
        """Over the last minute."""
        self._forget_before(int(monotonic()) - RATE_SECONDS)
        return sum(count for _, count in self._seconds) / RATE_SECONDS

    def report(self) -> dict[str, Any]:
        told = asdict(self)
        del told["_seconds"]
        return {**told, "per_second": round(self.per_second, 3)}

    def _forget_before(self, second: int) -> None:
        while self._seconds and self._seconds[0][0] <= second:
            self._seconds.popleft()
