"""Durable functions that sleep and wait for signals: no slot is held, and nothing is missed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

import windlass
from tests.sdk.durable.durable_node import DurableNode, durable_node
from tests.until import until
from windlass import App
from windlass.engine.jobs.why import explain
from windlass.sdk.tasks.execution_handle import ExecutionHandle
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers

HOUR = 3600.0


@pytest.fixture(scope="module")
async def database_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture(scope="module")
async def node(servers: PrivateServers, database_url: str) -> AsyncIterator[DurableNode]:
    async with durable_node(App("rests"), database_url, servers.redis_of(database_url)) as started:
        yield started


async def resting(node: DurableNode, handle: ExecutionHandle[Any]) -> None:
    await until(partial(node.is_resting, handle), what="it rests in the queue")


async def test_a_short_sleep_keeps_its_slot_and_is_slept_once(node: DurableNode) -> None:
    @node.app.durable
    async def naps() -> str:
        await windlass.sleep("50ms")
        return "awake"

    await node.deploy()
    handle = await naps.astart()
    assert await handle.aresult(20) == "awake"
    assert (await node.job_of(handle))["attempt"] == 1


async def test_a_long_sleep_is_over_in_time_although_the_node_was_restarted(
    servers: PrivateServers, template_url: str
) -> None:
    database_url = await servers.create_database(template_url)
    woken: list[str] = []

    async def act(what: str) -> str:
        woken.append(what)
        return what

    app = App("restarted")

    @app.durable(retry=1)
    async def sleeper() -> str:
        await windlass.step(act, "before", name="before")
        try:
            await windlass.sleep("3d")
        finally:
            await windlass.step(act, "after", name="after")
        return "rested"

    async with durable_node(app, database_url, servers.redis_of(database_url)) as node:
        handle = await sleeper.astart()
        await resting(node, handle)
        assert woken == ["before"]
        assert [name for *_, name in await node.checkpoints(handle)] == ["before", "sleep"]
    database = Database(database_url, application="windlass test")
    await database.open()
    gone = DurableNode(app=app, database=database, tasks={})
    await gone.let_time_pass(handle, 3 * 24 * HOUR)
    await database.close()
    async with durable_node(app, database_url, servers.redis_of(database_url)) as node:
        assert await handle.aresult(20) == "rested"
        assert woken == ["before", "after"]
        job = await node.job_of(handle)
        assert (job["attempt"], job["snoozes"]) == (2, 1)


async def test_a_signal_that_came_early_is_kept_for_it(node: DurableNode) -> None:
    go_on = threading.Event()

    def hold() -> None:
        go_on.wait(20)

    @node.app.durable
    async def early() -> dict[str, int]:
        await windlass.step(hold)
        paid: dict[str, int] = await windlass.wait_for("paid")
        return paid

    await node.deploy()
    handle = await early.astart()
    await handle.asignal("paid", {"amount": 9})
    go_on.set()
    assert await handle.aresult(20) == {"amount": 9}
    assert (await node.job_of(handle))["attempt"] == 1


async def test_a_signal_wakes_it_at_once_and_no_other_signal_does(node: DurableNode) -> None:
    @node.app.durable
    async def late() -> list[Any]:
        return [await windlass.wait_for("paid"), await windlass.wait_for("paid", timeout="2d")]

    await node.deploy()
    handle = await late.astart()
    await resting(node, handle)
    job = await node.job_of(handle)
    why = await explain(node.database, job["id"])
    assert why.summary == "it waits for the signal 'paid'"
    rests_until = job["run_at"]
    await handle.asignal("shipped")
    assert (await node.job_of(handle))["run_at"] == rests_until
    await handle.asignal("paid", 1)
    await until(partial(_has_heard, node, handle, 1), what="it took the first signal")
    await resting(node, handle)
    await handle.asignal("paid", 2)
    assert await handle.aresult(20) == [1, 2]
    job = await node.job_of(handle)
    assert job["attempt"] - job["snoozes"] == 1


async def test_a_signal_after_its_time_changes_nothing(node: DurableNode) -> None:
    @node.app.durable
    async def gives_up() -> str:
        try:
            await windlass.wait_for("paid", timeout=HOUR)
        except TimeoutError:
            pass
        else:
            return "paid"
        await windlass.sleep(HOUR)
        return "too late"

    await node.deploy()
    handle = await gives_up.astart()
    await resting(node, handle)
    await node.let_time_pass(handle, HOUR)
    await until(partial(_has_slept, node, handle), what="it has given up")
    await handle.asignal("paid")
    await node.let_time_pass(handle, HOUR)
    assert await handle.aresult(20) == "too late"


async def test_it_rests_only_when_nothing_else_is_left_to_do(node: DurableNode) -> None:
    done: list[int] = []

    async def act(number: int) -> int:
        await asyncio.sleep(0.01)
        done.append(number)
        return number

    async def busy() -> int:
        return sum([await windlass.step(act, number) for number in range(5)])

    @node.app.durable
    async def both() -> int:
        _, total = await asyncio.gather(windlass.sleep(HOUR), busy())
        return total

    await node.deploy()
    handle = await both.astart()
    await resting(node, handle)
    assert done == [0, 1, 2, 3, 4]
    await node.let_time_pass(handle, HOUR)
    assert await handle.aresult(20) == 10
    assert done == [0, 1, 2, 3, 4]


async def test_one_that_rests_is_cancelled_like_any_execution(node: DurableNode) -> None:
    @node.app.durable
    async def endless() -> None:
        await windlass.wait_for("never")

    await node.deploy()
    handle = await endless.astart()
    await resting(node, handle)
    await handle.acancel()
    await until(partial(_is, handle, "cancelled"), what="it is cancelled")
    assert (await node.job_of(handle))["state"] == "cancelled"


async def _is(handle: ExecutionHandle[Any], state: str) -> bool:
    return await handle.astate() == state


async def _has_heard(node: DurableNode, handle: ExecutionHandle[Any], count: int) -> bool:
    job_id = (await node.job_of(handle))["id"]
    rows = await node.rows("SELECT FROM windlass.execution_signal WHERE taken_by = $1", job_id)
    return len(rows) == count


async def _has_slept(node: DurableNode, handle: ExecutionHandle[Any]) -> bool:
    names = [name for *_, name in await node.checkpoints(handle)]
    return "sleep" in names and await node.is_resting(handle)
