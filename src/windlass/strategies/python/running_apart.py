"""A running task, as `windlass.current()` sees it in a process of its own.

What it says crosses the pipe; the node bounds and keeps it. A database transaction does not cross a
pipe: an isolated task has none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from windlass.limits import LOG_LINES_MAX
from windlass.model.job.running import Facts, Own
from windlass.model.job.task_log import line, progress
from windlass.model.json.storable import harmless_json
from windlass.strategies.python.services import NotOffered


class RunningApart:
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
    def db(self) -> Own:
        raise NotOffered(
            "a task with isolate='process' has no transaction of its job's; give it a connection "
            "of its own, or let it run in a thread"
        )

    @property
    def checkpoints(self) -> Any:
        raise NotOffered("a durable function runs in the node; isolate='process' is not for it")
