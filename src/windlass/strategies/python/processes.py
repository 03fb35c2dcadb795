"""A pool of processes for isolated tasks, which can be killed.

Each process runs one task at a time, so when it dies we know whose fault it was. Arguments and
results cross a pipe as JSON lines, never as pickles.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from typing import Any, Final

import msgspec

from windlass.limits import INPUT_BYTES_MAX, RESULT_BYTES_MAX
from windlass.model.job.outcome import Outcome, Snoozed
from windlass.strategies.python.perform import from_answer
from windlass.strategies.python.running import RunningTask
from windlass.telemetry.logs import configured

LINE_BYTES_MAX: Final = 4 * max(INPUT_BYTES_MAX, RESULT_BYTES_MAX)


class ProcessDied(Exception):
    """The process ended in the middle of a task."""


class Processes:
    def __init__(self, app: str | None) -> None:
        self._app = app
        self._idle: list[asyncio.subprocess.Process] = []

    async def call(self, running: RunningTask, args: list[Any], kwargs: dict[str, Any]) -> Outcome:
        """How the task ended. Raises ProcessDied when its process did not outlive it.

        To begin a process takes a while, in which the node may lose its lease: then the task is not
        begun, and goes back.
        """
        process = self._take() or await _begin(self._app)
        if not running.may_begin:
            self._idle.append(process)
            return Snoozed(0.0)
        facts = msgspec.to_builtins(running.facts)
        question = {"task": running.task, "args": args, "kwargs": kwargs, "facts": facts}
        try:
            outcome = await self._ask(process, question, running)
        except BaseException:
            # Timed out, cancelled or dead: whatever it was doing, it does it no longer.
            await _kill(process)
            raise
        self._idle.append(process)
        return outcome

    def keep(self, count: int) -> None:
        """Let idle processes beyond so many go."""
        while len(self._idle) > count:
            _send_kill(self._idle.pop(0))  # the loop sees to its end

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(_kill(process) for process in idle))

    def _take(self) -> asyncio.subprocess.Process | None:
        """One that has nothing to do. None: there is none."""
        while self._idle:
            process = self._idle.pop()
            # One that died meanwhile shows its end of file before its exit code.
            if process.returncode is None and process.stdout and not process.stdout.at_eof():
                return process
        return None

    async def _ask(
        self, process: asyncio.subprocess.Process, question: dict[str, Any], running: RunningTask
    ) -> Outcome:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            await process.stdin.drain()
            while True:
                answer = await _next(process)
                if not _is_note(answer, running):
                    return from_answer(answer)
        except (OSError, ValueError) as trouble:
            raise ProcessDied(f"the task's process broke off: {trouble}") from trouble


async def _begin(app: str | None) -> asyncio.subprocess.Process:
    """A process that has loaded its tasks. What it is asked before then would wait in the pipe, and
    might be begun when its node is long gone.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "windlass.strategies.python.process_worker",
        app or "",
        str(os.getpid()),
        *(configured() or ()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_BYTES_MAX,
        start_new_session=True,  # a Ctrl-C at the node's terminal is the node's to handle
    )
    try:
        await _next(process)
    except BaseException:
        await _kill(process)
        raise
    return process


async def _next(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    answer = await _answer(process.stdout)
    if answer is None:
        code = await process.wait()
        raise ProcessDied(f"the task's process died with exit code {code}")
    return answer


async def _answer(pipe: asyncio.StreamReader) -> dict[str, Any] | None:
    """One line of what a process says; None: it says no more."""
    line = await pipe.readline()
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer


def _is_note(answer: dict[str, Any], running: RunningTask) -> bool:
    """Take what a task says while it runs; False: it is how the task ended."""
    if "line" in answer:
        level, message, fields = answer["line"]
        running.note_line(level, message, fields)
        return True
    if "progress" in answer:
        running.note_progress(*answer["progress"])
        return True
    return False


async def _kill(process: asyncio.subprocess.Process) -> None:
    _send_kill(process)
    await process.wait()


def _send_kill(process: asyncio.subprocess.Process) -> None:
    """With everything the task has started: it leads a session, and so a group, of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
