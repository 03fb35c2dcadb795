"""The job that runs here: `windlass.current()`.

    job = windlass.current()
    job.progress(3, 10, "packing")
    job.log("packed", box=3)
    job.heartbeat()                      # raises Cancelled when the job is to stop
    job.db.execute("INSERT …", 42)       # committed with the job's end, exactly once

It works in everything that a task calls, in threads made by `asyncio.to_thread` as well, and
nowhere else: outside of a task it raises NotInTask.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from windlass.errors import Cancelled, NotInTask
from windlass.model.job import running
from windlass.model.job.running import Facts, Running, Session


class Current:
    """The job that runs here: what is known of it, and what its task can say of it."""

    __slots__ = ("_running",)

    def __init__(self, found: Running) -> None:
        self._running = found

    def __repr__(self) -> str:
        return f"<windlass.current {self.id} attempt {self.attempt} of {self.task}>"

    # -- what is known ---------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        """All that is known of it, as one record."""
        return self._running.facts

    @property
    def id(self) -> str:
        """The id of the job."""
        return self._running.facts.job_id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1 on."""
        return self._running.facts.attempt

    @property
    def max_attempts(self) -> int:
        """How many attempts it has at most."""
        return self._running.facts.max_attempts

    @property
    def task(self) -> str:
        """The name of the task."""
        return self._running.facts.task

    @property
    def queue(self) -> str:
        """The queue that it came from."""
        return self._running.facts.queue

    @property
    def created_at(self) -> datetime:
        """When the job was made."""
        return self._running.facts.created_at

    @property
    def execution_id(self) -> str | None:
        """None: it is no step of a workflow."""
        return self._running.facts.execution_id

    @property
    def correlation_id(self) -> str | None:
        """What its maker calls all that belongs together; None: nothing was said."""
        return self._running.facts.correlation_id

    @property
    def trace_id(self) -> str | None:
        """The trace that it belongs to; None: there is none."""
        return self._running.facts.trace_id

    # -- what is said ----------------------------------------------------------------------------

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """How far it is. Written about once a second, the newest word only."""
        self._running.note_progress(done, total, message)

    def log(self, message: str, level: str = "info", **fields: Any) -> None:
        """A line for the job's log: debug, info, warning or error."""
        self._running.note_line(level, message, fields)

    # -- whether to go on ------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """The job is to stop: somebody cancelled it, its time is up, or its node lets it go."""
        return self._running.is_cancelled

    def heartbeat(self) -> None:
        """Raises Cancelled when the job is to stop."""
        if self._running.is_cancelled:
            raise Cancelled

    # -- its own transaction ---------------------------------------------------------------------

    @property
    def db(self) -> Session:
        """The job's own transaction in Windlass's PostgreSQL: execute, executemany, fetch,
        fetchrow, fetchval, with parameters as $1, $2, …; to be awaited in an async task.

        What it writes is committed together with the job's success, exactly once. When the task
        fails, is stopped, or its node dies, nothing of it is there.
        """
        return self._running.db


def current() -> Current:
    """Raises NotInTask where no job runs."""
    found = running.current.get()
    if found is None:
        raise NotInTask
    return Current(found)
