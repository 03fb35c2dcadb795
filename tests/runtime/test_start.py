"""`windlass node` reaches its first job by few imports, and a start that fails leaves nothing."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import threading

import asyncpg
import pytest

from tests.until import until
from windlass.cli.node_process import NODE_FLAGS, UP_FLAGS, plain_flags
from windlass.cli.verbs.node import node
from windlass.cli.verbs.up import up
from windlass.compose import foreground
from windlass.compose import start as compose
from windlass.config import Settings
from windlass.engine.identity import first as keys
from windlass.errors import Unavailable
from windlass.testing.servers import PrivateServers

# Of what a worker is made without, each takes as long to import as a dozen of our own modules.
UNUSED = ("cyclopts", "opentelemetry", "redis", "rich", "starlette", "uvicorn", "yaml")
UNUSED_ROOMS = ("windlass.api.app", "windlass.embedded", "windlass.fastlane.connect")
CONNECTED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'windlass%'
"""
MODULES = (
    "import json, sys; from windlass.cli import launch, node_process\n"
    "with node_process.few_imports(): import windlass.compose.foreground\n"
    "import windlass.compose.start\n"
    "print(json.dumps(sorted(sys.modules)))\n"
    "import rich.console\n"
)


def test_a_worker_is_put_together_without_what_no_job_waits_for() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", MODULES], check=True, capture_output=True, text=True
    )
    imported = set(json.loads(ran.stdout))
    assert imported.isdisjoint({*UNUSED, *UNUSED_ROOMS})


@pytest.mark.parametrize(
    ("typed", "flags"),
    [
        ("node", {}),
        ("node --roles worker --port 80", {"roles": "worker", "port": "80"}),
        (
            "node --app=shop:app --redis-url redis://a?b=c",
            {"app": "shop:app", "redis_url": "redis://a?b=c"},
        ),
        ("node --redis-url=redis://a?b=c", {"redis_url": "redis://a?b=c"}),
        ("node --app a:b --reload --app=c:d", {"app": "a:b,c:d", "reload": "yes"}),
        ("up --port 80 --nodes 2", {"port": "80", "nodes": "2"}),
    ],
)
def test_plain_options_need_no_parser(typed: str, flags: dict[str, str]) -> None:
    assert plain_flags(typed.split()) == flags


@pytest.mark.parametrize(
    "typed",
    [
        "up --nodes none",
        "up --nodes 0",
        "up --roles api",
        "job ls",
        "node --reload --reload",
        "node ls",
        "node --help",
        "node --port",
        "node --port=",
        "node --port --host",
        "node --port 80 --port 81",
        "node --prot 80",
        "node 80",
    ],
)
def test_whatever_is_not_plain_is_left_to_the_parser(typed: str) -> None:
    assert plain_flags(typed.split()) is None


def test_plain_options_are_those_that_the_parser_knows() -> None:
    assert {*NODE_FLAGS.values(), "reload"} == set(inspect.signature(node).parameters)
    assert {*UP_FLAGS.values(), "reload"} == set(inspect.signature(up).parameters)


def lasting_threads() -> set[str]:
    """Without those of the loop's executor, which stay for whoever comes next."""
    return {t.name for t in threading.enumerate() if not t.name.startswith("asyncio_")}


async def nobody_is_connected(database_url: str) -> list[str] | None:
    """Waits for it; returns the states of the nodes there are."""
    eye = await asyncpg.connect(database_url)
    try:
        async with asyncio.timeout(30):
            while True:
                if not await eye.fetchval(CONNECTED):
                    break
                await asyncio.sleep(0.05)
        states: list[str] | None = await eye.fetchval("SELECT array_agg(state) FROM windlass.node")
        return states
    finally:
        await eye.close()


async def test_a_start_that_fails_late_undoes_what_it_has_done(
    servers: PrivateServers, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_database: object) -> None:
        raise Unavailable("no key today")

    monkeypatch.setattr(keys, "ensure_admin_key", refuse)
    tasks, threads = set(asyncio.all_tasks()), lasting_threads()
    listener = foreground.listen("127.0.0.1", 0)
    host, port = listener.getsockname()
    with pytest.raises(Unavailable, match="no key today"):
        await compose.start(
            Settings(workers=1, sign_webhooks="off"),
            database_url=database_url,
            redis_url=servers.redis_of(database_url),
            serving=foreground.open_door(listener, Settings()),
        )
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, port)
    assert await nobody_is_connected(database_url) == ["left"]
    await until(lambda: not lasting_threads() - threads, what="its threads have ended")
    # Those that were cancelled may have last words.
    await until(lambda: not asyncio.all_tasks() - tasks, what="its tasks have ended")


async def test_a_start_that_fails_at_its_app_lets_go_of_the_store(database_url: str) -> None:
    with pytest.raises(Exception, match="no_such_module"):
        await compose.start(
            Settings(app="no_such_module:app", roles=("worker",)),
            database_url=database_url,
            redis_url=None,
            serving=None,
        )
    assert await nobody_is_connected(database_url) is None
