"""Coordinators as they lie in Redis, written by hand: living, dead, and strange ones."""

from __future__ import annotations

import json
from typing import Any

NAMES = ("beat", "activity", "signals", "ack:s1", "idem:s1", "keys")
HOUR_MS = 3_600_000
BEATS = "windlass:coord:beats"


def key(owner: str, name: str) -> str:
    return f"windlass:coord:{{{owner}}}:{name}"


async def now_ms(redis: Any) -> int:
    seconds, micros = await redis.time()
    return int(seconds * 1000 + micros // 1000)


async def put(
    redis: Any,
    *owners: str,
    age_ms: int = HOUR_MS,
    is_indexed: bool = True,  # False: as an older version did, without sets of ids and names
    beat: bytes | None = None,  # instead of a true one
) -> None:
    """Six keys each, the last beat `age_ms` ago."""
    at_ms = await now_ms(redis) - age_ms
    for start in range(0, len(owners), 1000):
        some = owners[start : start + 1000]
        for owner in some:
            true = {"id": owner, "at_ms": at_ms, "host": "h", "pid": 1}
            await redis.set(key(owner, "beat"), json.dumps(true) if beat is None else beat)
            await redis.set(key(owner, "activity"), "{}")
            await redis.rpush(key(owner, "signals"), "{}")
            await redis.hset(key(owner, "ack:s1"), "", "")
            await redis.set(key(owner, "idem:s1"), "{}")
            if is_indexed:
                await redis.sadd(key(owner, "keys"), *(key(owner, name) for name in NAMES))
        if is_indexed:
            await redis.zadd(BEATS, dict.fromkeys(some, at_ms))


async def owned(redis: Any, owner: str) -> set[str]:
    """The names of what is left of a coordinator."""
    return {name for name in NAMES if await redis.exists(key(owner, name))}


async def indexed(redis: Any) -> set[str]:
    return {one.decode() for one in await redis.zrange(BEATS, 0, -1)}
