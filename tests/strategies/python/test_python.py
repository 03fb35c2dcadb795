"""Python tasks: what they return and raise becomes an outcome, wherever they run."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.model.job.attempts import attempt
from windlass.limits import RESULT_BYTES_MAX, UNKNOWN_TASK_RESTS_MAX
from windlass.model.job.outcome import Crashed, Failed, Outcome, Snoozed, Succeeded
from windlass.runtime.worker.task_services import NodeTaskServices
from windlass.store.database import Database
from windlass.strategies.python.python import Python
from windlass.strategies.python.task import Task


async def perform(strategy: Python, task: str, *args: Any, **kwargs: Any) -> Outcome:
    given = {"task": task, "args": list(args), "kwargs": kwargs}
    async with asyncio.timeout(20):
        return await strategy.perform(attempt(kind="python", input=json.dumps(given)))


def of(function: Any) -> Python:
    """A strategy that knows one task, `it`."""
    return Python({"it": Task(name="it", function=function)}, None)


async def outcome_of(function: Any) -> Outcome:
    strategy = of(function)
    try:
        return await perform(strategy, "it")
    finally:
        await strategy.close()


async def test_tasks_of_every_sort_give_their_results(python: Python) -> None:
    assert await perform(python, "add", 1, b=2) == Succeeded(b"3")
    assert await perform(python, "mail.send", to="a@b.c") == Succeeded(b'{"sent":"a@b.c"}')
    assert await perform(python, "apart", {"x": 1}) == Succeeded(b'{"x":1}')


async def test_an_async_function_in_disguise_is_awaited_all_the_same(python: Python) -> None:
    assert await perform(python, "in_disguise", "me") == Succeeded(b'"me"')


def knowing(database: Database) -> Python:
    tasks = {name: Task(name=name, function=len) for name in ("add", "apart")}
    return Python(tasks, None, NodeTaskServices(database))


NOTE_RESTS = """
INSERT INTO windlass.attempt (job_id, attempt, started_at, ended_at, outcome, detail)
SELECT $1, n, now(), now(), 'snoozed', $4 FROM generate_series($2::int, $3::int) n
"""


async def note_rests(database: Database, job_id: UUID, first: int, last: int, detail: str) -> None:
    async with database.side(readonly=False) as connection:
        await connection.execute(NOTE_RESTS, job_id, first, last, detail)


async def test_a_task_that_is_not_known_here_is_left_for_who_may_know_it(
    database: Database,
) -> None:
    python, rests, job_id = knowing(database), [], uuid4()
    noted = 0
    for number in (1, 2, 3, 12, UNKNOWN_TASK_RESTS_MAX):
        await note_rests(database, job_id, noted + 1, number - 1, '{"unknown_task": "none"}')
        noted = number - 1
        one = attempt(
            kind="python", input='{"task":"nowhere"}', job_id=job_id, number=number, snoozes=noted
        )
        outcome = await python.perform(one)
        assert isinstance(outcome, Snoozed)
        rests.append(outcome.rest_seconds)
        assert one.detail is not None
        assert "this node has no task 'nowhere'; it has: add, apart" in one.detail["unknown_task"]
    assert rests == [1, 1.5, 2.25, 60, 60]
    await python.close()


async def test_a_task_that_nobody_knew_for_an_hour_has_failed(database: Database) -> None:
    python, job_id, number = knowing(database), uuid4(), 171
    await note_rests(database, job_id, 101, 170, '{"unknown_task": "none"}')
    one = attempt(kind="python", input='{"task":"nowhere"}', job_id=job_id, number=number)
    outcome = await python.perform(one)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("unknown_task", False)
    assert "it has: add, apart" in outcome.message
    await python.close()


async def test_rests_of_its_own_do_not_count_where_its_task_is_not_known(
    database: Database,
) -> None:
    python, job_id = knowing(database), uuid4()
    # It did not know it for a long time, then rested by itself, then was not known twice.
    await note_rests(database, job_id, 1, 60, '{"unknown_task": "none"}')
    await note_rests(database, job_id, 61, 197, "{}")
    await note_rests(database, job_id, 198, 199, '{"unknown_task": "none"}')
    one = attempt(kind="python", input='{"task":"nowhere"}', job_id=job_id, number=200, snoozes=199)
    assert await python.perform(one) == Snoozed(2.25)
    await python.close()


async def test_wrong_arguments_are_a_failure_with_a_reason(python: Python) -> None:
    for task in ("add", "mail.send", "apart"):
        outcome = await perform(python, task, 1, 2, 3, 4)
        assert isinstance(outcome, Failed)
        assert (outcome.cause, outcome.is_final) == ("invalid_arguments", True)
        assert "4 were given" in outcome.message


@pytest.mark.parametrize("text", ["{}", '{"task": 5}', '{"task": "add", "args": 5}', '{"x": 1}'])
async def test_input_that_did_not_pass_the_door_is_refused_for_good(
    python: Python, text: str
) -> None:
    outcome = await python.perform(attempt(kind="python", input=text))
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("invalid_input", True)


async def test_the_death_of_a_process_is_a_crash(python: Python) -> None:
    assert isinstance(await perform(python, "vanish", 1), Crashed)


async def test_a_raised_exception_is_told_with_its_traceback() -> None:
    def deep(level: int = 50) -> None:
        if level == 0:
            raise LookupError("at the bottom")
        deep(level - 1)

    async def later() -> None:
        await asyncio.sleep(0)
        deep()

    for function in (deep, later):
        outcome = await outcome_of(function)
        assert isinstance(outcome, Failed)
        assert (outcome.cause, outcome.message) == ("LookupError", "at the bottom")
        assert "raise LookupError" in outcome.detail["traceback"]
        assert len(outcome.detail["traceback"]) <= 8_192


class Sulks(Exception):
    def __str__(self) -> str:
        raise ValueError("I will not say")


class Shy:
    def __str__(self) -> str:
        raise ValueError("no text")


async def test_an_exception_without_words_is_still_a_failure() -> None:
    def sulk() -> None:
        raise Sulks

    outcome = await outcome_of(sulk)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.message) == ("Sulks", "a Sulks that cannot say what it is")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (0, b"0"),
        ("", b'""'),
        ({"a": (1, 2)}, b'{"a":[1,2]}'),
        ("\x00", '"\ufffd"'.encode()),
        ("\ud800", b'"?"'),
        ({1, 2}.__class__(), b"[]"),
        (object, b"\"<class 'object'>\""),
    ],
)
async def test_whatever_a_task_returns_is_made_fit_to_be_stored(
    value: Any, shown: bytes | None
) -> None:
    assert await outcome_of(lambda: value) == Succeeded(shown)


async def test_a_result_that_has_no_text_is_not_worth_doing_the_work_again() -> None:
    outcome = await outcome_of(lambda: [Shy()])
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("result_unusable", True)


async def test_a_result_is_measured_in_bytes() -> None:
    fits = "é" * (RESULT_BYTES_MAX // 2 - 1)
    assert isinstance(await outcome_of(lambda: fits), Succeeded)
    outcome = await outcome_of(lambda: fits + "x")
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("result_too_large", True)


async def test_turning_a_result_into_text_holds_up_nobody_else() -> None:
    """The user's own code may be asked for it, and it may take its time."""
    release = threading.Event()

    class Slow:
        def __str__(self) -> str:
            release.wait(10)
            return "at last"

    class Loud(Exception):
        def __str__(self) -> str:
            release.wait(10)
            return "at last"

    def give() -> Any:
        return [Slow()]

    async def fail() -> None:
        raise Loud

    strategies = [of(give), of(fail)]
    calls = [asyncio.create_task(perform(strategy, "it")) for strategy in strategies]
    await asyncio.sleep(0.05)
    assert not any(call.done() for call in calls), "this line is reached: the loop is free"
    release.set()
    given, raised = await asyncio.gather(*calls)
    assert given == Succeeded(b'["at last"]')
    assert isinstance(raised, Failed)
    for strategy in strategies:
        await strategy.close()


async def test_a_result_that_holds_itself_is_cut_off() -> None:
    knot: list[Any] = []
    knot += [knot] * 8
    outcome = await outcome_of(lambda: knot)
    assert isinstance(outcome, Succeeded)
    assert json.loads(outcome.result or b"") == ["…"] * 8
