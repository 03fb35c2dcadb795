"""Steps that follow what ended on a node stay there: before the line, and never before what is more
urgent; whoever leaves gives them back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engine.hands import lapse, sql, submit, until_sql, value
from tests.until import until
from windlass.compose import start as compose
from windlass.config import Settings
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.workflows import publish
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.rescue import recover
from windlass.limits import PREFETCH_HOLD_SECONDS
from windlass.model.job.draft import Draft
from windlass.model.workflow.read import trust_definition
from windlass.runtime.worker import worker
from windlass.sdk.tasks.app import App
from windlass.store.database import Database

WAITING = 20
STEPS = ("a", "b", "c")
IS_HELD = "SELECT true FROM windlass.job WHERE step = $1 AND state = 'running'"
IS_QUEUED = "SELECT state = 'queued' AND attempt = 0 FROM windlass.job WHERE step = $1"
HAS_ENDED = "SELECT true FROM windlass.job_history WHERE step = $1 AND state = $2"


class Tasks:
    """One task, which says its name and waits for its turn to end."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self._turns = asyncio.Semaphore(0)
        self._loop = asyncio.get_running_loop()
        self.app = App("turns")

        @self.app.task(name="say")
        async def say(name: str) -> None:
            self.ran.append(name)
            # Tasks have a loop of their own.
            turn = asyncio.run_coroutine_threadsafe(self._turns.acquire(), self._loop)
            await asyncio.wrap_future(turn)

    def end_one(self) -> None:
        self._turns.release()

    def end_all(self) -> None:
        for _ in range(10 * WAITING):
            self._turns.release()

    async def until_runs(self, name: str) -> None:
        async def runs() -> bool:
            return name in self.ran

        await until(runs, what=f"{name} runs")


def job(name: str, **fields: Any) -> Draft:
    return Draft(kind="python", input=f'{{"task":"say","args":["{name}"]}}', **fields)


Starts = Callable[[Tasks], Awaitable[compose.Windlass]]


@pytest.fixture
async def nodes(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Starts]:
    """Starts nodes with one slot, on which steps go first for as long as the test takes: that
    others have their claim once in a while is for test_long_chains.py.
    """
    monkeypatch.setattr(worker, "STEPS_FIRST_SECONDS", 3600.0)
    async with AsyncExitStack() as stack:

        async def start(tasks: Tasks) -> compose.Windlass:
            started = await compose.start(
                Settings(roles=("worker",), workers=1, drain_timeout_seconds=20),
                database_url=database_url,
                redis_url=None,
                serving=None,
                app=tasks.app,
            )
            stack.push_async_callback(started.stop_now)
            return started

        yield start


@asynccontextmanager
async def in_the_middle(
    database: Database, nodes: Starts, *, urgent: bool = False
) -> AsyncIterator[tuple[compose.Windlass, Tasks]]:
    """The first step of a chain has just ended, a job of the same line runs, and others wait."""
    steps = [
        {"id": step, "kind": "python", "input": {"task": "say", "args": [step]}, "needs": needs}
        for step, needs in zip(STEPS, ([], ["a"], ["b"]), strict=True)
    ]
    await publish(database, trust_definition({"name": "chain", "steps": steps}), by=None)
    await start_many(database, [Start(workflow="chain")])
    await submit(database, *(job(str(number)) for number in range(WAITING)))
    tasks = Tasks()
    node = await nodes(tasks)
    try:
        await tasks.until_runs("a")
        if urgent:
            await submit(database, job("urgent", priority=3))
            worker_of(node).note(("default", 3), datetime.now(UTC) - timedelta(seconds=1))
        tasks.end_one()
        await tasks.until_runs("0")
        await until_sql(database, HAS_ENDED, "a", "succeeded")
        yield node, tasks
    finally:
        tasks.end_all()


def worker_of(node: compose.Windlass) -> Any:
    assert node.node._now is not None
    return node.node._now.worker


async def test_a_chain_in_progress_goes_before_what_waits_in_its_line(
    database: Database, nodes: Starts
) -> None:
    async with in_the_middle(database, nodes) as (_, tasks):
        await until_sql(database, IS_HELD, "b")
        queued = "SELECT count(*) FROM windlass.job WHERE state = 'queued'"
        assert await value(database, queued) > WAITING // 2, "it waited for none of them"
        tasks.end_all()
        await until_sql(database, HAS_ENDED, "c", "succeeded")
    assert tasks.ran.index("b") < WAITING // 2


async def test_a_step_that_follows_overtakes_nothing_of_a_higher_priority(
    database: Database, nodes: Starts
) -> None:
    async with in_the_middle(database, nodes, urgent=True) as (_, tasks):
        tasks.end_all()
        await until_sql(database, HAS_ENDED, "c", "succeeded")
    assert tasks.ran.index("urgent") < tasks.ran.index("b")


async def test_a_step_that_has_not_begun_is_handed_back_by_whoever_leaves_and_runs_once(
    database: Database, nodes: Starts
) -> None:
    async with in_the_middle(database, nodes) as (node, tasks):
        await until_sql(database, IS_HELD, "b")
        leaving = asyncio.create_task(node.drain())
        await until_sql(database, IS_QUEUED, "b")
        tasks.end_all()
        assert await leaving == 0
        await nodes(tasks)
        await until_sql(database, HAS_ENDED, "c", "succeeded", seconds=30)
    assert [tasks.ran.count(step) for step in STEPS] == [1, 1, 1]


async def test_a_step_that_waited_for_a_place_too_long_is_handed_back(
    database: Database, nodes: Starts
) -> None:
    async with in_the_middle(database, nodes) as (node, _):
        await until_sql(database, IS_HELD, "b")
        at_work = worker_of(node)
        late = [(since - 2 * PREFETCH_HOLD_SECONDS, attempt) for since, attempt in at_work._buffer]
        at_work._buffer._keep(late)
        at_work.settled([])  # look again
        await until_sql(database, IS_QUEUED, "b")


async def test_a_step_that_has_not_begun_is_cancelled_with_its_execution(
    database: Database, nodes: Starts
) -> None:
    async with in_the_middle(database, nodes) as (node, tasks):
        await until_sql(database, IS_HELD, "b")
        [found] = await sql(database, "SELECT id FROM windlass.job WHERE step = 'b'")
        await cancel(database, [found["id"]])
        assert await worker_of(node).stop_cancelled() == 1
        await until_sql(database, HAS_ENDED, "b", "cancelled")
    assert "b" not in tasks.ran


async def test_a_step_that_a_dead_node_had_not_begun_is_rescued(
    database: Database, nodes: Starts
) -> None:
    async with in_the_middle(database, nodes) as (node, tasks):
        await until_sql(database, IS_HELD, "b")
        node_id = worker_of(node).node_id
        await node.stop_now()
        tasks.end_all()
        assert await value(database, IS_HELD, "b"), "nobody has given it back"
        await lapse(database, node_id)
        await recover(database)
        await nodes(tasks)
        await until_sql(database, HAS_ENDED, "c", "succeeded", seconds=30)
    assert [tasks.ran.count(step) for step in STEPS] == [1, 1, 1]
