"""Coordinators in Redis, six keys each, as nodes leave them behind; and some that go on beating."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from redis.asyncio import Redis

from benchmarks.limits import BEAT_EVERY_SECONDS, BEAT_GROUPS, COORDINATOR_KEYS, SWEEP_LIVING
from windlass.fastlane.keys import COORDINATORS, coordinator

NAMES = ("beat", "activity", "signals", "ack:one", "idem:one", "keys")
assert len(NAMES) == COORDINATOR_KEYS
DEAD_FOR_MS = 3_600_000
FILL_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    dead: list[str]
    living: list[str]

    @classmethod
    def of(cls, count: int) -> Crowd:
        # Their ids begin alike, so that nothing but an exact match tells them apart.
        everybody = [f"node_{number}" for number in range(count)]
        apart = count // SWEEP_LIVING
        return cls(
            dead=[one for number, one in enumerate(everybody) if number % apart],
            living=everybody[::apart][:SWEEP_LIVING],
        )


async def fill(redis: Any, crowd: Crowd) -> None:
    now_ms = await _now_ms(redis)
    await _put(redis, crowd.dead, now_ms - DEAD_FOR_MS)
    await _put(redis, crowd.living, now_ms)


@asynccontextmanager
async def beating(url: str, living: list[str]) -> AsyncIterator[None]:
    """Everybody in `living` beats all the while, on a connection of its own.

    A few at a time, as nodes do: all of them at once would be a stall by itself.
    """
    is_over = asyncio.Event()
    groups = [living[start::BEAT_GROUPS] for start in range(BEAT_GROUPS)]

    async def beat() -> None:
        async with Redis.from_url(url) as redis:
            while not is_over.is_set():
                for some in groups:
                    await _beat_once(redis, some)
                    await asyncio.sleep(BEAT_EVERY_SECONDS / BEAT_GROUPS)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        is_over.set()
        await task


async def _beat_once(redis: Any, living: list[str]) -> None:
    now_ms = await _now_ms(redis)
    async with redis.pipeline(transaction=False) as pipeline:
        pipeline.zadd(COORDINATORS, dict.fromkeys(living, now_ms))
        for one in living:
            pipeline.set(coordinator(one, "beat"), _beat(one, now_ms))
        await pipeline.execute()


async def left_of(redis: Any, owners: list[str]) -> int:
    """How many keys there are of these."""
    names = [coordinator(one, name) for one in owners for name in NAMES]
    left = 0
    for start in range(0, len(names), 1000):
        left += await redis.exists(*names[start : start + 1000])
    return left


async def _put(redis: Any, owners: list[str], at_ms: int) -> None:
    for start in range(0, len(owners), FILL_BATCH):
        some = owners[start : start + FILL_BATCH]
        async with redis.pipeline(transaction=False) as pipeline:
            for one in some:
                names = {name: coordinator(one, name) for name in NAMES}
                pipeline.set(names["beat"], _beat(one, at_ms))
                pipeline.set(names["activity"], b"{}")
                pipeline.rpush(names["signals"], b"{}")
                pipeline.hset(names["ack:one"], "", "")
                pipeline.set(names["idem:one"], b"{}")
                pipeline.sadd(names["keys"], *names.values())
            pipeline.zadd(COORDINATORS, dict.fromkeys(some, at_ms))
            await pipeline.execute()


def _beat(owner: str, at_ms: int) -> bytes:
    return msgspec.json.encode({"id": owner, "at_ms": at_ms, "host": "here", "pid": 1})


async def _now_ms(redis: Any) -> int:
    seconds, micros = await redis.time()
    return int(seconds * 1000 + micros // 1000)
