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
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import structlog

from windlass import ids
from windlass.limits import KEY_CHARS_MAX, UNKNOWN_TASK_REST_SECONDS_MAX, UNKNOWN_TASK_RESTS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Crashed, Failed, Outcome, Snoozed
from windlass.model.json.pointer import step
from windlass.model.json.printable import is_printable
from windlass.strategies.python.completions import Stoppable
from windlass.strategies.python.perform import failed, perform, perform_async, perform_coroutine
from windlass.strategies.python.processes import ProcessDied, Processes
from windlass.strategies.python.running import RunningTask
from windlass.strategies.python.services import NoTaskServices, TaskServices
from windlass.strategies.python.task import Task
from windlass.strategies.python.threads import Threads
from windlass.strategies.python.user_loop import LoopCall, UserLoop
from windlass.strategies.strategy import Work, refused_input

log = structlog.get_logger()

_FIELDS: Final = ("task", "args", "kwargs")


class _Given(msgspec.Struct, forbid_unknown_fields=True):
    """An input that is as `check_input` wants it; an odd name of a task is nobody's name."""

    task: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}


_GIVEN: Final = msgspec.json.Decoder(_Given)


def check_input(value: dict[str, Any]) -> list[tuple[str, str]]:
    problems = [
        (step(name), f"unknown field; known are {' '.join(_FIELDS)}")
        for name in value
        if name not in _FIELDS
    ]
    task = value.get("task")
    if not isinstance(task, str) or not 1 <= len(task) <= KEY_CHARS_MAX or not is_printable(task):
        problems.append(("/task", "must name a task"))
    if not isinstance(value.get("args", []), list):
        problems.append(("/args", "must be a list"))
    if not isinstance(value.get("kwargs", {}), dict):
        problems.append(("/kwargs", "must be an object"))
    return problems


class _Refused(Exception):
    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__()
        self.problems = problems


def _read(text: str) -> _Given:
    try:
        return _GIVEN.decode(text)
    except msgspec.MsgspecError:
        # Slower, not as strict about what SQL has let in, and able to say all that is wrong.
        given = json.loads(text)
    if not isinstance(given, dict):
        raise _Refused([("", "must be an object")])
    if problems := check_input(given):
        raise _Refused(problems)
    return _Given(**given)


class _Work:
    """A task that was begun in a thread: it has ended when its notes are written, too."""

    __slots__ = ("_on_end", "_services", "_users_loop", "_writing", "call", "running", "task")
    call: Stoppable

    def __init__(
        self,
        task: Task,
        running: RunningTask,
        users_loop: UserLoop,
        services: TaskServices,
        on_end: Callable[[Outcome], None],
    ) -> None:
        self.task, self.running = task, running
        self._users_loop, self._services, self._on_end = users_loop, services, on_end
        self._writing: asyncio.Task[None] | None = None  # its notes; None: it has not ended

    def stop(self) -> bool:
        if self._writing is not None or not self.call.stop():
            return False
        self.running.stop()
        return True

    def ended(self, value: Any, raised: BaseException | None) -> None:
        if inspect.iscoroutine(value):
            given = [self.task, self.running, value]
            self.call = self._users_loop.start(perform_coroutine, given, {}, self.ended)
            return
        outcome: Outcome = value if raised is None else failed(raised)
        self.running.end()
        if self.running.has_notes:
            self._writing = asyncio.ensure_future(self._write(outcome))
        else:
            self._on_end(outcome)

    async def _write(self, outcome: Outcome) -> None:
        try:
            await self._services.written()
        finally:
            self._on_end(outcome)


