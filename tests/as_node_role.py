"""Run any tests as they are, with the least rights: `pytest --as-node-role tests/engine tests/api`.

What is ours (every `Database`, every node) logs in at PostgreSQL as a role that `windlass migrate
role` gave its rights, and at Redis as the user of deploy/redis/windlass.acl; what a test does with
its own hands it does as the owner, as before.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from windlass.fastlane.lane import FastLane
from windlass.store.database import Database
from windlass.store.roles import give_rights
from windlass.testing.servers import PrivateServers

ROLE, PASSWORD = "test_node", "of-a-node"
ACL: Final = Path(__file__).parents[1] / "deploy" / "redis" / "windlass.acl"
REDIS_USER: Final = "windlass"
_WORDS: Final = f"{ROLE}:{PASSWORD}"
is_on = False
_known: set[str] = set()  # the servers that have the role


def node_url(url: str) -> str:
    """The same database, for a node."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{_WORDS}@{host}"))


def _server_of(url: str) -> str:
    """By its socket."""
    parts = urlsplit(url)
    return parts.query if url.startswith("postgres") else parts.path


def _is_known(url: str) -> bool:
    return _server_of(url) in _known


def redis_url(url: str) -> str:
    """The same keys, for a node."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{REDIS_USER}:{PASSWORD}@{host}"))


def valkey_settings() -> dict[str, str]:
    """A server that knows the user of the example."""
    [line] = ACL.read_text().splitlines()
    return {"user": line.removeprefix("user ").replace(">CHANGE-ME", f">{PASSWORD}")}


def whose(url: str) -> str:
    """What our own code is given."""
    if not is_on:
        return url
    if url.startswith("postgres"):
        return node_url(url) if _is_known(url) else url
    return redis_url(url) if _is_known(url) else url


@asynccontextmanager
async def by_hand(database: Database, **transaction: Any) -> AsyncIterator[Any]:
    """A connection for what a test does itself; with options of a transaction, in one."""
    if not is_on:
        async with database.side(**transaction) as connection:
            yield connection
        return
    own = await asyncpg.connect(database.url)
    try:
        async with own.transaction() if transaction else nullcontext():
            yield own
    finally:
        await own.close()


async def make_role(servers: PrivateServers, url: str, name: str = ROLE) -> None:
    """In the database of this URL, and in all that are copied from it."""
    _known.update(map(_server_of, (url, servers.redis_url)))
    connection = await asyncpg.connect(servers.admin_url(url))
    try:
        await connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        if connection.get_server_version().major >= 15:  # tests do not wait for a deadlock
            await connection.execute(f"GRANT SET ON PARAMETER deadlock_timeout TO {name}")
        if is_on:
            # By hand a test looks whether somebody waits, and cuts him off.
            await connection.execute("GRANT pg_read_all_stats, pg_signal_backend TO windlass")
    finally:
        await connection.close()
    await give_rights(url, name, "node")


def turn_on(config: pytest.Config) -> None:
    global is_on
    is_on = bool(config.getoption("--as-node-role"))
    if is_on:
        plain = Database.__init__

        @functools.wraps(plain)
        def as_node(self: Database, url: str, **options: Any) -> None:
            plain(self, whose(url), **options)
            self.url = url  # what it says of itself is given to others, who do the same

        Database.__init__ = as_node  # type: ignore[method-assign]
        begin = FastLane.__init__

        @functools.wraps(begin)
        def as_user(self: FastLane, url: str | None) -> None:
            begin(self, None if url is None else whose(url))

        FastLane.__init__ = as_user  # type: ignore[method-assign]
