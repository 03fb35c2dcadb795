"""The running job, as `windlass.current()` gives it, and what its node does for it.

The `python` strategy sets `current` around a task, in its thread or on its loop; `windlass.current`
and the durable functions read it. Neither room may import the other: they meet here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from windlass.model.job.checkpoint import Checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a job when its attempt begins."""

    job_id: str  # job_…
    attempt: int
    tries: int  # attempts that count, this one included: without crashes and rests
    max_attempts: int
    task: str
    queue: str
    created_at: datetime
    execution_id: str | None  # exe_…; None: it is no step
    correlation_id: str | None
    trace_id: str | None
    traceparent: str | None  # W3C; None: nobody traces


class Session(Protocol):
    """The job's own transaction: what it writes is committed with the job's end, or not at all.

    Each method blocks in a sync task and gives an awaitable in an async one. Parameters are
    PostgreSQL's own: $1, $2, ….
    """

    def execute(self, query: str, *args: Any) -> Any: ...

    def executemany(self, query: str, args: Any) -> Any: ...

    def fetch(self, query: str, *args: Any) -> Any: ...

    def fetchrow(self, query: str, *args: Any) -> Any: ...

    def fetchval(self, query: str, *args: Any) -> Any: ...

    def after_commit(self, call: Callable[[], None]) -> None:
        """Have it called once it is committed. It must neither wait nor raise."""


class OwnSession(Session, Protocol):
    """The same, as the node sees it."""

    def abort(self) -> None:
        """Nothing of it may be: what runs is stopped, and it is rolled back as soon as may be."""

    def roll_back(self) -> Awaitable[None]:
        """The same; returns when it is done."""

    def commit(self, last: Callable[[Any], Awaitable[bool]]) -> Awaitable[bool]:
        """Let `last` do the last thing on its connection, and commit if that said yes."""


class Running(Protocol):
    @property
    def facts(self) -> Facts: ...

    @property
    def is_cancelled(self) -> bool:
        """The job is to stop: it was cancelled, its time is up, or its node lets it go."""

    @property
    def db(self) -> Session: ...

    @property
    def checkpoints(self) -> Checkpoints: ...

    def note_progress(self, done: float, total: float | None, message: str | None) -> None: ...

    def note_line(self, level: str, message: str, fields: Mapping[str, Any]) -> None: ...


# None: no task runs here.
current: ContextVar[Running | None] = ContextVar("windlass_running", default=None)
