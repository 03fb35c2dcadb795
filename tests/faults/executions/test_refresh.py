"""An execution's state is the aggregate of its jobs, whoever dies and whatever gets lost: G8."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from tests.engine.execution_rows import end_job, job, put, read
from tests.faults.executions.refreshing import (
    LOST_SECONDS,
    OFTEN,
    answered,
    due_now,
    ended_unseen,
    hold_queue,
    mark,
    marking,
    poking,
    start_mortal_node,
    start_node,
    until_it_has_shards,
    until_nothing_is_marked,
    until_state,
    wrong,
)
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.engine.jobs.replay import replay
from windlass.fastlane.keys import REFRESH_MARKS
from windlass.fastlane.marks import Marks
from windlass.model.workflow.refresh import SHARDS
from windlass.store.database import Connection, Record
from windlass.store.migrate import migrate
from windlass.store.statements import statement
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module")
async def own_servers() -> AsyncIterator[PrivateServers]:
    """With a Redis that these tests may flush, and that no other test's nodes listen to."""
    async with PrivateServers() as started:
        await migrate(started.database_url)
        yield started


@pytest.fixture
async def cluster(own_servers: PrivateServers, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with Redis.from_url(own_servers.redis_url) as redis:
        await redis.flushall()
    url = await own_servers.create_database(own_servers.database_url)
    async with open_cluster(url, own_servers.redis_url, tmp_path) as opened:
        yield opened


async def test_when_its_last_job_ends_an_execution_has_ended(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    """By those who ended its jobs alone: the net is an hour away. A poke of theirs may be lost, and
    an end that is told may be: of some round none is.
    """
    heard: set[UUID] = set()
    cluster.announcer.on_end(heard.add)
    await start_node(cluster)
    await start_node(cluster)
    async with marking(own_servers.redis_url) as marks:

        async def a_round_has_ended_and_was_told() -> bool:
            made = await due_now(cluster, 100)
            try:
                await until_state(cluster, made, "succeeded", within_seconds=LOST_SECONDS)
                await until(lambda: heard.issuperset(made), within_seconds=LOST_SECONDS)
            except AssertionError:
                await until_state(cluster, made, "succeeded", marks=marks)
                return False
            return True

        await until(
            a_round_has_ended_and_was_told,
            what="a hundred executions end with their last jobs, and whoever waits hears of it",
        )
        assert await wrong(cluster) == 0
        await until_nothing_is_marked(marks)


async def test_while_its_first_job_runs_an_execution_is_running(cluster: Cluster) -> None:
    await hold_queue(cluster, is_paused=True)
    made = await due_now(cluster, 3, jobs=1)
    await cluster.fetch("""UPDATE windlass.job SET kind = 'wait', input = '{"seconds": 60}'""")
    await start_node(cluster)
    await hold_queue(cluster, is_paused=False)
    await until_state(cluster, made, "running")


async def test_without_redis_every_node_refreshes_what_it_has_ended(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    url = await own_servers.create_database(own_servers.database_url)
    async with open_cluster(url, None, tmp_path) as cluster:
        await start_node(cluster)
        await start_node(cluster)
        made = await due_now(cluster, 100)
        await until_state(cluster, made, "succeeded")
        assert await wrong(cluster) == 0


async def test_what_nobody_marked_is_found_by_the_net(cluster: Cluster) -> None:
    made = await ended_unseen(cluster, 200)
    await start_node(cluster, OFTEN)
    await start_node(cluster, OFTEN)
    await until_state(cluster, made, "succeeded")


async def test_a_replay_unfinishes_an_execution_and_its_end_finishes_it_again(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    dead = job("dead")
    execution_id = await put(cluster.database, [dead, job("succeeded")])
    await hold_queue(cluster, is_paused=True)
    await start_node(cluster)
    async with marking(own_servers.redis_url) as marks:
        await mark(marks, [execution_id])
        await until_state(cluster, [execution_id], "failed", marks=marks)
        assert (await read(cluster.database, execution_id))["finished_at"] is not None
        await replay(cluster.database, [dead.job_id])
        await mark(marks, [execution_id])
        await until_state(cluster, [execution_id], "running", marks=marks)
        assert (await read(cluster.database, execution_id))["finished_at"] is None
    await hold_queue(cluster, is_paused=False)
    await until_state(cluster, [execution_id], "succeeded")


async def test_a_killed_nodes_shards_and_what_it_had_claimed_are_taken_over(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    dead, heir = await start_mortal_node(cluster), await start_node(cluster)
    await until_it_has_shards(dead)
    await until_it_has_shards(heir)
    made = await ended_unseen(cluster, 20 * SHARDS)
    claimed, marked = made[::2], made[1::2]
    async with marking(own_servers.redis_url) as marks:
        # As if it had claimed the half of them and died before it acknowledged.
        left = await answered(lambda: marks.leave(claimed, is_urgent=True))
        wanted = dict.fromkeys(left, 1_000)
        await answered(lambda: marks.claim(wanted, 2.0, is_back=False))
        await dead.kill()
        await mark(marks, marked)
        await until_state(cluster, marked, "succeeded", marks=marks)
        await until_state(cluster, claimed, "succeeded")
        await until_nothing_is_marked(marks)
    assert "taken_over=0" not in heir.log.rpartition("shards_changed")[2]


async def test_nodes_that_come_get_shards_and_all_go_on(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    async with marking(own_servers.redis_url) as marks:
        for living in range(3):
            made = await ended_unseen(cluster, 2 * SHARDS)
            await mark(marks, made)
            await until_it_has_shards(await start_node(cluster))
            # The first looks by itself; one that was there already has to be told.
            await until_state(cluster, made, "succeeded", marks=marks if living else None)


async def test_a_mark_that_comes_during_a_refresh_is_seen_to_afterwards(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    running = job("running")
    execution_id = await put(cluster.database, [running])
    await start_node(cluster)
    async with marking(own_servers.redis_url) as marks:
        async with cluster.database.side(readonly=False) as holder:
            await _hold(holder, execution_id)
            await mark(marks, [execution_id], is_urgent=False)
            await _until_somebody_waits(cluster, marks, execution_id)
            await end_job(cluster.database, running.job_id)
            await mark(marks, [execution_id])
        await until_state(cluster, [execution_id], "succeeded", marks=marks)
        await until_nothing_is_marked(marks)


async def test_a_frozen_refreshers_late_update_changes_nothing(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    running = job("running")
    execution_id = await put(cluster.database, [running])
    late = await start_mortal_node(cluster)
    async with marking(own_servers.redis_url) as marks:
        async with cluster.database.side(readonly=False) as holder:
            await _hold(holder, execution_id)
            await mark(marks, [execution_id])
            # With what it has read before the end.
            await _until_somebody_waits(cluster, marks, execution_id)
            await late.freeze()
            await end_job(cluster.database, running.job_id)
            await holder.fetch(statement("execution_refresh_many"), [execution_id])
        await _until_nobody_waits(cluster)
        row = await read(cluster.database, execution_id)
        assert (row["state"], row["refresh_seq"]) == ("succeeded", 1), "only ours was written"
        late.thaw()
        await until_nothing_is_marked(marks)
    assert (await read(cluster.database, execution_id))["state"] == "succeeded"


async def test_flushing_redis_all_the_time_ends_right(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    async def flush_for_ever() -> None:
        async with Redis.from_url(own_servers.redis_url) as client:
            while True:
                await client.flushall()
                await asyncio.sleep(0.1)

    await start_node(cluster, OFTEN)
    await start_node(cluster, OFTEN)
    flushing = asyncio.create_task(flush_for_ever())
    try:
        made = [one for _ in range(5) for one in await due_now(cluster, 40)]
        await until_state(cluster, made, "succeeded")
        assert not flushing.done()
    finally:
        flushing.cancel()
    assert await wrong(cluster) == 0


async def test_marks_that_name_nothing_are_dropped_and_do_not_stand_in_the_way(
    cluster: Cluster, own_servers: PrivateServers
) -> None:
    made = await ended_unseen(cluster, 10)
    async with (
        marking(own_servers.redis_url) as marks,
        Redis.from_url(own_servers.redis_url) as redis,
    ):
        for shard in range(SHARDS):
            await redis.sadd(REFRESH_MARKS % shard, "nonsense", "exe_", f"exe_{uuid4().hex}")
        await redis.delete(REFRESH_MARKS % 1)
        await redis.set(REFRESH_MARKS % 1, "no set at all")
        node = await start_node(cluster)
        await until_nothing_is_marked(marks)
        marks.poke({1: 1})
        await mark(marks, made)
        await until_state(cluster, made, "succeeded", marks=marks)
        assert node.log.count("mark_malformed") >= 2 * (SHARDS - 1)

        async def is_no_trouble() -> bool:
            return await redis.type(REFRESH_MARKS % 1) in (b"set", b"none")

        await until(is_no_trouble, what="what is no set at all is removed")


async def test_a_node_that_leaves_leaves_no_mark_behind(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    """Without Redis there is nobody else who knows what it has ended."""
    url = await own_servers.create_database(own_servers.database_url)
    async with open_cluster(url, None, tmp_path) as cluster:
        node = await start_node(cluster)
        made = await due_now(cluster, 300)

        async def all_ended() -> bool:
            return await cluster.count("FROM windlass.job_history") == 3 * len(made)

        await until(all_ended, what="every job has ended")
        node.terminate()
        assert await node.ends() == 0
        assert await wrong(cluster) == 0


async def _hold(connection: Connection[Record], execution_id: object) -> None:
    await connection.fetch(
        "SELECT FROM windlass.execution WHERE id = $1 FOR NO KEY UPDATE", execution_id
    )


_WAITING = """
FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '-- execution_refresh_many%'
AND datname = current_database()"""


async def _until_somebody_waits(cluster: Cluster, marks: Marks, execution_id: UUID) -> None:
    async def is_waiting() -> bool:
        return await cluster.count(_WAITING) > 0

    await until(poking(marks, [execution_id], is_waiting), what="a refresh waits for the row")


async def _until_nobody_waits(cluster: Cluster) -> None:
    async def is_done() -> bool:
        busy = _WAITING.replace("wait_event_type = 'Lock'", "state = 'active'")
        return await cluster.count(busy) == 0

    await until(is_done, what="no refresh is under way")
