"""A draft: a job that somebody asked for, checked, but not yet accepted; and the columns of a job.

`COLUMNS` is the one list of what windlass.job holds: name, type, where the value comes from, and
who reads it. The inserting statements and the COPYs, the row's way into the history and back by a
replay, the claims with their attempts, and what is read to be shown all take their columns from it
(store.statements puts them into the SQL). A column of source `draft` is an attribute of the draft
by the same name: to give a job another field is a row here, an attribute below, and a migration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Flag, auto
from typing import Any, Final, Literal
from uuid import UUID

from windlass.limits import KEY_CHARS_MAX
from windlass.model.job.limit import LimitAsk
from windlass.model.job.lock import LockAsk

OnParentFailure = Literal["skip", "fail", "run"]
# draft: the attribute of that name. insert: whoever inserts the row works it out (a submission in
# engine/jobs/request.py, a step in engine/executions/step_rows.py). life: what happens to the job
# writes it; until then it has the default of the table.
Source = Literal["draft", "insert", "life"]


class ColumnUse(Flag):
    """Who takes a column over."""

    NONE = 0
    LASTS = auto()  # never changes: goes into the history, and back by a replay, as it is
    SHOWN = auto()  # read wherever jobs are read to be shown
    CLAIMED = auto()  # a claim returns it, for the attempt
    LABEL = auto()  # of the caller's own, to find the job by: stands on the page of a job


@dataclass(frozen=True, slots=True)
class Column:
    """One column of windlass.job."""

    name: str
    type: str  # as PostgreSQL calls it
    source: Source
    use: ColumnUse = ColumnUse.NONE

    @property
    def is_given(self) -> bool:
        return self.source == "draft"


_LASTS, _SHOWN, _CLAIMED, _LABEL = (
    ColumnUse.LASTS,
    ColumnUse.SHOWN,
    ColumnUse.CLAIMED,
    ColumnUse.LABEL,
)
COLUMNS: Final = (
    Column("id", "uuid", "insert", _LASTS | _SHOWN | _CLAIMED),
    # What the caller says.
    Column("queue", "text", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("kind", "text", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("priority", "int2", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("deadline", "timestamptz", "draft", _SHOWN),
    Column("timeout_ms", "int8", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("max_attempts", "int4", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("retry", "json", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("key", "text", "draft", _LASTS | _SHOWN | _LABEL),
    Column("tags", "text[]", "insert", _LASTS | _SHOWN | _LABEL),
    Column("correlation_id", "text", "draft", _LASTS | _SHOWN | _CLAIMED | _LABEL),
    Column("trace_id", "text", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("owner", "text", "draft", _LASTS),
    Column("target", "text", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("task", "text", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("input", "json", "draft", _LASTS | _SHOWN | _CLAIMED),
    Column("limits", "json", "draft", _LASTS | _SHOWN),
    # What follows from it, or from the execution whose step it is.
    Column("input_bytes", "int4", "insert", _LASTS),
    Column("locks", "text[]", "insert", _LASTS | _SHOWN),
    Column("depends_on", "uuid[]", "insert", _LASTS | _SHOWN),
    Column("on_parent_failure", "text", "insert", _LASTS | _SHOWN),
    Column("was_blocked", "bool", "insert", _LASTS | _SHOWN),
    Column("execution_id", "uuid", "insert", _LASTS | _SHOWN | _CLAIMED),
    Column("step", "text", "insert", _LASTS | _SHOWN),
    Column("item", "int4", "insert", _LASTS | _SHOWN),
    Column("is_foreseen", "bool", "insert", _LASTS),
    Column("created_at", "timestamptz", "insert", _LASTS | _SHOWN | _CLAIMED),
    # Where it is in its life; inserted as running, it has some of these from the start.
    Column("state", "text", "insert", _SHOWN),
    Column("run_at", "timestamptz", "insert", _SHOWN | _CLAIMED),
    Column("waits_for", "int4", "insert", _SHOWN),
    Column("parked_at", "timestamptz", "insert"),
    Column("parked_for", "text", "insert"),
    Column("attempt", "int4", "insert", _SHOWN | _CLAIMED),
    Column("node_id", "uuid", "insert", _SHOWN),
    Column("claim_id", "uuid", "insert", _SHOWN),
    Column("started_at", "timestamptz", "insert", _SHOWN | _CLAIMED),
    Column("callback_until", "timestamptz", "insert"),
    Column("callback_hash", "bytea", "insert"),
    Column("has_children", "bool", "life", _SHOWN),
    Column("has_pass", "bool", "life", _CLAIMED),
    Column("snoozes", "int4", "life", _SHOWN | _CLAIMED),
    Column("crashes", "int2", "life", _SHOWN | _CLAIMED),
    Column("replays", "int2", "life", _SHOWN),
    Column("cancel_requested_at", "timestamptz", "life", _SHOWN),
    Column("error", "json", "life", _SHOWN),
)
GIVEN: Final = tuple(column for column in COLUMNS if column.is_given)


def names(use: ColumnUse) -> tuple[str, ...]:
    """The columns that are put to this use, in their order."""
    return tuple(column.name for column in COLUMNS if use in column.use)


@dataclass(slots=True, kw_only=True)
class Draft:
    """What the inserting statement needs."""

    kind: str
    input: str = "{}"  # JSON
    queue: str = "default"
    priority: int = 1
    run_at: datetime | None = None  # None: now, plus `delay_seconds`
    delay_seconds: float = 0.0
    deadline: datetime | None = None
    timeout_ms: int | None = None
    max_attempts: int = 5
    retry: str | None = None  # JSON; None: the default of the kind
    depends_on: tuple[UUID, ...] = ()
    depends_on_places: tuple[int, ...] = ()  # other jobs of the same batch, by their place in it
    on_parent_failure: OnParentFailure = "skip"
    key: str | None = None
    tags: tuple[str, ...] = ()
    correlation_id: str | None = None
    trace_id: str | None = None
    owner: str | None = None
    target: str | None = None  # whom an `http` job calls; None: other kinds
    task: str | None = None  # which function a `python` job runs; None: other kinds
    parked_for: str | None = None  # what its target has no room for; None: it joins its line
    locks: tuple[LockAsk, ...] = ()  # what it holds from when it may start until it ends
    limit_asks: tuple[LimitAsk, ...] = ()
    limits: str | None = None  # JSON, see model.job.limit; None: it carries none
    limit_locks: tuple[str, ...] = ()  # what it holds for them, from when it may start
    unique_seconds: float | None = None  # how long the key is its own; None: while it is kept
    debounce_seconds: float | None = None  # None: a job that has the key stays as it is
    debounce_max_seconds: float | None = None  # since it was made; None: for ever

    @property
    def has_parents(self) -> bool:
        return bool(self.depends_on or self.depends_on_places)

    @property
    def is_due(self) -> bool:
        """True when it may start the moment it is accepted."""
        waits = self.delay_seconds or self.has_parents or self.has_locks
        return self.run_at is None and not waits

    @property
    def is_plain(self) -> bool:
        """True when nothing but its queue's limits can stand in its way."""
        return self.key is None and not self.has_parents and not self.has_locks

    @property
    def has_locks(self) -> bool:
        return bool(self.locks or self.limit_locks)

    @property
    def lock_names(self) -> list[str]:
        return [*(ask.name for ask in self.locks), *self.limit_locks]


assert {column.name for column in GIVEN} <= {field.name for field in fields(Draft)}, "see COLUMNS"


def task_of(given: Mapping[str, Any]) -> str | None:
    """The task that the input of a `python` job names; None: what it names is none.

    The newest migration of `windlass.task_of` reads the same for jobs that come by SQL.
    """
    task = given.get("task")
    is_name = isinstance(task, str) and 1 <= len(task) <= KEY_CHARS_MAX
    return task if is_name else None


def row_maker(made: Sequence[str], given: Sequence[str]) -> Callable[..., tuple[Any, ...]]:
    """A function of a draft and of the values of `made` that returns these and what is `given` by
    the draft, as one tuple.

    Compiled once, as dataclasses compile `__init__`: it is called for every job that comes in, and
    `attrgetter` takes twice as long (ADR 0040). The names are those of COLUMNS.
    """
    assert all(name.isidentifier() for name in (*made, *given))
    values = ", ".join((*made, *(f"draft.{name}" for name in given)))
    source = f"lambda draft, {', '.join(made)}: ({values})"
    maker: Callable[..., tuple[Any, ...]] = eval(source)  # noqa: S307 (of our own names)
    return maker
