"""How long Redis keeps others waiting: a process that does nothing but PING, and its longest wait.

It waits for a processor too, now and then. What that makes is seen in a run beside it in which
Redis has nothing else to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Final, TypeVar

from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from benchmarks import child
from benchmarks.limits import CHILD_SECONDS_MAX, PING_EVERY_SECONDS

STARTED: Final = "bench:pinging"
OVER: Final = "bench:over"
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    pings: int
    longest_ms: float


async def pinged(url: str, work: Callable[[], Awaitable[Answer]]) -> tuple[Answer, Waits]:
    """Do `work` while somebody pings; what it gave, and how long the pings took."""
    async with AsyncRedis.from_url(url) as redis:
        await redis.delete(STARTED, OVER)
        pinging = asyncio.create_task(
            child.call(child.python("benchmarks.traffic.pinger"), Request(url=url), Waits)
        )
        async with asyncio.timeout(CHILD_SECONDS_MAX):
            while not await redis.exists(STARTED):  # noqa: ASYNC110 (a fact of another process)
                await asyncio.sleep(0.01)
        try:
            answer = await work()
        finally:
            await redis.set(OVER, 1)
            waits = await pinging
            await redis.delete(STARTED, OVER)
    return answer, waits


async def ping_until_over(request: Request) -> Waits:
    return await asyncio.to_thread(_ping, request.url)


def _ping(url: str) -> Waits:
    redis = Redis.from_url(url)
    redis.set(STARTED, 1)
    pings, longest = 0, 0.0
    until = perf_counter() + CHILD_SECONDS_MAX
    while perf_counter() < until:
        began = perf_counter()
        redis.ping()
        longest = max(longest, perf_counter() - began)
        pings += 1
        if pings % 100 == 0 and redis.exists(OVER):
            break
        sleep(PING_EVERY_SECONDS)
    redis.close()
    return Waits(pings=pings, longest_ms=longest * 1000)


if __name__ == "__main__":
    child.answer(Request, ping_until_over)
