"""Executions whose state nodes have to keep right, and marks as another node would leave them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import UUID

from tests.engine.execution_rows import job, put_many
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import PATIENCE_SECONDS, until
from windlass.clock import monotonic
from windlass.errors import Unavailable
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.fastlane.marks import Marks
from windlass.model.workflow.refresh import shard_of

# So rare that it cannot be the net that made something right, and so often that it soon does.
RARE, OFTEN = "3600", "1"
POKE_SECONDS = 2.0
# What has not happened by then waits for a poke or a word that was lost.
LOST_SECONDS = 10.0

Answer = TypeVar("Answer")


async def start_node(cluster: Cluster, net_every: str = RARE) -> NodeProcess:
    return await cluster.start_node(WINDLASS_REFRESH_INTERVAL_SECONDS=net_every)


async def start_mortal_node(cluster: Cluster) -> NodeProcess:
    return await cluster.start_mortal_node(WINDLASS_REFRESH_INTERVAL_SECONDS=RARE)


async def ended_unseen(cluster: Cluster, count: int) -> list[UUID]:
    """Executions all of whose jobs have ended, and nobody has marked them."""
    wanted = [([job("succeeded"), job("skipped")], {"state": "running"}) for _ in range(count)]
    return await put_many(cluster.database, wanted)


async def due_now(cluster: Cluster, count: int, jobs: int = 3) -> list[UUID]:
    """Executions whose jobs the nodes have yet to perform, if their queue is not held."""
    await cluster.fetch(
        "INSERT INTO windlass.queue (name) VALUES ('default') ON CONFLICT DO NOTHING"
    )
    made = await put_many(
        cluster.database, [([job("queued") for _ in range(jobs)], {}) for _ in range(count)]
    )
    await cluster.fetch(
        "UPDATE windlass.job SET run_at = now() WHERE execution_id = ANY ($1)", made
    )
    return made


async def hold_queue(cluster: Cluster, *, is_paused: bool) -> None:
    """Whether nodes claim what my executions have queued."""
    await cluster.fetch(
        "INSERT INTO windlass.queue (name, is_paused) VALUES ('default', $1) "
        "ON CONFLICT (name) DO UPDATE SET is_paused = $1",
        is_paused,
    )


async def states(cluster: Cluster, made: Sequence[UUID]) -> Counter[str]:
    rows = await cluster.fetch("SELECT state FROM windlass.execution WHERE id = ANY ($1)", made)
    return Counter(row["state"] for row in rows)


async def until_state(
    cluster: Cluster,
    made: Sequence[UUID],
    state: str,
    *,
    marks: Marks | None = None,
    within_seconds: float = PATIENCE_SECONDS,
) -> None:
    """With `marks`, which were left for them, see `poking`."""

    async def all_are() -> bool:
        try:
            return await states(cluster, made) == {state: len(made)}
        except Unavailable:
            return False

    is_so = all_are if marks is None else poking(marks, made, all_are)
    what = f"{len(made)} executions are {state}"
    await until(is_so, what=what, within_seconds=within_seconds)


async def wrong(cluster: Cluster) -> int:
    """Executions that are not what their jobs make them; counted without our statement."""
    return await cluster.count(
        """FROM windlass.execution e WHERE e.state IS DISTINCT FROM (
               SELECT CASE
                   WHEN bool_or(j.state IN ('blocked', 'queued', 'running')) THEN
                       CASE WHEN bool_or(j.started_at IS NOT NULL) THEN 'running' ELSE 'pending' END
                   WHEN bool_or(j.state IN ('dead', 'expired')) THEN 'failed'
                   WHEN bool_or(j.state = 'cancelled') THEN 'cancelled' ELSE 'succeeded' END
               FROM (SELECT execution_id, state, started_at FROM windlass.job UNION ALL
                     SELECT execution_id, state, started_at FROM windlass.job_history) j
               WHERE j.execution_id = e.id)"""
    )


@asynccontextmanager
async def marking(redis_url: str) -> AsyncIterator[Marks]:
    """As somebody who ends jobs elsewhere."""
    lane = FastLane(redis_url)
    up = asyncio.Event()
    lane.on_change(lambda _: up.set())
    await lane.open()
    try:
        async with asyncio.timeout(10):
            await up.wait()
        yield Marks(lane)
    finally:
        await lane.close()


async def answered(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Ask until Redis answers in time, which on a busy machine it may not."""
    answers: list[Answer] = []

    async def is_answered() -> bool:
        try:
            answers.append(await ask())
        except LaneDown:
            return False
        return True

    await until(is_answered, what="Redis answers in time")
    return answers[0]


async def mark(marks: Marks, made: Collection[UUID], *, is_urgent: bool = True) -> None:
    async def are_left() -> bool:
        left = await answered(lambda: marks.leave(made, is_urgent=is_urgent))
        marks.poke(_shards(made))
        return sum(left.values()) == len(made)

    await until(are_left, what="marks are left")


def poking(
    marks: Marks, made: Collection[UUID], is_so: Callable[[], Awaitable[bool]]
) -> Callable[[], Awaitable[bool]]:
    """`is_so` for `until`. A poke may be lost, and the net is an hour away: it is said again."""
    poke_at = monotonic() + POKE_SECONDS

    async def is_so_by_now() -> bool:
        nonlocal poke_at
        if await is_so():
            return True
        if monotonic() >= poke_at:
            marks.poke(_shards(made))
            poke_at = monotonic() + POKE_SECONDS
        return False

    return is_so_by_now


def _shards(made: Collection[UUID]) -> Counter[int]:
    return Counter(shard_of(execution_id) for execution_id in made)


async def until_it_has_shards(node: NodeProcess) -> None:
    async def has() -> bool:
        return "shards_changed" in node.log

    await until(has, what=f"node {node.node_id} has shards")


async def until_nothing_is_marked(marks: Marks) -> None:
    async def is_empty() -> bool:
        try:
            return not any(waiting or under_way for waiting, under_way in await marks.sizes())
        except LaneDown:
            return False

    await until(is_empty, what="every mark was seen to")
