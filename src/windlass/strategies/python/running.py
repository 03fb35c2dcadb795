"""A running task, as `windlass.current()` sees it: in the node, or isolated in its own process.

`RunningTask` is made for every attempt, so it holds nothing that nobody has asked for. What a
`RunningIsolated` says crosses the pipe; the node bounds and keeps it. A database transaction does
not cross a pipe: an isolated task has none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from windlass import ids
from windlass.clock import monotonic
from windlass.errors import Cancelled
from windlass.limits import LOG_LINES_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.running import Facts, OwnSession
from windlass.model.job.task_log import line, progress
from windlass.model.json.storable import harmless_json
from windlass.model.trace_context import trace_id_of, traceparent_of
from windlass.strategies.python.services import NotOffered, TaskServices


class RunningTask:
    """In the node: its thread, or its loop."""

    __slots__ = ("_attempt", "_facts", "_is_over", "_lines", "_services", "has_notes", "task")

    def __init__(self, attempt: Attempt, task: str, services: TaskServices) -> None:
        self._attempt = attempt
        self._services = services
        self._is_over = False  # nobody waits for it any more
        self._lines = 0
        self._facts: Facts | None = None
        self.task = task
        self.has_notes = False

    @property
    def facts(self) -> Facts:
        if self._facts is None:
            self._facts = facts_of(self._attempt, self.task)
        return self._facts

    @property
    def may_begin(self) -> bool:
        return self._services.may_begin()

    @property
    def is_cancelled(self) -> bool:
        return self._is_over

    def note_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.has_notes = True
        self._services.note_progress(self._attempt, progress(monotonic(), done, total, message))

    def note_line(self, level: str, message: str, fields: Mapping[str, Any]) -> None:
        place, self._lines = self._lines, self._lines + 1
        if place < LOG_LINES_MAX:
            self.has_notes = True
            self._services.note_line(
                self._attempt, line(place, monotonic(), level, message, fields)
            )

    @property
    def db(self) -> OwnSession:
        own = self._attempt.own
        if own is None:
            if self.is_cancelled:
                raise Cancelled("the job is to stop, and writes nothing any more")
            own = self._attempt.own = self._services.open(self._attempt)
        return own

    @property
    def checkpoints(self) -> Any:
        return self._services.checkpoints(self._attempt)

    def end(self) -> None:
        """The task has ended; what it may have left running speaks for nobody."""
        self._is_over = True

    def stop(self) -> None:
        """It is stopped: whoever still runs it is left behind, and must not write."""
        self._is_over = True
        if self._attempt.own is not None:
            self._attempt.own.abort()


def facts_of(attempt: Attempt, task: str) -> Facts:
    execution_id = attempt.execution_id
    return Facts(
        job_id=ids.show("job", attempt.job_id),
        attempt=attempt.number,
        tries=attempt.tries,
        max_attempts=attempt.max_attempts,
        task=task,
        queue=attempt.queue,
        created_at=attempt.created_at,
        execution_id=None if execution_id is None else ids.show("execution", execution_id),
        correlation_id=attempt.correlation_id,
        trace_id=trace_id_of(attempt.trace_id),
        traceparent=traceparent_of(attempt.trace_id),
    )


class RunningIsolated:
    """In a process of its own."""

    is_cancelled = False  # whoever is to stop is killed

    def __init__(self, facts: Facts, say: Callable[[str], None]) -> None:
        self.facts = facts
        self._say = say
        self._lines = 0
        self._is_over = False

    def note_progress(self, done: float, total: float | None, message: str | None) -> None:
        if not self._is_over:
            made = progress(0.0, done, total, message)
            self._say(harmless_json({"progress": [made.done, made.total, made.message]}))

    def note_line(self, level: str, message: str, fields: Mapping[str, Any]) -> None:
        place, self._lines = self._lines, self._lines + 1
        if place < LOG_LINES_MAX and not self._is_over:
            made = line(place, 0.0, level, message, fields)
            kept = json.loads(made.fields) if made.fields else {}  # a line of the pipe is bounded
            self._say(harmless_json({"line": [made.level, made.message, kept]}))

    def end(self) -> None:
        """A thread that the task left behind must not speak into the next one's answer."""
        self._is_over = True

    @property
    def db(self) -> OwnSession:
        raise NotOffered(
            "a task with isolate='process' has no transaction of its job's; give it a connection "
            "of its own, or let it run in a thread"
        )

    @property
    def checkpoints(self) -> Any:
        raise NotOffered("a durable function runs in the node; isolate='process' is not for it")
