"""Memory, Redis, PostgreSQL: one of them answers, and never with what was invalidated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.engine.cache.cached import NAME, Node, Thing, Things, a_table, node
from tests.faults.servers.slow import slow
from tests.until import until
from windlass.engine.cache.cache import cache_stats
from windlass.engine.cache.registry import scope_of
from windlass.fastlane.keys import CACHE
from windlass.limits import CACHE_KEPT_SECONDS
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers


@pytest.fixture
async def redis(servers: PrivateServers) -> AsyncIterator[Any]:
    async with Redis.from_url(servers.redis_url) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def things(database_url: str) -> AsyncIterator[Things]:
    async with a_table(database_url) as made:
        for key in range(1, 6):
            await made.write(key, f"{key} at first")
        yield made


@pytest.fixture
async def here(
    servers: PrivateServers, redis: Any, things: Things, patient_lane: None
) -> AsyncIterator[Node]:
    async with node(servers.redis_url, things) as opened:
        yield opened


@pytest.fixture
async def there(
    servers: PrivateServers, redis: Any, things: Things, patient_lane: None
) -> AsyncIterator[Node]:
    async with node(servers.redis_url, things) as opened:
        yield opened


def key_of(key: int) -> str:
    return CACHE % (NAME, key)


async def test_a_value_is_loaded_once_then_found_in_redis_then_in_memory(
    here: Node, there: Node, things: Things, redis: Any
) -> None:
    cache, other = here.make(), there.make()
    assert cache.peek(1) is None
    assert await cache.get(1) == Thing(1, "1 at first")
    assert cache.peek(1) == Thing(1, "1 at first")
    assert await cache.get(1) == Thing(1, "1 at first")
    await shelved(redis, 1)
    assert await other.get(1) == Thing(1, "1 at first")
    assert things.asked == [1]
    assert cache_stats(cache) == {
        "cache": NAME,
        "entries": 1,
        "hits": 2,
        "redis_hits": 0,
        "loads": 1,
        "errors": 0,
        "hit_rate": 0.6667,
    }
    assert other.counts["redis"] == 1


async def shelved(redis: Any, *keys: int) -> None:
    """Those who asked do not wait until it lies in Redis."""

    async def is_there() -> bool:
        return bool(await redis.exists(*map(key_of, keys)) == len(keys))

    await until(is_there, what="it lies in Redis", within_seconds=10)


async def test_a_hundred_who_ask_at_once_load_once(here: Node, things: Things) -> None:
    cache = here.make()
    things.is_open.clear()
    asking = [asyncio.create_task(cache.get(1)) for _ in range(100)]
    await things.has_read.wait()
    things.is_open.set()
    assert await asyncio.gather(*asking) == [Thing(1, "1 at first")] * 100
    assert things.asked == [1]
    assert (cache.counts["load"], cache.counts["hit"]) == (1, 99)


async def test_many_are_looked_for_together_and_only_the_missing_are_loaded(
    here: Node, things: Things
) -> None:
    cache = here.make()
    await cache.get_many([1, 2])
    found = await cache.get_many([1, 2, 3, 4, 4, 99])
    assert found == {key: Thing(key, f"{key} at first") for key in (1, 2, 3, 4)}
    assert things.calls == 2
    assert things.asked == [1, 2, 3, 4, 99]


async def test_that_there_is_none_is_not_kept(here: Node, things: Things) -> None:
    cache = here.make()
    assert await cache.get(7) is None
    await things.write(7, "born since")
    assert await cache.get(7) == Thing(7, "born since")


async def test_what_goes_wrong_reaches_all_who_wait_and_is_not_kept(
    here: Node, things: Things
) -> None:
    cache = here.make()
    things.trouble = OSError("away")
    things.is_open.clear()
    asking = [asyncio.create_task(cache.get(1)) for _ in range(10)]
    await things.has_read.wait()
    things.is_open.set()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert [str(answer) for answer in answers] == ["away"] * 10
    things.trouble = None
    assert await cache.get(1) == Thing(1, "1 at first")
    assert things.asked == [1, 1]
    assert cache.counts["error"] == 1


async def test_who_gives_up_takes_nobody_along(here: Node, things: Things) -> None:
    cache = here.make()
    things.is_open.clear()
    first, second = (asyncio.create_task(cache.get(1)) for _ in range(2))
    await things.has_read.wait()
    first.cancel()
    things.is_open.set()
    assert await second == Thing(1, "1 at first")
    assert things.asked == [1]


async def test_a_read_keeps_a_value_in_redis_for_another_half_hour(
    here: Node, there: Node, redis: Any
) -> None:
    await here.make().get(1)
    await shelved(redis, 1)
    await redis.expire(key_of(1), 100)
    await there.make().get(1)
    assert CACHE_KEPT_SECONDS - 100 < await redis.ttl(key_of(1)) <= CACHE_KEPT_SECONDS


@pytest.mark.parametrize("junk", [b"", b"=", b"\x00\xff", b"=" + bytes(8) + b"\xc1", b"=" * 3000])
async def test_what_is_unreadable_in_redis_is_loaded_again_and_replaced(
    here: Node, there: Node, things: Things, redis: Any, junk: bytes
) -> None:
    await redis.set(key_of(1), junk)
    assert await here.make().get(1) == Thing(1, "1 at first")

    async def is_replaced() -> bool:
        return bool(await redis.get(key_of(1)) != junk)

    await until(is_replaced, what="it is replaced", within_seconds=10)
    assert await there.make().get(1) == Thing(1, "1 at first")
    assert things.asked == [1]


async def test_a_key_of_another_type_is_left_alone(here: Node, things: Things, redis: Any) -> None:
    await redis.rpush(key_of(1), "a list")
    cache = here.make()
    assert set(await cache.get_many([1, 2])) == {1, 2}
    await shelved(redis, 2)
    assert await redis.lrange(key_of(1), 0, -1) == [b"a list"]


async def test_a_flush_costs_a_load(here: Node, there: Node, things: Things, redis: Any) -> None:
    await here.make().get(1)
    await shelved(redis, 1)
    await redis.flushall()
    assert await there.make().get(1) == Thing(1, "1 at first")
    assert things.asked == [1, 1]


async def test_memory_holds_so_many_values_and_so_many_bytes(here: Node, things: Things) -> None:
    cache = here.caches.make(
        "small", things.load_many, here.codec(), entries_max=3, bytes_max=1_000_000
    )
    tight = here.caches.make("tight", things.load_many, here.codec(), bytes_max=40)
    for key in (1, 2, 3, 1, 4):
        await cache.get(key)
        await tight.get(key)
    assert [cache.peek(key) is None for key in (1, 2, 3, 4)] == [False, True, False, False]
    assert 1 <= len(tight) <= 3
    await things.write(5, "x" * 100)
    assert await tight.get(5) is not None, "too large to keep, not to give"
    assert tight.peek(5) is None


async def test_a_redis_that_takes_its_time_costs_a_deadline_and_nothing_else(
    servers: PrivateServers, redis: Any, things: Things
) -> None:
    async with slow(servers, 0.2) as url, node(url, things) as patient:
        cache = patient.make()
        found = await asyncio.gather(*(cache.get(key) for key in (1, 2, 3)))
        assert found == [Thing(key, f"{key} at first") for key in (1, 2, 3)]
        assert cache.counts["load"] == 3
        await things.write(1, "1 anew")
        await cache.drop([1])
        assert await cache.get(1) == Thing(1, "1 anew")


async def test_a_dead_redis_leaves_memory_and_postgresql(
    servers: PrivateServers, here: Node, things: Things
) -> None:
    cache = here.make()
    await servers.kill_valkey()
    try:
        assert len(await cache.get_many([1, 2, 3])) == 3
        assert cache.peek(1) is not None
        await things.write(1, "1 anew")
        await cache.drop([1])
        assert await cache.get(1) == Thing(1, "1 anew")
    finally:
        await servers.restart_valkey()


async def test_without_any_redis_there_is_a_cache_still(things: Things) -> None:
    async with node(None, things) as alone:
        cache = alone.make()
        assert await cache.get(1) == await cache.get(1) == Thing(1, "1 at first")
        assert things.asked == [1]


async def test_what_a_caller_puts_is_kept_here_whatever_is_on_its_way(
    here: Node, things: Things
) -> None:
    cache = here.make()
    things.is_open.clear()
    asking = asyncio.create_task(cache.get(1))
    await things.has_read.wait()
    cache.put(1, Thing(1, "just written"))
    things.is_open.set()
    await asking
    assert cache.peek(1) == Thing(1, "just written")


async def test_what_another_database_holds_is_not_believed(
    servers: PrivateServers, here: Node, things: Things, redis: Any
) -> None:
    """A Redis outlives a database, or serves two by mistake."""
    await here.make().get(1)
    await shelved(redis, 1)
    async with node(servers.redis_url, things, b"another") as stranger:
        cache = stranger.make()
        assert await cache.get(1) == Thing(1, "1 at first")
        assert (cache.counts["redis"], cache.counts["load"]) == (0, 1)


async def test_the_scope_is_of_one_database(
    servers: PrivateServers, database: Database, template_url: str
) -> None:
    assert await scope_of(database) == await scope_of(database)
    other = Database(await servers.create_database(template_url))
    await other.open()
    assert await scope_of(other) != await scope_of(database)
    await other.close()
