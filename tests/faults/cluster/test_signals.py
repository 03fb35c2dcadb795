"""Blocking coordination: who was told has done it once, or is named. With Redis and without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import aiohttp
import msgspec
import pytest
from redis.asyncio import Redis

from tests.faults.cluster.signalling import (
    Sender,
    came,
    names_in_index,
    owned,
    shown,
    signalling,
    until_it_beats,
)
from tests.faults.real_cluster import open_cluster
from tests.faults.servers.slow import slow
from tests.ports import free_port
from tests.until import until
from windlass import ids
from windlass.clock import monotonic
from windlass.fastlane.keys import COORDINATORS, coordinator
from windlass.fastlane.lane import LaneDown
from windlass.limits import SIGNAL_DOUBT_SECONDS
from windlass.model.cluster.node_signal import Signal
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

SIGNALS = 100
# A frozen node lives on for as long as the test looks at it.
LONG_LEASE = "30"


@pytest.fixture(scope="module")
async def own_servers() -> AsyncIterator[PrivateServers]:
    """For tests that do something to Redis."""
    async with PrivateServers() as started:
        await migrate(started.database_url)
        yield started


@pytest.fixture
async def redis(own_servers: PrivateServers) -> AsyncIterator[Redis]:
    async with Redis.from_url(own_servers.redis_url) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def sender(
    own_servers: PrivateServers, tmp_path: Path, redis: Redis
) -> AsyncIterator[Sender]:
    """Of a cluster without nodes yet."""
    url = await own_servers.create_database(own_servers.database_url)
    async with (
        open_cluster(url, own_servers.redis_url, tmp_path) as cluster,
        signalling(cluster, own_servers.redis_url) as opened,
    ):
        yield opened


async def until_answered(ask: Callable[[], Awaitable[object]]) -> None:
    """Ask until Redis answers in time, which on a busy machine it may not. Doubles do no harm."""

    async def is_answered() -> bool:
        try:
            await ask()
        except LaneDown:
            return False
        return True

    await until(is_answered, what="Redis answers in time")


async def test_all_living_nodes_acknowledge_through_redis(sender: Sender, redis: Redis) -> None:
    nodes = [await sender.cluster.start_node() for _ in range(3)]
    await until_it_beats(redis, *nodes)

    async def is_quick() -> bool:
        """Whatever else this machine does can only make it longer, or need PostgreSQL."""
        before, begun = await sender.stored(), monotonic()
        said = await sender.send("reload")
        took = monotonic() - begun
        assert (said.acknowledged, said.missing) == (shown(*nodes), [])
        assert all("http" in said.answers[node]["kinds"] for node in shown(*nodes))
        kept = await owned(redis, sender.id) | await names_in_index(redis, sender.id)
        is_left = any(said.id in key for key in kept)
        return took < SIGNAL_DOUBT_SECONDS and await sender.stored() == before and not is_left

    await until(is_quick, what="a signal goes through Redis, and nothing is left of the waiting")


async def test_a_name_that_nobody_knows_is_answered_as_such(sender: Sender, redis: Redis) -> None:
    node = await sender.cluster.start_node()
    await until_it_beats(redis, node)
    said = await sender.send("dance")
    assert said.acknowledged == shown(node)
    assert "'dance' is not known here; known are" in said.answers[shown(node)[0]]["error"]


async def test_a_frozen_node_is_missing_at_the_deadline_and_does_it_when_it_thaws(
    sender: Sender, redis: Redis
) -> None:
    well, frozen = [
        await sender.cluster.start_node(WINDLASS_LEASE_SECONDS=LONG_LEASE) for _ in range(2)
    ]
    await until_it_beats(redis, well, frozen)
    await frozen.freeze()
    begun = monotonic()
    said = await sender.send(wait_seconds=10.0)
    assert 9.9 < monotonic() - begun < 20
    assert (said.acknowledged, said.missing) == (shown(well), shown(frozen))
    assert "did not acknowledge within 10 s" in said.reasons[shown(frozen)[0]]
    frozen.thaw()
    again = await sender.send()
    assert again.acknowledged == shown(well, frozen)

    async def has_come_both_ways() -> bool:
        waits = "FROM windlass.signal_target WHERE node_id = $1 AND acked_at IS NULL"
        return not (
            await redis.llen(coordinator(shown(frozen)[0], "signals"))
            or await sender.cluster.count(waits, frozen.node_id)
        )

    await until(has_come_both_ways, what="nothing waits for the node, here or there")
    assert came(frozen, said.id) == 1, "it came both ways and was handled once"


async def test_the_dead_and_the_unknown_are_missing_at_once(sender: Sender, redis: Redis) -> None:
    well, dead = await sender.cluster.start_node(), await sender.cluster.start_mortal_node()
    await until_it_beats(redis, well, dead)
    await dead.kill()

    async def is_known_as_dead() -> bool:
        return not await sender.cluster.count(
            "FROM windlass.node WHERE id = $1 AND lease_until > now()", dead.node_id
        )

    await until(is_known_as_dead, what="the killed node's lease lapses")
    nobody = uuid4()
    begun = monotonic()
    said = await sender.send(to=[well.node_id, dead.node_id, nobody])
    assert monotonic() - begun < 8, "they were not waited for"
    assert said.acknowledged == shown(well)
    assert said.missing == sorted([*shown(dead), ids.show("node", nobody)])
    assert set(said.reasons.values()) == {"no such node lives"}
    assert (await sender.send()).missing == [], "all means all that live"


async def test_a_signal_that_comes_several_times_and_both_ways_is_handled_once(
    sender: Sender, redis: Redis
) -> None:
    node = await sender.cluster.start_node()
    await until_it_beats(redis, node)
    [target] = shown(node)
    twice = Signal(id=ids.show("signal", ids.uuid7()), name="ping", payload={}, sender=sender.id)

    async def push() -> None:
        await until_answered(lambda: sender.signals.push(target, twice))

    await until_answered(lambda: sender.signals.open(sender.id, twice.id))
    for _ in range(3):
        await push()
    await sender.cluster.database.run(
        "signal_write", ids.parse("signal", twice.id), "ping", "{}", 60.0, [node.node_id]
    )
    sender.signals.poke([target], is_stored=True)

    async def is_acknowledged() -> bool:
        stored = await sender.cluster.count(
            "FROM windlass.signal_target WHERE acked_at IS NOT NULL"
        )
        try:
            acks = await sender.signals.acks(sender.id, twice.id)
        except LaneDown:
            return False
        if not acks:
            await push()  # the node may have had no answer when it acknowledged the others
        return (stored, acks) == (1, {target: {}})

    await until(is_acknowledged, what="it is acknowledged both ways")
    await push()
    sender.signals.poke([target], is_stored=False)

    async def is_read() -> bool:
        return not await redis.llen(coordinator(target, "signals"))

    await until(is_read, what="the last double is taken away")
    assert came(node, twice.id) == 1
    assert await redis.get(coordinator(target, f"idem:{twice.id}")) == b"{}"


async def test_a_flush_before_it_was_read_loses_no_signal(sender: Sender, redis: Redis) -> None:
    node = await sender.cluster.start_node(WINDLASS_LEASE_SECONDS=LONG_LEASE)
    await until_it_beats(redis, node)
    await node.freeze()
    sending = asyncio.create_task(sender.send())

    async def is_there() -> bool:
        waiting = await redis.llen(coordinator(shown(node)[0], "signals"))
        # Where Redis did not answer in time it is in PostgreSQL alone.
        return bool(waiting) or bool(await sender.stored())

    await until(is_there, what="the signal waits")
    await redis.flushall()
    node.thaw()
    said = await sending
    assert said.acknowledged == shown(node)
    assert came(node, said.id) == 1
    # And the node is there again by itself, with every name in its index.
    await until_it_beats(redis, node)
    [target] = shown(node)
    keys = await owned(redis, target)
    assert keys <= await names_in_index(redis, target)


async def test_without_redis_signals_go_through_postgresql(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    url = await own_servers.create_database(own_servers.database_url)
    async with open_cluster(url, None, tmp_path) as cluster, signalling(cluster, None) as sender:
        nodes = [await cluster.start_node() for _ in range(2)]
        said = await sender.send("reload")
        assert (said.acknowledged, said.missing) == (shown(*nodes), [])
        assert all("http" in said.answers[node]["kinds"] for node in shown(*nodes))
        assert await sender.stored() == 1


async def test_with_a_redis_that_takes_two_seconds_a_command_signals_still_arrive(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    url = await own_servers.create_database(own_servers.database_url)
    async with (
        slow(own_servers) as redis_url,
        open_cluster(url, redis_url, tmp_path) as cluster,
        signalling(cluster, redis_url) as sender,
    ):
        node = await cluster.start_node()
        said = await sender.send()
        assert said.acknowledged == shown(node)
        assert came(node, said.id) == 1


async def test_a_sender_cut_off_from_redis_reaches_nodes_that_are_not(
    sender: Sender, redis: Redis
) -> None:
    node = await sender.cluster.start_node()
    await until_it_beats(redis, node)
    async with signalling(sender.cluster, "redis://127.0.0.1:1/0") as cut_off:
        said = await cut_off.send()
    assert said.acknowledged == shown(node)


async def test_a_hundred_signals_at_once_are_each_handled_once_by_each(
    sender: Sender, redis: Redis
) -> None:
    nodes = [await sender.cluster.start_node() for _ in range(3)]
    await until_it_beats(redis, *nodes)
    said = await asyncio.gather(*(sender.send() for _ in range(SIGNALS)))
    assert [one.missing for one in said] == [[]] * SIGNALS
    assert all(one.acknowledged == shown(*nodes) for one in said)
    for node in nodes:
        assert node.log.count("signal_came") == SIGNALS
        assert all(came(node, one.id) == 1 for one in said)


async def test_a_beat_says_who_and_every_key_has_a_lifetime_and_a_name_in_the_index(
    sender: Sender, redis: Redis
) -> None:
    node = await sender.cluster.start_node(workers=3)
    await until_it_beats(redis, node)
    [target] = shown(node)

    async def has_a_mark() -> bool:
        await sender.send()
        # One that went through PostgreSQL leaves none.
        return any(":idem:" in key for key in await owned(redis, target))

    await until(has_a_mark, what="a signal goes through Redis")
    beat = msgspec.json.decode(await redis.get(coordinator(target, "beat")) or "")
    assert (beat["id"], beat["pid"]) == (target, node.pid)
    assert beat["at_ms"] <= await redis.zscore(COORDINATORS, target)
    activity = msgspec.json.decode(await redis.get(coordinator(target, "activity")) or "")
    assert activity == {"in_flight": 0, "workers": 3}
    keys = await owned(redis, target)
    indexed = await names_in_index(redis, target)
    assert {coordinator(target, "keys"), coordinator(target, "beat")} <= keys <= indexed
    assert any(":idem:" in key for key in keys)
    for key in [*keys, COORDINATORS]:
        assert await redis.pttl(key) != -1, f"{key} has no end"  # it may be gone meanwhile


async def test_a_node_that_leaves_takes_exactly_its_own_keys(sender: Sender, redis: Redis) -> None:
    stays = await sender.cluster.start_node()

    async def takes_its_own() -> bool:
        leaves = await sender.cluster.start_node()
        await until_it_beats(redis, stays, leaves)
        await sender.send()
        [gone] = shown(leaves)
        # A neighbour whose id begins with the same letters.
        await redis.set(coordinator(gone + "0", "beat"), b"{}")
        leaves.terminate()
        assert await leaves.ends() == 0
        assert await redis.exists(coordinator(gone + "0", "beat"))
        # When Redis does not answer in time it goes without them, and the sweep finds their names.
        behind = await owned(redis, gone)
        assert not behind or coordinator(gone, "keys") in behind
        return not behind and await redis.zscore(COORDINATORS, gone) is None

    await until(takes_its_own, what="one that leaves takes its keys along")
    [left] = shown(stays)
    assert coordinator(left, "beat") in await owned(redis, left)
    assert await redis.zscore(COORDINATORS, left) is not None


async def test_over_http_a_node_reaches_itself_and_the_others(sender: Sender, redis: Redis) -> None:
    cluster = sender.cluster
    door = await cluster.nodes.start(
        cluster.database.url,
        cluster.redis_url,
        roles="api",
        settings={"WINDLASS_AUTH": "off", "WINDLASS_PORT": str(free_port())},
    )
    node = await cluster.start_node()
    await until_it_beats(redis, node)
    body = {"targets": "all", "name": "ping", "wait": "10s"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{door.url}/v1/signals", json=body) as answer,
    ):
        said = await answer.json()
    assert (answer.status, len(said["acknowledged"]), said["missing"]) == (200, 2, [])
    assert shown(node)[0] in said["acknowledged"]
