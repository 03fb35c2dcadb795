"""The shelf that nodes share, on one server and on a Cluster, where each key has its own slot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from windlass.embedded.valkey import EmbeddedValkey
from windlass.fastlane.keys import CACHE, CACHE_EPOCH
from windlass.fastlane.lane import FastLane
from windlass.fastlane.shared_cache import SharedCache
from windlass.limits import CACHE_MARK_SECONDS, CACHE_MARKS_OWED_MAX, CACHE_VALUE_BYTES_MAX

NAMES = [str(number) for number in range(20)]


@pytest.fixture(params=["single", "cluster"])
async def server(
    request: pytest.FixtureRequest, valkey: EmbeddedValkey, cluster: EmbeddedValkey
) -> EmbeddedValkey:
    chosen = cluster if request.param == "cluster" else valkey
    async with Redis.from_url(chosen.url()) as client:
        await client.flushall()
    return chosen


@pytest.fixture
async def redis(server: EmbeddedValkey) -> AsyncIterator[Any]:
    async with Redis.from_url(server.url()) as client:
        yield client


@pytest.fixture
async def shelf(server: EmbeddedValkey, cluster: EmbeddedValkey) -> AsyncIterator[SharedCache]:
    url = server.url()
    lane = FastLane(url.replace("redis://", "redis+cluster://") if server is cluster else url)
    up = asyncio.Event()
    lane.on_change(lambda _: up.set())
    await lane.open()
    await asyncio.wait_for(up.wait(), 10)
    yield SharedCache(lane, "thing", 100, b"this one")
    await lane.close()


async def test_what_is_put_is_seen_by_everybody(shelf: SharedCache, redis: Any) -> None:
    seen = await shelf.look(NAMES)
    assert {sight.payload for sight in seen.values()} == {None}
    await shelf.put({name: name.encode() for name in NAMES}, seen)
    seen = await shelf.look(NAMES)
    assert {name: sight.payload for name, sight in seen.items()} == {n: n.encode() for n in NAMES}
    assert 0 < await redis.ttl(CACHE % ("thing", "7")) <= 100


async def test_after_a_mark_only_those_who_have_seen_it_may_put(
    shelf: SharedCache, redis: Any
) -> None:
    before = await shelf.look(["1"])
    await shelf.mark(["1", "2"])
    await shelf.put({"1": b"old"}, before)
    after = await shelf.look(["1"])
    assert after["1"].payload is None
    await shelf.put({"1": b"new"}, after)
    await shelf.put({"1": b"another"}, after)
    assert (await shelf.look(["1"]))["1"].payload == b"new"
    assert 0 < await redis.ttl(CACHE % ("thing", "2")) <= CACHE_MARK_SECONDS


async def test_a_second_mark_is_another(shelf: SharedCache) -> None:
    await shelf.mark(["1"])
    between = await shelf.look(["1"])
    await shelf.mark(["1"])
    await shelf.put({"1": b"old"}, between)
    assert (await shelf.look(["1"]))["1"].payload is None


async def test_a_new_epoch_ages_what_lies_there_and_what_is_on_its_way(shelf: SharedCache) -> None:
    seen = await shelf.look(["1", "2"])
    await shelf.put({"1": b"old"}, seen)
    await shelf.mark_all()
    await shelf.put({"2": b"old"}, seen)
    seen = await shelf.look(["1", "2"])
    assert [sight.payload for sight in seen.values()] == [None, None]
    await shelf.put({"1": b"new", "2": b"new"}, seen)
    assert {sight.payload for sight in (await shelf.look(["1", "2"])).values()} == {b"new"}


@pytest.mark.parametrize("junk", [b"", b"short", b"far too long for an epoch"])
async def test_where_the_epoch_is_unreadable_nothing_is_believed(
    shelf: SharedCache, redis: Any, junk: bytes
) -> None:
    await redis.set(CACHE_EPOCH % "thing", junk)
    await shelf.put({"1": b"value"}, await shelf.look(["1"]))
    assert (await shelf.look(["1"]))["1"].payload is None
    await shelf.mark_all()
    await shelf.put({"1": b"value"}, await shelf.look(["1"]))
    assert (await shelf.look(["1"]))["1"].payload == b"value"


async def test_a_huge_value_is_not_put(shelf: SharedCache, redis: Any) -> None:
    await shelf.put({"1": bytes(CACHE_VALUE_BYTES_MAX + 1)}, await shelf.look(["1"]))
    assert not await redis.exists(CACHE % ("thing", "1"))


async def test_more_marks_than_are_worth_counting_become_one(
    shelf: SharedCache, redis: Any
) -> None:
    await shelf.put({"1": b"old"}, await shelf.look(["1"]))
    await shelf.mark([str(number) for number in range(CACHE_MARKS_OWED_MAX + 1)])
    assert (await shelf.look(["1"]))["1"].payload is None
    assert not await redis.exists(CACHE % ("thing", "2"))
