"""What a running task knows and says, wherever it runs: a thread, the loop, a process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

import windlass
from tests.model.job.attempts import attempt
from tests.strategies.listener import Listener
from windlass.limits import LOG_FIELDS_BYTES_MAX, LOG_LINE_CHARS_MAX, LOG_LINES_MAX
from windlass.model.job import outcome as ends
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.strategies.python.apps import load_tasks
from windlass.strategies.python.python import Python
from windlass.strategies.python.task import Task

CHATTY = "tests.strategies.python.chatty:app"
EVERYWHERE = ("in_thread", "on_loop", "apart", "apart_on_loop")


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
async def python(listener: Listener) -> AsyncIterator[Python]:
    strategy = Python(load_tasks(CHATTY), CHATTY, listener)
    yield strategy
    await strategy.close()


async def perform(strategy: Python, task: str, *args: Any) -> Outcome:
    given = json.dumps({"task": task, "args": list(args)})
    async with asyncio.timeout(20):
        return await strategy.perform(attempt(kind="python", input=given, number=3))


async def outcome_of(function: Any, listener: Listener | None = None) -> Outcome:
    strategy = Python({"it": Task(name="it", function=function)}, None, listener)
    try:
        return await perform(strategy, "it")
    finally:
        await strategy.close()


@pytest.mark.parametrize("task", EVERYWHERE)
async def test_a_task_knows_its_job(python: Python, task: str) -> None:
    outcome = await perform(python, task, "facts")
    assert isinstance(outcome, Succeeded)
    assert outcome.result is not None
    assert json.loads(outcome.result) == {
        "id": f"job_{UUID(int=1).hex}",
        "attempt": 3,
        "task": task,
        "queue": "mail",
    }


@pytest.mark.parametrize("task", EVERYWHERE)
async def test_a_task_says_how_far_it_is(python: Python, listener: Listener, task: str) -> None:
    assert await perform(python, task, "talk") == Succeeded()
    said = [(line.place, line.level, line.message, line.fields) for line in listener.lines]
    assert said == [(0, "info", "begun", '{"size":3}'), (1, "warning", "odd", None)]
    assert [(p.done, p.total, p.message) for p in listener.progress] == [(1.0, 2.0, "half")]
    assert listener.waits == 1


async def test_a_task_that_says_nothing_waits_for_nothing(
    python: Python, listener: Listener
) -> None:
    await perform(python, "in_thread", "facts")
    assert listener.waits == 0


@pytest.mark.parametrize("task", EVERYWHERE)
async def test_a_task_says_what_is_to_become_of_its_job(python: Python, task: str) -> None:
    later = await perform(python, task, "leave", "later")
    assert isinstance(later, Failed)
    assert (later.cause, later.retry_after_seconds, later.is_exact) == ("RetryAfter", 600.0, True)
    assert (later.message, later.is_final) == ("the shop is closed", False)
    never = await perform(python, task, "leave", "never")
    assert isinstance(never, Failed)
    assert (never.cause, never.message, never.is_final) == ("dropped", "no such customer", True)
    assert await perform(python, task, "leave", "stop") == ends.Cancelled()


async def test_a_duration_that_is_none_is_the_tasks_own_mistake() -> None:
    def wait_for_ever() -> None:
        raise windlass.RetryAfter("for ever")

    outcome = await outcome_of(wait_for_ever)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.retry_after_seconds) == ("ValueError", None)


async def test_arguments_of_a_wrong_type_are_not_worth_another_try(python: Python) -> None:
    for task in EVERYWHERE:
        outcome = await perform(python, task, 7)
        assert isinstance(outcome, Failed)
        assert (outcome.cause, outcome.is_final) == ("invalid_arguments", True)
        assert "'what'" in outcome.message


async def test_everything_that_a_task_calls_knows_its_job(python: Python) -> None:
    mine = f"job_{UUID(int=1).hex}"
    outcome = await perform(python, "below")
    assert isinstance(outcome, Succeeded)
    assert json.loads(outcome.result or b"") == [mine, mine]


async def test_where_no_job_runs_nobody_is_asked(python: Python) -> None:
    with pytest.raises(windlass.NotInTask, match="nothing runs here"):
        windlass.current()
    outcome = await perform(python, "bare")
    assert isinstance(outcome, Succeeded)
    assert b"nothing runs here" in (outcome.result or b"")


async def test_a_thread_forgets_the_job_that_it_ran() -> None:
    kept: list[windlass.Current] = []
    strategy = Python(
        {
            "keep": Task(name="keep", function=lambda: kept.append(windlass.current())),
            "look": Task(name="look", function=lambda: windlass.current().task),
        },
        None,
    )
    await perform(strategy, "keep")
    assert await perform(strategy, "look") == Succeeded(b'"look"')
    await strategy.close()
    assert kept[0].cancelled, "it has ended, and whatever it left behind is to stop"
    with pytest.raises(windlass.Cancelled):
        kept[0].heartbeat()
    with pytest.raises(windlass.Cancelled):
        kept[0].db.execute("SELECT 1")


async def test_an_attempt_keeps_so_many_lines_and_says_that_it_keeps_no_more(
    python: Python, listener: Listener
) -> None:
    await perform(python, "count", LOG_LINES_MAX + 10)
    assert len(listener.lines) == LOG_LINES_MAX
    assert listener.lines[-2].message == f"line {LOG_LINES_MAX - 2}"
    assert listener.lines[-1].level == "warning"
    assert "left out" in listener.lines[-1].message


async def test_whatever_is_said_can_be_stored(listener: Listener) -> None:
    def babble() -> None:
        job = windlass.current()
        job.log("a\x00b" + "c" * LOG_LINE_CHARS_MAX)
        job.log("large", text="x" * LOG_FIELDS_BYTES_MAX)
        job.log("odd", thing=object, never=float("nan"))

    assert await outcome_of(babble, listener) == Succeeded()
    long, large, odd = listener.lines
    assert len(long.message) == LOG_LINE_CHARS_MAX
    assert long.message.startswith("a\ufffdb")
    assert "left_out" in (large.fields or "")
    assert json.loads(odd.fields or "") == {"thing": "<class 'object'>", "never": "nan"}


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (lambda job: job.log("x", "loud"), "level 'loud' is unknown"),
        (lambda job: job.progress(float("nan")), "done must be a number"),
        (lambda job: job.progress(1, float("inf")), "total must be a number"),
    ],
)
async def test_what_nobody_could_read_later_is_refused_at_once(say: Any, why: str) -> None:
    outcome = await outcome_of(lambda: say(windlass.current()))
    assert isinstance(outcome, Failed)
    assert why in outcome.message


@pytest.mark.parametrize("task", EVERYWHERE)
async def test_where_there_is_no_transaction_to_write_in_it_says_so(
    python: Python, task: str
) -> None:
    outcome = await perform(python, task, "db", "SELECT 1")
    assert isinstance(outcome, Failed)
    assert outcome.cause == "NotOffered"
    assert "isolate='process'" in outcome.message or "no database here" in outcome.message


async def test_a_task_that_is_to_stop_can_see_it() -> None:
    begun, seen = threading.Event(), threading.Event()

    def look() -> None:
        job = windlass.current()
        job.heartbeat()
        begun.set()
        try:
            while True:
                job.heartbeat()
        except BaseException:
            if job.cancelled:
                seen.set()
            raise

    strategy = Python({"it": Task(name="it", function=look)}, None)
    performing = asyncio.create_task(perform(strategy, "it"))
    assert await asyncio.to_thread(begun.wait, 10)
    performing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await performing
    assert await asyncio.to_thread(seen.wait, 10)
    await strategy.close()
