"""PostgreSQL is there and lets a node in no more: a rotated password, an edited pg_hba.conf."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import asyncpg
import pytest

from tests.faults.job_objects import task
from tests.faults.nodes import MORTAL, NodeProcess
from tests.faults.real_cluster import Cluster, open_cluster
from tests.ports import free_port
from tests.until import until
from windlass.testing.servers import PrivateServers

PASSWORD = "of-the-node"


class Account:
    """A login of PostgreSQL that a node has for itself."""

    def __init__(self, name: str, database_url: str, connection: asyncpg.Connection) -> None:
        self.name = name
        self._connection = connection
        parts = urlsplit(database_url)
        host = parts.netloc.rpartition("@")[2]
        self.url = urlunsplit(parts._replace(netloc=f"{name}:{PASSWORD}@{host}"))

    async def refuse(self) -> None:
        """From now on, whoever comes; and those who are in are thrown out."""
        await self._connection.execute(f"ALTER ROLE {self.name} NOLOGIN")
        await self._connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", self.name
        )

    async def let_in(self) -> None:
        await self._connection.execute(f"ALTER ROLE {self.name} LOGIN")


@pytest.fixture
async def account(servers: PrivateServers, database_url: str) -> AsyncIterator[Account]:
    connection = await asyncpg.connect(servers.admin_url(database_url))
    name = f"node_of_{urlsplit(database_url).path.strip('/')}"
    await connection.execute(f"CREATE ROLE {name} SUPERUSER LOGIN PASSWORD '{PASSWORD}'")
    made = Account(name, database_url, connection)
    try:
        yield made
    finally:
        await made.refuse()
        await connection.execute(f"DROP ROLE {name}")
        await connection.close()


async def test_a_node_whose_logins_were_refused_for_longer_than_a_lease_comes_back(
    servers: PrivateServers, database_url: str, account: Account, tmp_path: Path
) -> None:
    redis_url = servers.redis_of(database_url)
    async with (
        open_cluster(database_url, redis_url, tmp_path) as cluster,
        aiohttp.ClientSession() as session,
    ):
        node = await _start(cluster, account, **MORTAL)

        async def ready() -> tuple[int, list[str]]:
            async with session.get(f"{node.url}/health/ready") as answer:
                return answer.status, (await answer.json())["down"]

        async def degraded() -> list[str]:
            async with session.get(f"{node.url}/health") as answer:
                found: list[str] = (await answer.json())["degraded"]
                return found

        async def is_known() -> bool:
            return await ready() == (503, ["registration"])

        async def is_well() -> bool:
            return await ready() == (200, []) and not await degraded()

        async def has_tried() -> bool:
            said = [line["event"] for line in _lines(node)]
            return said.count("node_waits_for_database") >= 3

        await until(is_well, what="it is well")
        [before] = await cluster.fetch("SELECT id FROM windlass.node WHERE pid = $1", node.pid)
        await account.refuse()
        await until(is_known, what="it knows that it is no node any more")
        assert {"database", "registration"} <= set(await degraded())
        await until(has_tried, what="it tries on")

        await account.let_in()
        await until(is_well, what="it is well again")
        [reborn] = await cluster.fetch(
            "SELECT id FROM windlass.node WHERE pid = $1 AND id <> $2 AND state = 'active'",
            node.pid,
            before["id"],
        )
        jobs = await cluster.submit([task("note", f"n{n}") for n in range(4)])
        await cluster.until_ended()
        assert {row["node_id"] for row in (await cluster.rows(jobs)).values()} == {reborn["id"]}
        assert node.is_alive


async def test_no_loop_spins_while_postgresql_is_away(
    servers: PrivateServers, database_url: str, account: Account, tmp_path: Path
) -> None:
    async with (
        open_cluster(database_url, servers.redis_of(database_url), tmp_path) as cluster,
        aiohttp.ClientSession() as session,
    ):
        node = await _start(cluster, account, WINDLASS_LEASE_SECONDS="120")
        # There is always one whose end is near: the loop that sees to that has something to do.
        for seconds in range(1, 41):
            url = f"{node.url}/v1/locks/lock-{seconds}"
            async with session.post(url, json={"ttl": seconds}) as answer:
                assert answer.status == 201, await answer.text()
        heard = len(_lines(node))
        await account.refuse()

        def waits() -> dict[str, list[datetime]]:
            found: dict[str, list[datetime]] = defaultdict(list)
            for said in _lines(node)[heard:]:
                if said["event"] == "loop_waits":
                    found[said["loop"]].append(datetime.fromisoformat(said["timestamp"]))
            return found

        async def has_waited() -> bool:
            return len(waits()["locks"]) >= 5

        await until(has_waited, what="it has looked for locks again and again")
        for loop, instants in waits().items():
            # 0.1, 0.2, 0.4, 0.8 … seconds at the least, whoever wakes it.
            pairs = enumerate(itertools.pairwise(instants))
            assert all((b - a).total_seconds() > 0.09 * 2 ** min(n, 5) for n, (a, b) in pairs), loop


async def _start(cluster: Cluster, account: Account, **settings: str) -> NodeProcess:
    return await cluster.nodes.start(
        account.url,
        cluster.redis_url,
        roles="api,worker,leader",
        settings={
            "WINDLASS_AUTH": "off",
            "WINDLASS_PORT": str(free_port()),
            "WINDLASS_LOG_FORMAT": "json",
            "WINDLASS_LOG_LEVEL": "debug",
            **settings,
        },
    )


def _lines(node: NodeProcess) -> list[dict[str, Any]]:
    """What the node has said; every line is an object, whoever of it or its libraries speaks."""
    whole, _, _ = node.log.rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]
