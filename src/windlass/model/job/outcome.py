"""How an attempt ended. Values, not exceptions: "the receiver answered 503" is an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Succeeded:
    name: ClassVar[str] = "succeeded"
    result: bytes | None = None  # JSON; None: no result


@dataclass(frozen=True, slots=True)
class Failed:
    name: ClassVar[str] = "failed"
    cause: str  # short and groupable: an exception's class, "http 503"
    message: str
    detail: dict[str, Any] = field(default_factory=dict)
    is_final: bool = False  # True: another try cannot help
    retry_after_seconds: float | None = None  # the other side's wish; None: it has none
    is_exact: bool = False  # True: the wish is the task's own, and stands before its policy's rest


@dataclass(frozen=True, slots=True)
class TimedOut:
    name: ClassVar[str] = "timed_out"
    after_seconds: float
    waited_for: str | None = None  # "a connection"; None: the whole attempt


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process that ran it died; the node did not."""

    name: ClassVar[str] = "lost"
    message: str


@dataclass(frozen=True, slots=True)
class Snoozed:
    """Asked for later; spends no attempt."""

    name: ClassVar[str] = "snoozed"
    rest_seconds: float
    is_listening: bool = False  # a signal to its execution ends the rest


@dataclass(frozen=True, slots=True)
class Cancelled:
    name: ClassVar[str] = "cancelled"


@dataclass(frozen=True, slots=True)
class Awaited:
    """The other side has it and will say how it ended, by a token of which we keep the hash."""

    name: ClassVar[str] = "awaited"
    token_hash: bytes
    patience_seconds: float


Outcome = Succeeded | Failed | TimedOut | Crashed | Snoozed | Cancelled | Awaited
