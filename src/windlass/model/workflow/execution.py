"""An execution: its state, which is nothing but the aggregate of its jobs (G8), and its input.

    some job has not ended   paused, if somebody paused it; pending, while none has started; running
    all have ended           failed, if one failed or it was doomed; cancelled; succeeded

A failure that the definition foresaw fails nothing by itself: an item of a fan-out, whose own step
counts them, or a step with another one for this case. Nor does a foreseen cancellation cancel. When
somebody asked to cancel the whole execution it never ends `succeeded` (G7), even if all its jobs
did: steps that would have followed were left out. store/sql/execution/execution_refresh_many.sql is
the same decision for thousands at once; a test compares them.

Its input is what was given, with the definition's defaults filled in, checked against its schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from windlass.errors import FieldProblem, InvalidInput
from windlass.model.job.states import TERMINAL, UNFINISHED, State
from windlass.model.json.schema import Allowance, Found, value_problems, with_defaults
from windlass.model.workflow.definition import Definition

ExecutionState = Literal["pending", "running", "paused", "succeeded", "failed", "cancelled"]
ENDED: Final[tuple[ExecutionState, ...]] = ("succeeded", "failed", "cancelled")
_FAILED: Final[tuple[State, ...]] = ("dead", "expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFact:
    """What matters of one job."""

    job_id: UUID
    state: State
    is_foreseen: bool = False
    started_at: datetime | None = None  # None: never
    finished_at: datetime | None = None  # None: it has not ended

    def __post_init__(self) -> None:
        assert (self.state in TERMINAL) == (self.finished_at is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of the execution itself."""

    is_paused: bool = False
    is_cancelled: bool = False  # somebody asked for it
    is_doomed: bool = False  # it was out of time, or refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """All jobs of an execution together."""

    counts: Mapping[State, int] = field(default_factory=dict)  # those that are not zero
    failed: int = 0  # dead or expired, and nobody foresaw it
    cancelled: int = 0  # and nobody foresaw it
    started_at: datetime | None = None  # of the first; None: none has
    last_end_at: datetime | None = None  # None: none has ended

    @property
    def is_open(self) -> bool:
        return any(self.counts.get(state) for state in UNFINISHED)

    @property
    def finished_at(self) -> datetime | None:
        """None: not ended, or not any more."""
        return None if self.is_open else self.last_end_at


def aggregate(jobs: Iterable[JobFact]) -> Aggregate:
    """`jobs` hold each job once, in whatever order."""
    known = list(jobs)
    return Aggregate(
        counts=dict(Counter(job.state for job in known)),
        failed=sum(job.state in _FAILED and not job.is_foreseen for job in known),
        cancelled=sum(job.state == "cancelled" and not job.is_foreseen for job in known),
        started_at=min((job.started_at for job in known if job.started_at), default=None),
        last_end_at=max((job.finished_at for job in known if job.finished_at), default=None),
    )


def execution_state(jobs: Aggregate, known: Circumstances) -> ExecutionState:
    """Of an execution that has jobs; one without waits for its turn."""
    if jobs.is_open or not jobs.counts:
        if known.is_paused:
            return "paused"
        return "running" if jobs.started_at is not None else "pending"
    return ended_state(jobs, known)


def ended_state(jobs: Aggregate, known: Circumstances) -> ExecutionState:
    """How an execution ends all of whose jobs have ended."""
    assert not jobs.is_open
    if known.is_doomed or jobs.failed:
        return "failed"
    if jobs.cancelled or known.is_cancelled:
        return "cancelled"
    return "succeeded"


def complete_input(
    definition: Definition,
    given: Mapping[str, Any],
    at: str = "",
    allowance: Allowance | None = None,
) -> Any:
    """Raises InvalidInput with every problem found below `<at>/input`; TooMuchToCheck when that
    is more than the allowance.
    """
    filled = filled_input(definition, given)
    if definition.inputs is not None:
        refuse(value_problems(filled, definition.inputs, allowance=allowance), at)
    return filled


def filled_input(definition: Definition, given: Mapping[str, Any]) -> Any:
    """With its defaults, and unchecked."""
    return with_defaults(dict(given), definition.inputs)


def refuse(problems: Found, at: str = "") -> None:
    """Raises InvalidInput if there are any."""
    if problems:
        raise InvalidInput(
            *(
                FieldProblem(pointer=f"{at}/input{pointer}", detail=detail)
                for pointer, detail in problems
            )
        )
