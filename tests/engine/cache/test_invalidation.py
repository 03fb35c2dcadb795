"""After an invalidation nobody gets what was read before it, whoever was slow meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.engine.cache.cached import NAME, Node, Thing, Things, node
from tests.engine.cache.test_cache import here, key_of, redis, shelved, there, things
from tests.until import until
from windlass.fastlane import lane
from windlass.fastlane.keys import CACHE_EPOCH
from windlass.testing.servers import PrivateServers

__all__ = ["here", "redis", "there", "things"]


async def test_what_one_node_drops_the_other_reads_again_soon(
    here: Node, there: Node, things: Things
) -> None:
    cache, other = here.make(), there.make()
    await cache.get_many([1, 2])
    await other.get_many([1, 2])
    await things.write(1, "1 anew")
    await cache.drop([1])

    async def is_told() -> bool:
        return other.peek(1) is None

    await until(is_told, what="the other node has heard", within_seconds=10)
    assert await other.get(1) == Thing(1, "1 anew")
    assert await cache.get(1) == Thing(1, "1 anew")
    assert other.peek(2) == Thing(2, "2 at first")


async def test_a_load_that_began_before_is_given_to_those_who_asked_before_only(
    here: Node, there: Node, things: Things, redis: Any
) -> None:
    cache, other = here.make(), there.make()
    things.is_open.clear()
    early = asyncio.create_task(cache.get(1))
    await things.has_read.wait()
    await things.write(1, "1 anew")
    await here.caches.invalidate([f"{NAME}:1"])
    things.is_open.set()
    assert await cache.get(1) == Thing(1, "1 anew"), "its load is not joined"
    assert (await early) == Thing(1, "1 at first")
    assert cache.peek(1) == Thing(1, "1 anew"), "nor kept"
    assert await other.get(1) == Thing(1, "1 anew"), "nor found in Redis"


async def test_a_slow_load_elsewhere_leaves_nothing_old_in_redis(
    here: Node, there: Node, things: Things, redis: Any
) -> None:
    """The other node was not told; the mark in Redis alone keeps its older value out."""
    cache, other = here.make(), there.make()
    things.is_open.clear()
    slow = asyncio.create_task(other.get(1))
    await things.has_read.wait()
    await things.write(1, "1 anew")
    await cache.invalidate(["1"])
    things.is_open.set()
    assert await slow == Thing(1, "1 at first")
    for task in list(other._tasks):
        await task
    assert await cache.get(1) == Thing(1, "1 anew")
    await until_value(redis, 1)
    other.forget(["1"])
    assert await other.get(1) == Thing(1, "1 anew")
    assert other.counts["redis"] == 1


async def until_value(redis: Any, key: int) -> None:
    async def is_there() -> bool:
        return ((await redis.get(key_of(key))) or b"").startswith(b"=")

    await until(is_there, what="a value lies in Redis")


async def test_all_of_a_cache_is_invalidated_with_one_write(
    here: Node, there: Node, things: Things, redis: Any
) -> None:
    cache, other = here.make(), there.make()
    await cache.get_many([1, 2, 3])
    await shelved(redis, 1, 2, 3)
    for key in (1, 2, 3):
        await things.write(key, "anew")
    assert await here.caches.invalidate([NAME]) == 3
    assert await redis.ttl(CACHE_EPOCH % NAME) > 0
    for each in (cache, other):
        assert set((await each.get_many([1, 2, 3])).values()) == {
            Thing(k, "anew") for k in (1, 2, 3)
        }
    await until_value(redis, 1)
    other.forget_all()
    await other.get(1)
    assert other.counts["redis"] >= 1, "what was loaded since is believed"


async def test_names_that_nobody_knows_are_nobodys_business(here: Node) -> None:
    cache = here.make()
    await cache.get(1)
    assert await here.caches.invalidate(["other", "other:1", "", ":", f"{NAME}:7"]) == 0
    assert len(cache) == 1
    assert await here.caches.invalidate([f"{NAME}:1", NAME]) == 1


async def test_an_invalidation_without_redis_is_made_good_before_redis_is_believed(
    servers: PrivateServers,
    here: Node,
    things: Things,
    redis: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What lies in Redis was older already when this node could not say so."""
    monkeypatch.setattr(lane, "BREAK_SECONDS", 12.0)  # what is old is there before the node is
    cache = here.make()
    await cache.get(1)
    await shelved(redis, 1)
    old = await redis.get(key_of(1))
    await servers.kill_valkey()
    try:
        await things.write(1, "1 anew")
        assert await here.caches.invalidate([f"{NAME}:1"]) == 1
        assert await cache.get(1) == Thing(1, "1 anew")
    finally:
        await servers.restart_valkey()
    await redis.set(key_of(1), old)  # as if it had kept it
    await here.came_up()
    cache.forget(["1"])
    assert await cache.get(1) == Thing(1, "1 anew")


async def test_what_a_node_could_not_say_it_says_when_redis_is_back(
    servers: PrivateServers, here: Node, redis: Any
) -> None:
    """Others, and nodes that start later, would believe what Redis has kept."""
    cache = here.make()
    await cache.get(1)
    await servers.kill_valkey()
    try:
        await here.caches.invalidate([f"{NAME}:1"])
    finally:
        await servers.restart_valkey()

    async def is_marked() -> bool:
        return ((await redis.get(key_of(1))) or b"").startswith(b"!")

    await until(is_marked, what="the mark is left without anybody asking")


async def test_what_may_have_changed_is_read_again_when_redis_is_heard_again(
    servers: PrivateServers, here: Node, things: Things
) -> None:
    cache = here.make(believed_seconds=3600)
    never = here.caches.make("never", things.load_many, here.codec(), believed_seconds=None)
    await cache.get(1)
    await never.get(1)
    await servers.kill_valkey()
    await servers.restart_valkey()

    async def is_empty() -> bool:
        return cache.peek(1) is None

    await until(is_empty, what="hints may have been lost")
    assert never.peek(1) is not None, "it cannot change"


async def test_without_redis_a_value_is_believed_for_a_while_only(things: Things) -> None:
    async with node(None, things) as alone:
        cache = alone.make(believed_seconds=0.05)
        await cache.get(1)
        await things.write(1, "1 anew")

        async def is_new() -> bool:
            return await cache.get(1) == Thing(1, "1 anew")

        await until(is_new, what="the old value is not believed any more")
