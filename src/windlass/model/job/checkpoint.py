"""Checkpoints: what a durable function has done, and how it asks its node to keep it.

The function runs on the users' loop and the database is on the node's: `Checkpoints` is the hatch
between them. Neither room may import the other: they meet here.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal, Protocol

from windlass.model.job.outcome import Outcome

Kind = Literal["step", "sleep", "wait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a function wants kept at one place."""

    branch: str  # the task of asyncio that asks, such as "0.1"; "": the function itself
    place: int  # of the call among those of its branch
    name: str
    kind: Kind
    rest_seconds: float | None = None  # of a sleep or a wait; None: it has no end
    result_json: str | None = None  # of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What stands at one place."""

    branch: str
    place: int
    name: str
    kind: Kind
    is_open: bool = False  # a wait that neither a signal nor time has ended
    left_seconds: float | None = None  # until a sleep or a wait is over; None: it has no end
    result_json: str | None = None  # None: a sleep, an open wait, or one that got nothing in time


class Checkpoints(Protocol):
    """The places of one job. Each call raises Cancelled when another attempt has taken over."""

    def load(self) -> Awaitable[list[Checkpoint]]:
        """All of them, in order of their places."""

    def keep(self, note: Note) -> Awaitable[Checkpoint]:
        """What stands there once it is committed: this, or what an attempt before had kept."""

    def listen(self, note: Note) -> Awaitable[Checkpoint]:
        """A wait with the signal that is there for it, or still open."""


class AttemptEnded(BaseException):
    """Raised through the strategy: the attempt is over with this outcome, whatever it returned.

    Not an Exception, so that no `except Exception` of a user's takes it for trouble.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(outcome.name)
