"""What a node does for the tasks that run on it: log, progress, transaction, checkpoints.

The `python` strategy knows it only by this shape; who writes lines, lends connections and keeps
checkpoints is the runtime's affair (runtime.worker.task_services). The notes may be made from any
thread, and return at once.
"""

from __future__ import annotations

from typing import Any, Protocol

from windlass.errors import WindlassError
from windlass.model.job.attempt import Attempt
from windlass.model.job.running import OwnSession
from windlass.model.job.task_log import Line, Progress


class NotOffered(WindlassError):
    """A task asked for what is not to be had where it runs."""

    code = "not_offered"


class TaskServices(Protocol):
    """For all tasks of a node."""

    def note_line(self, attempt: Attempt, line: Line) -> None: ...

    def note_progress(self, attempt: Attempt, progress: Progress) -> None: ...

    async def written(self) -> None:
        """Wait a while for the notes that were made before."""

    def open(self, attempt: Attempt) -> OwnSession:
        """The transaction that is committed with this attempt's end, begun by its first use."""

    def checkpoints(self, attempt: Attempt) -> Any: ...

    def may_begin(self) -> bool:
        """Is what the node has claimed still its own, as far as it can know?"""

    async def unknown_rests(self, attempt: Attempt) -> int:
        """How often in a row, up to now, its job rested because nobody knew its task."""


class NoTaskServices:
    """For a strategy that no node has taken in: notes are made nowhere."""

    def note_line(self, attempt: Attempt, line: Line) -> None:
        pass

    def note_progress(self, attempt: Attempt, progress: Progress) -> None:
        pass

    async def written(self) -> None:
        pass

    def open(self, attempt: Attempt) -> OwnSession:
        raise NotOffered("there is no database here; current().db is for tasks that a node runs")

    def checkpoints(self, attempt: Attempt) -> Any:
        raise NotOffered("there is no database here; durable functions are for tasks of a node")

    def may_begin(self) -> bool:
        return True

    async def unknown_rests(self, attempt: Attempt) -> int:
        return 0
