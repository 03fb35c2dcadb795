"""The primary goes and its replica takes over: G1, G2 with a synchronous standby."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.faults.job_objects import drafts, noop
from tests.faults.real_cluster import open_cluster
from tests.faults.stream import Stream, all_is_well, until_more_ended
from tests.servers.replica import Pair, open_pair
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.store.database import Database
from windlass.store.migrate import migrate


async def is_killed(pair: Pair) -> None:
    await pair.primary.kill()
    await pair.promote()


async def takes_no_more_writes(pair: Pair) -> None:
    """It lives on, and old connections still reach it."""
    await pair.take_no_writes()
    await pair.promote()


@pytest.mark.parametrize("primary", [is_killed, takes_no_more_writes], ids=lambda f: f.__name__)
async def test_nodes_go_over_to_the_new_primary_and_nothing_accepted_is_lost(
    tmp_path: Path, primary: Callable[[Pair], Awaitable[None]]
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    async with open_pair() as pair:
        await migrate(pair.url)
        await pair.be_synchronous()
        async with open_cluster(pair.url, None, tmp_path) as cluster:
            nodes = [await cluster.start_node() for _ in range(2)]
            stream = Stream(cluster, random.Random(seed))
            streams = [asyncio.create_task(stream.run(name)) for name in "abcd"]
            try:
                await until_more_ended(cluster, 100)
                await primary(pair)
                await until_more_ended(cluster, 100)
            finally:
                stream.stop()
                await asyncio.gather(*streams)
            await cluster.until_ended(within_seconds=90)
            await all_is_well(cluster, stream.refused)
            assert all(node.is_alive for node in nodes)
            assert all(node.log.count("lease_lost") == 0 for node in nodes)


async def test_a_job_that_only_the_primary_has_is_not_accepted_yet() -> None:
    """PostgreSQL shows a commit that was cut off while it waited for the standby."""
    async with open_pair() as pair:
        await migrate(pair.url)
        await pair.be_synchronous()
        database = Database(pair.url)
        await database.open()
        try:
            enqueuer = Enqueuer(database, follow=lambda _: None)
            await enqueuer.submit(drafts([noop("first")])[0])  # makes the queue
            await pair.freeze_replication()
            submitting = asyncio.create_task(enqueuer.submit(drafts([noop("second")])[0]))
            [waiting] = await pair.until_one_waits_for_the_replica()
            await pair.hang_up(waiting)
            [asking] = await pair.until_one_waits_for_the_replica(other_than=waiting)
            assert asking != waiting
            assert not submitting.done(), "it asks what became of the job, and waits as well"
            await pair.thaw_replication()
            answer = await submitting
            assert await database.run("job_known_many", list(answer.job_ids))
        finally:
            await pair.thaw_replication()
            await database.close()
