"""Marks of executions, on one server and on a Cluster, where each shard has its own slot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from redis.asyncio import Redis

from windlass import ids
from windlass.embedded.valkey import EmbeddedValkey
from windlass.fastlane.keys import REFRESH_INFLIGHT, REFRESH_MARKS
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.fastlane.marks import Claim, Marks
from windlass.limits import REFRESH_CLAIM_MAX, REFRESH_KEPT_SECONDS
from windlass.model.workflow.refresh import SHARDS, shard_of

ONE = UUID(int=7)
SHARD = shard_of(ONE)
MARKS, INFLIGHT = REFRESH_MARKS % SHARD, REFRESH_INFLIGHT % SHARD


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
async def marks(server: EmbeddedValkey, cluster: EmbeddedValkey) -> AsyncIterator[Marks]:
    url = server.url()
    lane = FastLane(url.replace("redis://", "redis+cluster://") if server is cluster else url)
    up = asyncio.Event()
    lane.on_change(lambda _: up.set())
    await lane.open()
    await asyncio.wait_for(up.wait(), 10)
    yield Marks(lane)
    await lane.close()


async def claim(marks: Marks, *, is_back: bool = False, hold_seconds: float = 60.0) -> Claim:
    [claimed] = await marks.claim({SHARD: REFRESH_CLAIM_MAX}, hold_seconds, is_back=is_back)
    return claimed


def named(claimed: Claim) -> set[UUID | None]:
    return set(claimed.marks.values())


async def test_marks_lie_in_their_shards_and_everything_has_a_lifetime(
    marks: Marks, redis: Any
) -> None:
    wanted = ids.uuid7_many(500)
    left = await marks.leave(wanted, is_urgent=False)
    assert sum(left.values()) == 500
    assert [one for one, _ in await marks.sizes()] == [left.get(n, 0) for n in range(SHARDS)]
    claims = await marks.claim(dict.fromkeys(left, 100), 60.0, is_back=False)
    assert {one for claimed in claims for one in claimed.marks.values()} == set(wanted)
    assert sum(under_way for _, under_way in await marks.sizes()) == 500
    await marks.leave(wanted, is_urgent=False)
    for shard in left:
        for key in (REFRESH_MARKS % shard, REFRESH_INFLIGHT % shard):
            assert 0 < await redis.ttl(key) <= REFRESH_KEPT_SECONDS


async def test_a_claim_is_given_once_and_gone_when_it_is_acknowledged(
    marks: Marks, redis: Any
) -> None:
    await marks.leave([ONE], is_urgent=True)
    first = await claim(marks)
    assert (named(first), first.urgent, first.overdue) == ({ONE}, {ONE}, 0)
    assert not (await claim(marks)).marks
    assert not (await claim(marks, is_back=True)).marks
    await marks.acknowledge({SHARD: list(first.marks)})
    assert (await redis.exists(MARKS), await redis.exists(INFLIGHT)) == (0, 0)


async def test_what_is_not_acknowledged_comes_back_by_itself(marks: Marks) -> None:
    await marks.leave([ONE], is_urgent=False)
    await claim(marks, hold_seconds=5.0)
    waits = await claim(marks, is_back=True, hold_seconds=8.0)
    assert not waits.marks
    assert waits.next_seconds is not None
    assert 0 < waits.next_seconds <= 5.0
    await asyncio.sleep(waits.next_seconds + 0.05)
    back = await claim(marks, is_back=True)
    assert (named(back), back.overdue, back.next_seconds) == ({ONE}, 1, None)


async def test_a_mark_that_is_left_during_a_refresh_is_another_one(marks: Marks) -> None:
    await marks.leave([ONE], is_urgent=False)
    first = await claim(marks)
    await marks.leave([ONE], is_urgent=False)
    await marks.acknowledge({SHARD: list(first.marks)})
    assert named(await claim(marks)) == {ONE}


async def test_one_call_takes_thousands_and_no_more_than_it_may(marks: Marks, redis: Any) -> None:
    every = [b"exe_%032x" % (SHARDS * n + SHARD) for n in range(REFRESH_CLAIM_MAX + 1)]
    await redis.sadd(MARKS, *every)
    first = await claim(marks)
    assert len(first.marks) == REFRESH_CLAIM_MAX
    await marks.acknowledge({SHARD: list(first.marks)})
    assert len((await claim(marks)).marks) == 1


async def test_what_names_no_execution_is_told_apart(marks: Marks, redis: Any) -> None:
    bad = [b"", b"exe_", b"exe_12", b"\xff\xfe", b"x" * 100_000, b"exe_" + b"g" * 32]
    plain = [b"exe_" + ONE.hex.encode(), str(UUID(int=7 + SHARDS)).encode()]
    await redis.sadd(MARKS, *bad, *plain)
    found = await claim(marks)
    assert (named(found), found.malformed) == ({None, ONE, UUID(int=7 + SHARDS)}, len(bad))
    await marks.acknowledge({SHARD: list(found.marks)})
    assert await redis.exists(INFLIGHT) == 0


async def test_keys_that_hold_something_else_are_removed_and_counted(
    marks: Marks, redis: Any
) -> None:
    await redis.set(MARKS, "a text")
    assert await marks.leave([ONE], is_urgent=True) == {}, "nobody may think that it was left"
    assert (await claim(marks)).malformed == 1
    await redis.set(INFLIGHT, "a text")
    assert await marks.leave([ONE], is_urgent=True) == {SHARD: 1}
    found = await claim(marks)
    assert (named(found), found.malformed) == ({ONE}, 1)
    assert await redis.zcard(INFLIGHT) == 1


async def test_who_has_a_shard_hears_of_marks_there(marks: Marks) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    marks.on_poke(heard.put_nowait)
    marks.poke({3: 12, 60: 1})
    assert await asyncio.wait_for(heard.get(), 10) == {3: 12, 60: 1}


async def test_without_redis_nothing_is_left_and_nothing_claimed() -> None:
    marks = Marks(FastLane(None))
    assert not marks.is_up
    for call in (marks.leave([ONE], is_urgent=True), claim(marks), marks.sizes()):
        with pytest.raises(LaneDown):
            await call
