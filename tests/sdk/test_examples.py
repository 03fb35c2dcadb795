"""Every program of examples/ does what it says: on a node with its App, run as its users run it."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from tests.faults.nodes import ROOT, Nodes
from tests.ports import free_port
from tests.sdk.conftest import admin_key
from tests.until import until
from windlass.testing.servers import PrivateServers

RUN_SECONDS_MAX: Final = 60.0
# What each of them prints, line by line, with `…` for what differs from run to run.
SAID: Final = {
    "first_job": """
        called:   hello you
        enqueued: job_…
        result:   hello, hello world
        later:    queued - …
        and now:  cancelled
    """,
    "signed_webhook": """
        received: {"order":42,"paid":true} signed=True answered=503
        received: {"order":42,"paid":true} signed=True answered=204
        ended:    succeeded after 2 attempts
    """,
    "fan_out": """
        jobs:      1000
        first ten: 10 have ended
        added up:  503500
        workflow:  5350
    """,
    "human_approval": """
        asked:    250 for a chair?
        outcome:  {'paid': 'paid 250 from AB123', 'refused': None}
        asked:    250 for a yacht?
        outcome:  {'paid': None, 'refused': 'no a yacht'}
    """,
    "saga": """
        booked:   {'flight': 'flight for the coast', 'hotel': 'hotel for the coast', 'car': 'car …
        failed:   …there is no car on the island…
        undone:   hotel for the island
        undone:   flight for the island
    """,
    "durable_function": """
        started: exe_…
        charged: charge of 900 to 4242
        charged: charge of 900 to 4242
    """,
    "nightly": """
        schedule: clean_up - …
        schedule: digest - …
        next:     …
        next:     …
        next:     …
        now:      sent 3 digests
    """,
    "transactional_enqueue": """
        rolled back: no job 1
        committed:   order 2 is packed
        orders:      [(2, 'packed')]
    """,
    "from_celery": """
        delay:  ada@example.org
        chain:  sent to ada@example.org
        chord:  3
        stayed: celery
    """,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A database of its own, and a key to it."""

    database_url: str
    redis_url: str
    token: str
    nodes: Nodes

    async def environment(self, app: str | None) -> dict[str, str]:
        """What the program finds; with an App, on a node that has it."""
        found = {
            **os.environ,
            "WINDLASS_TOKEN": self.token,
            "DATABASE_URL": self.database_url,
            "PYTHONUNBUFFERED": "1",
        }
        if app is not None:
            settings = {
                "WINDLASS_PORT": str(free_port()),
                "WINDLASS_EGRESS_ALLOW": "127.0.0.0/8",
                "WINDLASS_SECRET_KEY": base64.b64encode(bytes(range(32))).decode(),
            }
            roles = "api,worker,leader"
            node = await self.nodes.start(
                self.database_url, self.redis_url, roles=roles, app=app, settings=settings
            )
            found["WINDLASS_URL"] = node.url
        return found


@pytest.fixture
async def installation(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> AsyncIterator[Installation]:
    async with Nodes(tmp_path, witness_path=tmp_path / "witness") as nodes:
        yield Installation(
            database_url=database_url,
            redis_url=servers.redis_of(database_url),
            token=await admin_key(database_url),
            nodes=nodes,
        )


def test_every_program_is_run_here() -> None:
    programs = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert programs - {"shop", "fastapi_app"} == set(SAID)


@pytest.mark.parametrize("name", SAID)
async def test_it_says_what_it_should(name: str, installation: Installation) -> None:
    attribute = "moved" if name == "from_celery" else "app"
    app = None if name == "signed_webhook" else f"examples.{name}:{attribute}"
    environment = await installation.environment(app or "examples.shop:app")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"examples.{name}"),
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(RUN_SECONDS_MAX):
        said, trouble = await process.communicate()
    assert trouble.decode() == "", trouble.decode()
    assert process.returncode == 0
    wanted = [line.strip() for line in SAID[name].strip().splitlines()]
    found = said.decode().splitlines()
    assert len(found) == len(wanted), said.decode()
    for one, pattern in zip(found, wanted, strict=True):
        assert is_like(one, pattern), f"{one!r} is not like {pattern!r}"


def is_like(text: str, pattern: str) -> bool:
    parts = pattern.split("…")
    if not (text.startswith(parts[0]) and text.endswith(parts[-1])):
        return False
    return all(part in text for part in parts)


async def test_a_web_application_runs_its_own_node(installation: Installation) -> None:
    port = free_port()
    environment = await installation.environment(None)
    environment["WINDLASS_DATABASE_URL"] = installation.database_url
    environment["WINDLASS_REDIS_URL"] = installation.redis_url
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "uvicorn", "examples.fastapi_app:api", "--port", str(port)),
        cwd=ROOT,
        env=environment,
        stderr=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        async with aiohttp.ClientSession() as session:

            async def is_up() -> bool:
                try:
                    async with session.get(f"{url}/docs") as answer:
                        return answer.status == 200
                except aiohttp.ClientError:
                    return False

            await until(is_up, what="the web application answers")
            async with session.post(f"{url}/thumbnails?picture=cat.png") as answer:
                assert answer.status == 202
                job = (await answer.json())["job"]
            async with session.get(f"{url}/thumbnails/{job}") as answer:
                told = await answer.json()
            assert (told["state"], told["picture"]) == ("succeeded", "cat-64.png")
            assert told["progress"]["message"] == "written"
            async with session.get(f"{url}/thumbnails/job_{'0' * 32}") as answer:
                assert answer.status == 404
            headers = {"Authorization": f"Bearer {installation.token}"}
            async with session.get(f"{url}/windlass/v1/jobs/{job}", headers=headers) as answer:
                assert (await answer.json())["id"] == job
    finally:
        process.terminate()
        async with asyncio.timeout(RUN_SECONDS_MAX):
            assert await process.wait() in (0, -15)