class _AsyncWork(LoopCall):
    """The same of an async task: one object is its work, and its call on the users' loop."""

    __slots__ = ("_given", "_on_outcome", "_running", "_services", "_task", "_writing")

    def __init__(
        self,
        task: Task,
        given: _Given,
        running: RunningTask,
        owner: UserLoop,
        services: TaskServices,
        on_end: Callable[[Outcome], None],
    ) -> None:
        super().__init__(owner, _unheard)
        self._task, self._given, self._running = task, given, running
        self._services = services
        self._on_outcome: Callable[[Outcome], None] | None = on_end  # None: it is over
        self._writing: asyncio.Task[None] | None = None  # its notes; None: it has none, or not yet

    def perform(self) -> Awaitable[Outcome]:
        given = self._given
        return perform_async(self._task, self._running, given.args, given.kwargs)

    def stop(self) -> bool:
        if not super().stop():
            return False
        self._running.stop()
        return True

    def forget(self) -> None:
        self.is_over = True
        self._on_outcome = None  # which knows us: nothing is to wait for the collector

    def tell(self, value: Any, raised: BaseException | None) -> None:
        on_outcome = self._on_outcome
        if on_outcome is None:
            return  # it was stopped
        self.forget()
        outcome: Outcome = value if raised is None else failed(raised)
        running = self._running
        running.end()
        if running.has_notes:
            self._writing = asyncio.ensure_future(self._write(outcome, on_outcome))
        else:
            on_outcome(outcome)

    async def _write(self, outcome: Outcome, on_outcome: Callable[[Outcome], None]) -> None:
        try:
            await self._services.written()
        finally:
            on_outcome(outcome)


def _unheard(_value: Any, _raised: BaseException | None) -> None:
    pass


class Python:
    def __init__(
        self, tasks: Mapping[str, Task], app: str | None, services: TaskServices | None = None
    ) -> None:
        self._tasks = tasks
        self._services: TaskServices = services or NoTaskServices()
        self._threads = Threads()
        self._loop = UserLoop()
        self._processes = Processes(app)

    def begin(self, attempt: Attempt, on_end: Callable[[Outcome], None]) -> Work | None:
        try:
            given = _read(attempt.input)
        except _Refused:
            return None  # performing it says what is wrong
        task = self._tasks.get(given.task)
        if task is None or task.is_isolated:
            return None
        running = RunningTask(attempt, task.name, self._services)
        if task.is_async:
            call = _AsyncWork(task, given, running, self._loop, self._services, on_end)
            self._loop.begin(call)
            return call
        work = _Work(task, running, self._loop, self._services, on_end)
        args = [task, running, given.args, given.kwargs]
        work.call = self._threads.start(perform, args, {}, work.ended)
        return work

    async def perform(self, attempt: Attempt) -> Outcome:
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        work = self.begin(attempt, ended.set_result)
        if work is None:
            return await self._perform_apart(attempt)
        try:
            await asyncio.wait([ended])  # which leaves it as it is when we are cancelled
        except asyncio.CancelledError:
            if work.stop():
                raise
            await asyncio.wait([ended])
        return ended.result()

    async def _perform_apart(self, attempt: Attempt) -> Outcome:
        """In a process of its own; or not at all, and then say why."""
        try:
            given = _read(attempt.input)
        except _Refused as refused:
            return refused_input(refused.problems)
        task = self._tasks.get(given.task)
        if task is None:
            return self._unknown(attempt, given.task, await self._services.unknown_rests(attempt))
        running = RunningTask(attempt, task.name, self._services)
        outcome: Outcome
        try:
            outcome = await self._processes.call(running, given.args, given.kwargs)
        except ProcessDied as trouble:
            outcome = Crashed(str(trouble))
        except Exception as raised:
            outcome = failed(raised)
        except asyncio.CancelledError:
            running.stop()
            raise
        running.end()
        if running.has_notes:
            # It has ended: whoever stops it now does not change how.
            with contextlib.suppress(asyncio.CancelledError):
                await self._services.written()
        return outcome

    def _unknown(self, attempt: Attempt, task: str, rests: int) -> Outcome:
        """Another node may have it: one with another app, or with the code of tomorrow. `rests` in
        a row were because of that; those of its own (a durable function's) count for nothing.
        """
        known = ", ".join(sorted(self._tasks)[:20]) or "none: start the node with --app"
        said = f"this node has no task {task!r}; it has: {known}"
        if rests >= UNKNOWN_TASK_RESTS_MAX:
            return Failed("unknown_task", said)
        if rests == 0:
            job = ids.show("job", attempt.job_id)
            log.warning("task_unknown", task=task, known=known, job=job)
        attempt.detail = {"unknown_task": said}
        return Snoozed(min(1.5**rests, UNKNOWN_TASK_REST_SECONDS_MAX))

    def resize(self, workers: int) -> None:
        self._threads.keep(workers + 1)
        self._processes.keep(workers + 1)

    async def close(self) -> None:
        await self._processes.close()
        self._loop.close()
        self._threads.close()
