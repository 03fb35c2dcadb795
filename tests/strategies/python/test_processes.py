"""Isolated tasks: whatever they do to their process, the node hears what became of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.model.job.attempts import attempt
from tests.until import until
from windlass.limits import RESULT_BYTES_MAX
from windlass.model.job.outcome import Failed, Snoozed, Succeeded
from windlass.strategies.python.processes import ProcessDied, Processes
from windlass.strategies.python.running import RunningTask
from windlass.strategies.python.services import NoTaskServices

ERRANDS = "tests.strategies.python.errands:app"


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    made = Processes(ERRANDS)
    yield made
    await made.close()


def running(name: str) -> RunningTask:
    return RunningTask(attempt(kind="python"), name, NoTaskServices())


async def call(processes: Processes, name: str, *args: Any) -> Any:
    async with asyncio.timeout(20):
        return await processes.call(running(name), list(args), {})


async def test_values_cross_the_pipe_and_come_back(processes: Processes) -> None:
    deep: Any = "bottom"
    for _ in range(50):
        deep = [deep]
    for value in ({"a": [1, 2.5, "é\n\u2028", None, True]}, "x" * 100_000, 2**80, deep):
        outcome = await call(processes, "apart", value)
        assert isinstance(outcome, Succeeded)
        assert await call(processes, "apart_async", value) == outcome
    assert await call(processes, "apart", None) == Succeeded()


async def test_a_process_is_used_again_by_one_task_at_a_time(processes: Processes) -> None:
    first = await call(processes, "pid")
    assert await call(processes, "pid") == first
    both = await asyncio.gather(call(processes, "pid"), call(processes, "pid"))
    assert both[0] != both[1]


async def test_an_exception_is_an_answer_and_the_process_goes_on(processes: Processes) -> None:
    pid = await call(processes, "pid")
    outcome = await call(processes, "complain", "no \x00 \ud800 way")
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("ValueError", False)
    assert "way" in outcome.message
    assert "complain" in outcome.detail["traceback"]
    assert await call(processes, "pid") == pid


async def test_sys_exit_ends_the_task_not_the_process(processes: Processes) -> None:
    pid = await call(processes, "pid")
    outcome = await call(processes, "leave", 3)
    assert isinstance(outcome, Failed)
    assert outcome.message == "the task raised SystemExit: 3"
    assert await call(processes, "pid") == pid


async def test_whatever_a_task_raises_is_a_failure_and_no_crash(processes: Processes) -> None:
    pid = await call(processes, "pid")
    outcome = await call(processes, "give_up", "too late")
    assert isinstance(outcome, Failed)
    assert outcome.message == "the task raised GaveUp: too late"
    assert await call(processes, "pid") == pid


@pytest.mark.parametrize(("name", "args", "code"), [("vanish", [7], "7"), ("segfault", [], "-11")])
async def test_the_death_of_a_process_is_told_and_the_next_task_gets_another(
    processes: Processes, name: str, args: list[int], code: str
) -> None:
    with pytest.raises(ProcessDied, match=f"died with exit code {code}"):
        await call(processes, name, *args)
    assert await call(processes, "apart", 1) == Succeeded(b"1")


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_an_idle_process_that_dies_is_not_blamed_on_the_next_task(
    processes: Processes,
) -> None:
    pid = int((await call(processes, "pid")).result)
    psutil.Process(pid).kill()
    [idle] = processes._idle
    assert idle.stdout is not None
    await until(idle.stdout.at_eof, what="the loop has heard of it")
    assert await call(processes, "apart", 1) == Succeeded(b"1")


async def test_a_task_that_runs_out_of_time_is_killed_with_all_it_has_started(
    processes: Processes, tmp_path: Path
) -> None:
    note = tmp_path / "pids"
    task = asyncio.create_task(processes.call(running("sleep_with_a_child"), [str(note)], {}))
    await until(lambda: note.exists() and " " in note.read_text(), within_seconds=20)
    parent, child = (int(word) for word in note.read_text().split())
    assert not is_gone(parent)
    assert not is_gone(child)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(parent)
    await until(lambda: is_gone(child), within_seconds=20)  # it is for others to reap


async def test_what_a_task_prints_and_reads_is_no_part_of_the_conversation(
    processes: Processes,
) -> None:
    outcome = await call(processes, "chatter")
    assert outcome == Succeeded(b"\"heard ''\"")
    assert await call(processes, "apart", 2) == Succeeded(b"2")


async def test_a_result_may_be_as_large_as_the_limit_and_no_larger(processes: Processes) -> None:
    largest = RESULT_BYTES_MAX // 2 - 1  # each character has two bytes
    outcome = await call(processes, "large", largest)
    assert isinstance(outcome, Succeeded)
    assert len(outcome.result or b"") == RESULT_BYTES_MAX
    for size in (largest + 1, 10 * RESULT_BYTES_MAX):
        outcome = await call(processes, "large", size)
        assert isinstance(outcome, Failed)
        assert (outcome.cause, outcome.is_final) == ("result_too_large", True)


async def test_a_line_that_could_not_be_longer_is_taken(processes: Processes) -> None:
    worst = '"\\' * (RESULT_BYTES_MAX // 5)  # every character is escaped twice on its way
    outcome = await call(processes, "apart", worst)
    assert isinstance(outcome, Succeeded)


async def test_closing_ends_the_idle_processes() -> None:
    processes = Processes(ERRANDS)
    outcomes = await asyncio.gather(call(processes, "pid"), call(processes, "pid"))
    await processes.close()
    assert not any(psutil.pid_exists(int(outcome.result)) for outcome in outcomes)


async def test_idle_processes_beyond_the_new_size_go(processes: Processes) -> None:
    pids = await asyncio.gather(*(call(processes, "pid") for _ in range(3)))
    processes.keep(1)
    left = [int(outcome.result) for outcome in pids]
    await until(lambda: sum(psutil.pid_exists(pid) for pid in left) <= 1, within_seconds=10)
    again = await call(processes, "pid")
    assert int(again.result) in left


async def test_a_process_whose_node_is_gone_begins_nothing(tmp_path: Path) -> None:
    """It was killed between starting the process and being its parent in the kernel's eyes."""
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    written = tmp_path / "written"
    facts = msgspec.to_builtins(running("write_to").facts)
    question = {"task": "write_to", "args": [str(written)], "kwargs": {}, "facts": facts}
    orphan = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "windlass.strategies.python.process_worker",
        ERRANDS,
        str(gone.pid),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        said, _ = await orphan.communicate(json.dumps(question).encode() + b"\n")
    assert (said, orphan.returncode) == (b"", 1)
    assert not written.exists()


async def test_a_task_is_not_begun_when_the_lease_was_lost_while_its_process_started(
    processes: Processes,
) -> None:
    class Untrusted(NoTaskServices):
        def may_begin(self) -> bool:
            return False

    late = RunningTask(attempt(kind="python"), "pid", Untrusted())
    async with asyncio.timeout(60):
        assert await processes.call(late, [], {}) == Snoozed(0.0)
    assert isinstance(await call(processes, "pid"), Succeeded), "the process waits for another"
