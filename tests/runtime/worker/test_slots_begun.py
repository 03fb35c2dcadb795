"""Slots whose attempts are done elsewhere: each ends once and leaves its slot, however it ends."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.model.job.attempts import attempt
from windlass import current
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed, Outcome, Succeeded, TimedOut
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.slots import Slots
from windlass.strategies.python.python import Python
from windlass.strategies.python.services import NoTaskServices
from windlass.strategies.python.task import Task


class SlowDesk(NoTaskServices):
    """Its notes are written when somebody lets it."""

    def __init__(self) -> None:
        self.is_writing, self.may_write = asyncio.Event(), asyncio.Event()

    async def written(self) -> None:
        self.is_writing.set()
        await self.may_write.wait()


class Stage:
    """Slots with the tasks `quick`, `quick_async`, `stuck`, `stuck_async` and `says`."""

    def __init__(self, count: int) -> None:
        self.let_go = threading.Event()
        self.began = asyncio.Semaphore(0)
        self.desk = SlowDesk()
        self.ends: list[Outcome] = []
        self._loop = asyncio.get_running_loop()
        tasks: list[Callable[..., Any]] = [
            *(self.quick, self.quick_async, self.stuck, self.stuck_async, self.says)
        ]
        named = {task.__name__: Task(name=task.__name__, function=task) for task in tasks}
        self.python = Python(named, None, self.desk)
        kinds = Kinds(
            instant={},
            slotted={"python": self.python},
            timeout_seconds={},
            default_timeout_seconds=60,
        )
        self.slots = Slots(kinds, count, lambda _, outcome, __: self.ends.append(outcome))

    def quick(self) -> int:
        return 1

    async def quick_async(self) -> int:
        return 2

    def stuck(self) -> None:
        self._loop.call_soon_threadsafe(self.began.release)
        while not self.let_go.wait(0.005):
            pass

    async def stuck_async(self) -> None:
        self._loop.call_soon_threadsafe(self.began.release)
        await asyncio.sleep(60)

    def says(self) -> int:
        current().log("done")
        return 3

    def begin(self, task: str, **fields: Any) -> Attempt:
        return self.begin_with(json.dumps({"task": task}), **fields)

    def begin_with(self, text: str, **fields: Any) -> Attempt:
        one = attempt(job_id=uuid4(), kind="python", input=text, **fields)
        self.slots.begin(one)
        return one

    @property
    def names(self) -> list[str]:
        return [outcome.name for outcome in self.ends]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    made = Stage(count=4)
    yield made
    made.let_go.set()
    made.slots.abandon()
    await made.slots.empty(5)
    await made.python.close()


async def test_what_ends_by_itself_is_told_with_its_result(stage: Stage) -> None:
    stage.begin("quick")
    stage.begin("quick_async")
    assert stage.slots.busy == 2
    assert await stage.slots.empty(10) == 0
    results = {outcome.result for outcome in stage.ends if isinstance(outcome, Succeeded)}
    assert (len(stage.ends), results) == (2, {b"1", b"2"})


@pytest.mark.parametrize("task", ["stuck", "stuck_async"])
@pytest.mark.parametrize("has_begun", [False, True])
async def test_a_cancelled_attempt_ends_once(stage: Stage, task: str, has_begun: bool) -> None:
    one = stage.begin(task)
    if has_begun:
        async with asyncio.timeout(10):
            await stage.began.acquire()
    stage.slots.cancel(one.job_id)
    stage.slots.cancel(one.job_id)
    assert await stage.slots.empty(0) == 0
    stage.let_go.set()
    stage.begin("quick")  # what the stopped one still has to say would come before this
    await stage.slots.empty(10)
    assert stage.names == ["cancelled", "succeeded"]


@pytest.mark.parametrize("task", ["stuck", "stuck_async"])
async def test_an_attempt_out_of_time_is_stopped(stage: Stage, task: str) -> None:
    stage.begin(task, timeout_ms=50)
    assert await stage.slots.empty(10) == 0
    assert stage.ends == [TimedOut(0.05)]


async def test_what_is_handed_back_is_snoozed_and_the_oldest_stays(stage: Stage) -> None:
    oldest = stage.begin("stuck")
    stage.begin("stuck_async")
    stage.begin("stuck")
    assert stage.slots.hand_back(keep=1) == 2
    assert stage.slots.job_ids == {oldest.job_id}
    assert stage.names == ["snoozed", "snoozed"]


async def test_what_is_abandoned_is_not_told_at_all(stage: Stage) -> None:
    stage.begin("stuck")
    stage.begin("stuck_async")
    stage.slots.abandon()
    assert (stage.slots.busy, stage.ends) == (0, [])


async def test_one_that_has_ended_keeps_its_end_whoever_stops_it_before_its_notes_are_written(
    stage: Stage,
) -> None:
    one = stage.begin("says", timeout_ms=8_000)
    async with asyncio.timeout(30):
        await stage.desk.is_writing.wait()
        stage.slots.cancel(one.job_id)
        await asyncio.sleep(8.1)  # its time is up, too
    assert (stage.slots.busy, stage.ends) == (1, [])
    stage.desk.may_write.set()
    await stage.slots.empty(10)
    assert stage.ends == [Succeeded(b"3")]


async def test_an_input_that_cannot_be_begun_is_performed_and_says_what_is_wrong(
    stage: Stage,
) -> None:
    for text in ('{"task":"nowhere"}', '{"task":"quick","arg":[1]}', "[]", "nonsense"):
        stage.begin_with(text)
        await stage.slots.empty(10)
    assert stage.names == ["snoozed", "failed", "failed", "failed"]
    problems = [outcome.message for outcome in stage.ends if isinstance(outcome, Failed)]
    assert problems[:2] == [
        "/input/arg: unknown field; known are task args kwargs",
        "/input: must be an object",
    ]


async def test_an_input_only_lenient_readers_understand_is_still_that_of_its_task(
    stage: Stage,
) -> None:
    stage.begin_with('{"task":"quick","kwargs":{},"args":[]}\t ')
    stage.begin_with('{"task":"quick","args":[NaN]}')
    await stage.slots.empty(10)
    assert sorted(stage.names) == ["failed", "succeeded"]  # `quick` takes no argument


async def test_nothing_of_an_attempt_waits_for_the_collector(stage: Stage) -> None:
    gc.collect()
    gc.disable()
    # What an earlier test left behind may be let go of only now, and is none of this one's.
    earlier = gc.get_objects()
    try:
        for _ in range(50):
            stage.begin("quick")
            stage.begin("quick_async")
            await stage.slots.empty(10)
        await asyncio.sleep(0.05)  # the list of deadlines is looked through
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [one for one in gc.garbage if type(one).__module__.startswith("windlass")]
    finally:
        del earlier
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []
