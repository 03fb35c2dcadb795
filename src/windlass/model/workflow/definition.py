"""A workflow as it was written down: a named DAG of steps, checked and ready to be planned.

Plain values. `read` makes them from JSON, and what it lets through holds: every step
that is named exists, nothing waits in a circle, every expression compiles and sees only names that
are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from windlass.errors import FieldProblem
from windlass.model.job.limit import LimitAsk

Problem = FieldProblem

SCHEMA: Final = "windlass/v1"

When = Literal["succeeded", "failed", "ended", "skipped"]
Policy = Literal["queue", "skip", "cancel_running", "fail"]
WHENS: Final[tuple[When, ...]] = ("succeeded", "failed", "ended", "skipped")
POLICIES: Final[tuple[Policy, ...]] = ("queue", "skip", "cancel_running", "fail")

# The case of a switch that is chosen when no other is.
DEFAULT_CASE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A step waits for another one's end."""

    step: str
    when: When = "succeeded"
    # The cases of that switch of which one must be chosen (an index, DEFAULT_CASE); empty: it is
    # waited for as any step is.
    cases: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Work that a step does besides itself: one item of a fan-out, or its compensation."""

    kind: str
    input: dict[str, Any] = field(default_factory=dict)  # a template
    retry: dict[str, Any] | None = None  # as of a job; None: the default of the kind
    timeout_seconds: float | None = None  # None: the default of the kind
    queue: str | None = None  # None: the step's
    priority: int | None = None  # None: the step's
    locks: tuple[str, ...] = ()  # templates
    limits: tuple[LimitAsk, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One way on from a switch."""

    condition: str  # CEL, without its ${ }
    go: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    id: str
    kind: str
    title: str | None = None
    # A template. Empty for `map` and `switch`, which have fields of their own.
    input: dict[str, Any] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()  # one a step; those that a switch implies are among them
    join: int | None = None  # so many of the needs must be met; None: all of them
    condition: str | None = None  # CEL, without its ${ }; None: it always runs
    retry: dict[str, Any] | None = None  # as of a job; None: the default of the kind
    timeout_seconds: float | None = None  # None: the default of the kind, or any time if awaited
    queue: str | None = None  # None: the definition's
    priority: int | None = None  # None: the execution's
    locks: tuple[str, ...] = ()  # templates
    limits: tuple[LimitAsk, ...] = ()
    undo: Inner | None = None  # None: nothing is to be undone
    # `map` alone.
    items: str | None = None  # CEL, without its ${ }
    each: Inner | None = None
    max_parallel: int | None = None  # None: any number
    tolerance: int | float = (
        0  # items that may fail: a number, or a share of them in [0, 1] (float)
    )
    collect: bool = True
    # `switch` alone.
    cases: tuple[Case, ...] = ()
    default_go: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """How many executions with the same key may run at once, and what becomes of one more."""

    key: str  # a template over inputs and vars
    limit: int = 1
    policy: Policy = "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    name: str
    steps: tuple[Step, ...]
    description: str | None = None
    inputs: dict[str, Any] | None = None  # JSON Schema; None: any object
    vars: dict[str, Any] = field(default_factory=dict)
    queue: str = "default"
    priority: int = 1
    timeout_seconds: float | None = None  # None: any time
    concurrency: Concurrency | None = None  # None: any number at once
    output: Any = None  # a template
    document: dict[str, Any] = field(default_factory=dict)  # as it was given, without its layout
    hash: bytes = b""  # SHA-256 of the document in canonical JSON
    layout: dict[str, Any] | None = None  # where the canvas draws things; no part of the hash
