"""Where a peer keeps its keys: a keyspace of the Valkey that nodes use, apart from theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from redis.asyncio import Redis

KEPT: Final = "in memory alone"  # how a Valkey of ours keeps jobs: `appendonly no`, `save ""`
# Where a worker and a submitter find the address: not among flags, which everybody can read.
VARIABLE: Final = "PEER_REDIS_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyspace:
    """An address in parts, for clients that read none of the form `unix://:password@/path?db=1`."""

    path: str
    password: str
    db: int

    @classmethod
    def at(cls, redis_url: str) -> Keyspace:
        parts = urlsplit(redis_url)
        assert parts.scheme == "unix", f"not the address of a socket: {parts.scheme}://"
        [db] = parse_qs(parts.query).get("db", ["0"])
        return cls(path=unquote(parts.path), password=unquote(parts.password or ""), db=int(db))


async def empty(redis_url: str) -> None:
    """A peer begins with nothing."""
    client = Redis.from_url(redis_url)
    try:
        await client.flushdb()
    finally:
        await client.aclose()
