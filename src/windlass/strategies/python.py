"""`python`: performs a task of the `--app` object.

Nothing a user writes may stop a heartbeat: sync tasks run in threads, async ones on a loop of their
own, isolated ones in a process. A timeout really stops the work: an exception is raised inside the
thread, the coroutine is cancelled, the process is killed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from windlass.limits import RESULT_BYTES_MAX
from windlass.model import strict_json
from windlass.model.attempt import Attempt
from windlass.model.harmless import harmless_json
from windlass.model.outcome import Crashed, Failed, Outcome, Succeeded
from windlass.model.pointer import step
from windlass.strategies.processes import ProcessDied, Processes, TaskRaised
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


class Python:
    def __init__(self, tasks: Mapping[str, Task], app: str | None) -> None:
        self._tasks = tasks
        self._threads = Threads()
        self._loop = UserLoop()
        self._processes = Processes(app)

    async def perform(self, attempt: Attempt) -> Outcome:
        given = json.loads(attempt.input)
        task = self._tasks.get(given["task"])
        if task is None:
            known = ", ".join(sorted(self._tasks)[:20]) or "none: start the node with --app"
            return Failed(
                "unknown_task", f"this node has no task {given['task']!r}; it has: {known}"
            )
        args, kwargs = given.get("args", []), given.get("kwargs", {})
        try:
            return _succeeded(await self._call(task, args, kwargs))
        except ProcessDied as trouble:
            return Crashed(str(trouble))
        except TaskRaised as raised:
            return Failed(raised.cause, raised.message, {"traceback": raised.traceback})
        except Exception as raised:  # whatever a user's function raises is its outcome
            return _failed(raised)

    async def _call(self, task: Task, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if task.is_isolated:
            return await self._processes.call(task.name, args, kwargs)
        if task.is_async:
            return await self._loop.call(task.function, args, kwargs)
        return await self._threads.call(task.function, args, kwargs)

    async def close(self) -> None:
        await self._processes.close()
        self._loop.close()
        self._threads.close()


def _succeeded(value: Any) -> Outcome:
    if value is None:
        return Succeeded()
    try:
        text = strict_json.write(value)
    except (TypeError, ValueError):
        text = harmless_json(value)
    if len(text) > RESULT_BYTES_MAX:
        return Failed(
            "result_too_large",
            f"the result has {len(text)} bytes; at most {RESULT_BYTES_MAX} are kept",
            is_final=True,
        )
    return Succeeded(text.encode())


def _failed(raised: BaseException) -> Failed:
    from traceback import format_exception

    lines = "".join(format_exception(raised, limit=-20))[-8_000:]
    return Failed(type(raised).__name__, str(raised), {"traceback": lines})
