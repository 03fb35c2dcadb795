"""deploy/haproxy.cfg before three nodes: any node answers any request, and one may die."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from tests.faults.real_cluster import Cluster
from tests.ports import free_ports
from tests.until import until
from windlass.engine.identity.first import reset_admin_key

CONFIG = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"
# Debian keeps it where a normal user's PATH does not look.
PROGRAM = shutil.which("haproxy", path=os.pathsep.join((os.environ["PATH"], "/usr/sbin")))
SURE = 60  # requests in a row


@asynccontextmanager
async def haproxy(*options: str, **addresses: str) -> AsyncIterator[asyncio.subprocess.Process]:
    assert PROGRAM is not None, "install haproxy: requirements/setup.sh says how"
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *options,
        "-f",
        str(CONFIG),
        env={**os.environ, **addresses},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def test_the_configuration_is_accepted_without_a_warning() -> None:
    async with haproxy("-c") as checking:
        said, _ = await checking.communicate()
        assert checking.returncode == 0, said.decode()
        assert b"WARNING" not in said


async def test_nodes_that_trust_it_know_who_calls(cluster: Cluster) -> None:
    [front] = free_ports(1)
    node = await cluster.nodes.start(
        cluster.database.url,
        cluster.redis_url,
        roles="api",
        settings={
            "WINDLASS_PORT": str(free_ports(1)[0]),
            "WINDLASS_TRUSTED_PROXIES": "127.0.0.1",
            "WINDLASS_SECRET_KEY": "0f" * 32,
        },
    )
    key = await reset_admin_key(cluster.database)
    admin = {"Authorization": f"Bearer {key}"}
    ann = {"name": "ann", "role": "viewer", "password": "correct horse battery"}
    url = f"http://127.0.0.1:{front}"
    there = dict.fromkeys((f"WINDLASS_NODE_{n}" for n in (1, 2, 3)), node.url.partition("//")[2])
    # Another address of this machine, so that the caller's is not the proxy's.
    elsewhere = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
    async with (
        haproxy("-db", WINDLASS_BIND=f"127.0.0.1:{front}", **there),
        aiohttp.ClientSession(connector=elsewhere) as client,
    ):

        async def is_up() -> bool:
            try:
                async with client.get(f"{url}/health") as answer:
                    return answer.status == 200
            except aiohttp.ClientError:
                return False

        await until(is_up, what="it answers")
        async with client.post(f"{url}/v1/users", json=ann, headers=admin) as answer:
            assert answer.status == 201, await answer.text()
        claims = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
        login = {"user": "ann", "password": ann["password"]}
        async with client.post(f"{url}/v1/session", json=login, headers=claims) as answer:
            assert answer.status == 201, await answer.text()
            assert "Strict-Transport-Security" not in answer.headers
        async with client.get(f"{url}/v1/sessions", headers=admin) as answer:
            [session] = (await answer.json())["data"]
            assert session["address"] == "127.0.0.2"


async def test_any_node_answers_any_request_and_one_may_die(cluster: Cluster) -> None:
    front, *ports = free_ports(4)
    nodes = [
        await cluster.nodes.start(
            cluster.database.url,
            cluster.redis_url,
            roles="api,worker",
            settings={"WINDLASS_PORT": str(port), "WINDLASS_AUTH": "off"},
        )
        for port in ports
    ]
    named = {f"WINDLASS_NODE_{n}": f"127.0.0.1:{port}" for n, port in enumerate(ports, 1)}
    url = f"http://127.0.0.1:{front}"
    async with (
        haproxy("-db", WINDLASS_BIND=f"127.0.0.1:{front}", **named),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as client,
    ):

        async def answers() -> tuple[int, str | None]:
            try:
                async with client.get(f"{url}/health") as answer:
                    return answer.status, (await answer.json()).get("node_id")
            except (aiohttp.ClientError, ValueError):
                return 0, None

        async def all_three_answer() -> bool:
            return (
                len({node_id for _, node_id in [await answers() for _ in range(9)]} - {None}) == 3
            )

        await until(all_three_answer, what="each of the three answers")
        async with client.post(f"{url}/v1/jobs", json={"kind": "noop"}) as answer:
            assert answer.status == 201
            job_id = (await answer.json())["id"]
        for _ in range(9):
            async with client.get(f"{url}/v1/jobs/{job_id}?wait=5s") as answer:
                assert (await answer.json())["id"] == job_id

        await nodes[0].kill()

        async def only_the_living_are_asked() -> bool:
            return {status for status, _ in [await answers() for _ in range(SURE)]} == {200}

        await until(only_the_living_are_asked, what=f"{SURE} answers in a row")
