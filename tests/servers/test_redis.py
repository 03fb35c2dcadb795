"""Redis behind Sentinels and as a Cluster: it fails over and moves slots while jobs flow. G9."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis, RedisCluster
from redis.crc import key_slot

from tests.faults.real_cluster import open_cluster
from tests.faults.stream import Stream, all_is_well, until_more_ended
from tests.servers.valkeys import (
    DOWN_AFTER_MS,
    PATIENT_MS,
    SERVICE,
    open_cluster_of_three,
    open_watched,
)
from tests.until import until
from windlass.fastlane import keys
from windlass.fastlane.connect import CONNECTIONS_MAX, TROUBLE, Client, client_of, close_client
from windlass.fastlane.lane import FastLane
from windlass.fastlane.target_failures import TargetFailures

HOSTS = [f"host-{n}" for n in range(60)]
Change = Callable[[], Awaitable[None]]


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[FastLane]:
    lane = FastLane(url)
    await lane.open()
    try:
        yield lane
    finally:
        await lane.close()


@asynccontextmanager
async def closing(url: str) -> AsyncIterator[Client]:
    client = client_of(url, seconds=10.0)
    try:
        yield client
    finally:
        await close_client(client)


async def until_up(lane: FastLane) -> None:
    async def is_up() -> bool:
        return lane.is_up

    await until(is_up, what="the lane is up")


async def until_heard(sender: FastLane, receiver: FastLane) -> None:
    """What one publishes the other hears; a message may be lost, so it is said again."""
    heard = asyncio.Event()
    receiver.on_message(keys.EVENTS, lambda _: heard.set())

    async def is_heard() -> bool:
        sender.publish(keys.EVENTS, b"{}")
        return heard.is_set()

    await until(is_heard, what="a message is heard")


async def until_counted(lane: FastLane) -> None:
    """Keys in every part of a Cluster answer, and can be dropped."""
    failures = TargetFailures(lane)

    async def all_answer() -> bool:
        return all([await failures.note(host, 1) for host in HOSTS])

    await until(all_answer, what="every key answers")

    async def all_are_gone() -> bool:
        for host in HOSTS:  # it may be lost, so it is said again
            failures.forget(host)
        return {await failures.note(host, 0) for host in HOSTS} == {0}

    await until(all_are_gone, what="every key is dropped")


async def work_on_during(url: str, database_url: str, folder: Path, change: Change) -> None:
    """Two nodes take jobs all the time; afterwards each hears the other through Redis again."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    async with open_cluster(database_url, url, folder) as cluster:
        nodes = [await cluster.start_node(), await cluster.start_node()]
        stream = Stream(cluster, random.Random(seed))
        streams = [asyncio.create_task(stream.run(name)) for name in "ab"]
        try:
            await until_more_ended(cluster, 50)
            await change()
            await until_more_ended(cluster, 50)
        finally:
            stream.stop()
            await asyncio.gather(*streams)
        await cluster.until_ended()
        await all_is_well(cluster, stream.refused)
        assert stream.refused == [], "Redis alone refuses nothing"
        assert all(node.is_alive for node in nodes)


async def test_sentinels_name_a_new_primary_while_jobs_flow(
    database_url: str, tmp_path: Path
) -> None:
    async with open_watched() as watched, opened(watched.url) as one, opened(watched.url) as two:
        await until_up(one)
        await until_heard(one, two)
        await until_counted(one)

        async def fail_over() -> None:
            await watched.primary.kill()
            await watched.until_promoted()

        await work_on_during(watched.url, database_url, tmp_path, fail_over)
        await until_up(one)
        await until_up(two)
        await until_heard(one, two)
        await until_counted(two)


async def test_no_sentinel_is_forgotten_when_many_connections_ask_at_once() -> None:
    async with open_watched(down_after_ms=PATIENT_MS) as watched, closing(watched.url) as client:
        assert isinstance(client, Redis)
        first, *others = watched.sentinels
        await first.tell("SENTINEL", "REMOVE", SERVICE)
        await asyncio.gather(*(client.ping() for _ in range(CONNECTIONS_MAX)))
        await first.tell("SENTINEL", "MONITOR", SERVICE, "127.0.0.1", watched.primary.port, 2)
        for other in others:
            await other.kill()
        await client.connection_pool.disconnect()
        assert await client.ping(), "the first one is asked again, and knows the primary"


async def test_a_client_of_a_cluster_that_failed_last_closes_all_its_connections() -> None:
    async with open_cluster_of_three() as valkeys:
        lost, *others = valkeys.primaries

        async def connections() -> list[int]:
            return [len(await other.client.client_list()) for other in others]

        before = await connections()
        async with closing(valkeys.url) as client:
            assert isinstance(client, RedisCluster)
            await client.mget_nonatomic(*(keys.BREAKER % host for host in HOSTS))
            assert all(now > then for now, then in zip(await connections(), before, strict=True))
            await lost.kill()
            with pytest.raises(TROUBLE):
                await client.mget_nonatomic(*(keys.BREAKER % host for host in HOSTS))

        async def none_is_left() -> bool:
            return await connections() == before

        await until(none_is_left, what="every connection is closed")


async def test_a_cluster_loses_a_primary_while_jobs_flow(database_url: str, tmp_path: Path) -> None:
    async with (
        open_cluster_of_three(node_timeout_ms=DOWN_AFTER_MS) as valkeys,
        opened(valkeys.url) as one,
        opened(valkeys.url) as two,
    ):
        await until_up(one)
        await until_heard(one, two)
        await until_counted(one)

        async def lose_one() -> None:
            await valkeys.primaries[0].kill()
            await valkeys.until_promoted()

        await work_on_during(valkeys.url, database_url, tmp_path, lose_one)
        await until_heard(one, two)
        await until_counted(two)


async def test_slots_move_while_their_keys_are_asked_and_no_count_is_lost() -> None:
    async with open_cluster_of_three() as valkeys, opened(valkeys.url) as lane:
        await until_up(lane)
        failures = TargetFailures(lane)
        noted = dict.fromkeys(HOSTS, 0)
        is_over = False

        async def note_all() -> None:
            for host in HOSTS:
                noted[host] = await failures.note(host, 1) or noted[host]
            await asyncio.sleep(0.001)  # a lane that rests answers without waiting

        async def note_for_ever() -> None:
            before = dict(noted)
            while not is_over:
                await note_all()
                assert all(noted[host] >= before[host] for host in HOSTS), "counts go up"
                before = dict(noted)

        noting = asyncio.create_task(note_for_ever())
        source, sink = valkeys.primaries[0], valkeys.primaries[1]
        for host in HOSTS:
            slot = key_slot((keys.BREAKER % host).encode())
            if slot < 16_384 // 3:
                await valkeys.move(slot, source, sink)
        is_over = True
        await noting
        assert not await source.tell("KEYS", "windlass:breaker:*")
        before = dict(noted)

        async def all_went_on() -> bool:
            await note_all()
            return all(noted[host] > before[host] for host in HOSTS)

        await until(all_went_on, what="every key goes on counting from where it was")
