"""The client that waits: from threads, inside a running loop, after a fork."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from uuid import uuid4

import pytest

from tests.cli.peer import Peer, Says
from tests.sdk.conftest import Server
from windlass.errors import NotFound
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.client import Client
from windlass.sdk.http.portal import run
from windlass.sdk.nouns.noun import Noun

FORKING = """
import os, sys
from windlass.sdk.http.client import Client
client = Client()
mine = client.jobs.submit("noop")["id"]
child = os.fork()
if child == 0:
    for _ in range(3):
        print(client.jobs.submit("noop")["id"], flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(client.jobs.wait(mine, 30)["id"])
"""


def test_everything_that_the_asynchronous_one_has(client: Client) -> None:
    def public(thing: object) -> set[str]:
        return {name for name in dir(thing) if not name.startswith("_")} - {"inner", "path"}

    theirs = {name: noun for name, noun in vars(client.inner).items() if isinstance(noun, Noun)}
    for name, noun in theirs.items():
        ours = getattr(client, name)
        assert public(ours) == public(noun), name
        assert ours.inner is noun
    assert public(client) == public(client.inner) - {"transport"}
    assert inspect.signature(client.jobs.get).parameters.keys() >= {"job_id", "at"}
    assert client.jobs.get.__doc__ == AsyncClient("http://x").jobs.get.__doc__


def test_a_job_is_submitted_and_waited_for(client: Client) -> None:
    made = client.jobs.submit(kind="python", input={"task": "add", "args": [2, 3]})
    assert client.jobs.wait(made["id"], 30)["result"] == 5
    with pytest.raises(NotFound):
        client.jobs.get("job_" + "0" * 32)
    assert client.request("GET", f"/v1/jobs/{made['id']}")["state"] == "succeeded"


def test_lists_turn_their_pages(client: Client) -> None:
    correlation = uuid4().hex
    made = client.jobs.submit_many(
        [{"kind": "noop", "correlation_id": correlation} for _ in range(450)]
    )
    listed = [job["id"] for job in client.jobs.list(correlation_id=correlation)]
    assert listed == [job["id"] for job in reversed(made)]
    assert len(client.jobs.list(correlation_id=correlation, limit=7).all()) == 7


async def test_it_works_inside_a_running_loop(client: Client) -> None:
    assert client.jobs.wait(client.jobs.submit("noop")["id"], 30)["state"] == "succeeded"


def test_many_threads_share_one(client: Client) -> None:
    begin = threading.Barrier(8)

    def work(_: int) -> str:
        begin.wait()
        return str(client.jobs.wait(client.jobs.submit("noop")["id"], 30)["state"])

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == ["succeeded"] * 8


def test_a_forked_child_has_connections_of_its_own(server: Server) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKING],
        env={**os.environ, "WINDLASS_URL": server.url, "WINDLASS_TOKEN": server.token},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(set(done.stdout.split())) == 4


def test_the_callers_context_goes_with_a_call(peer: Peer) -> None:
    trace: ContextVar[str] = ContextVar("trace", default="none")
    peer.answer(Says(json={}))
    with Client(peer.url, headers=lambda: {"traceparent": trace.get()}) as client:
        trace.set("mine")
        client.system.stats()
    assert peer.calls[0].headers["traceparent"] == "mine"


def test_a_blocking_call_on_the_portals_own_loop_is_refused() -> None:
    async def inner() -> None:
        """Never begun."""

    async def outer() -> None:
        run(inner())

    with pytest.raises(RuntimeError, match="await instead"):
        run(outer())


def test_a_program_of_one_line_ends_without_a_word(peer: Peer) -> None:
    """Its client is forgotten while the process ends."""
    peer.answer(Says(json={"id": "job_1"}))
    program = f"import windlass; print(windlass.Client({peer.url!r}).jobs.submit('noop')['id'])"
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert (done.stdout, done.stderr) == ("job_1\n", "")
