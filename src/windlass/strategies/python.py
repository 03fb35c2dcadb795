"""`python`: performs a task of the `--app` object.

Nothing a user writes may stop a heartbeat: sync tasks run in threads, async ones on a loop of their
own, isolated ones in a process. A timeout really stops the work: an exception is raised inside the
thread, the coroutine is cancelled, the process is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from windlass.model.attempt import Attempt
from windlass.model.outcome import Crashed, Failed, Outcome
from windlass.model.pointer import step
from windlass.strategies.answer import failed, perform, perform_async, perform_begun
from windlass.strategies.desk import Desk, EmptyDesk
from windlass.strategies.processes import ProcessDied, Processes
from windlass.strategies.running import RunningTask
from windlass.strategies.strategy import refused_input
from windlass.strategies.task import Task
from windlass.strategies.threads import Threads
from windlass.strategies.user_loop import UserLoop

_FIELDS: Final = ("task", "args", "kwargs")


def check_input(value: dict[str, Any]) -> list[tuple[str, str]]:
    problems = [
        (step(name), f"unknown field; known are {' '.join(_FIELDS)}")
        for name in value
        if name not in _FIELDS
    ]
    task = value.get("task")
    if not isinstance(task, str) or not 1 <= len(task) <= 256 or not task.isprintable():
        problems.append(("/task", "must name a task"))
    if not isinstance(value.get("args", []), list):
        problems.append(("/args", "must be a list"))
    if not isinstance(value.get("kwargs", {}), dict):
        problems.append(("/kwargs", "must be an object"))
    return problems


def _read(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)  # slower, and not as strict about what SQL has let in


class Python:
    def __init__(
        self, tasks: Mapping[str, Task], app: str | None, desk: Desk | None = None
    ) -> None:
        self._tasks = tasks
        self._desk: Desk = desk or EmptyDesk()
        self._threads = Threads()
        self._loop = UserLoop()
        self._processes = Processes(app)

    async def perform(self, attempt: Attempt) -> Outcome:
        given = _read(attempt.input)
        if problems := check_input(given):
            return refused_input(problems)
        task = self._tasks.get(given["task"])
        if task is None:
            known = ", ".join(sorted(self._tasks)[:20]) or "none: start the node with --app"
            return Failed(
                "unknown_task", f"this node has no task {given['task']!r}; it has: {known}"
            )
        running = RunningTask(attempt, task.name, self._desk)
        try:
            outcome = await self._call(
                task, running, given.get("args", []), given.get("kwargs", {})
            )
        except ProcessDied as trouble:
            outcome = Crashed(str(trouble))
        except Exception as raised:  # SystemExit and its like, made harmless
            outcome = failed(raised)
        except asyncio.CancelledError:
            running.stop()
            raise
        running.end()
        if running.has_notes:
            # It has ended: whoever stops it now does not change how.
            with contextlib.suppress(asyncio.CancelledError):
                await self._desk.written()
        return outcome

    async def _call(
        self, task: Task, running: RunningTask, args: list[Any], kwargs: dict[str, Any]
    ) -> Outcome:
        outcome: Outcome
        if task.is_isolated:
            return await self._processes.call(running, args, kwargs)
        if task.is_async:
            outcome = await self._loop.call(perform_async, [task, running, args, kwargs], {})
            return outcome
        answer: Any = await self._threads.call(perform, [task, running, args, kwargs], {})
        if inspect.iscoroutine(answer):
            answer = await self._loop.call(perform_begun, [task, running, answer], {})
        outcome = answer
        return outcome

    def resize(self, workers: int) -> None:
        self._threads.keep(workers + 1)
        self._processes.keep(workers + 1)

    async def close(self) -> None:
        await self._processes.close()
        self._loop.close()
        self._threads.close()
