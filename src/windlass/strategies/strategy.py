"""What a strategy is: the interfaces that a kind of job may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed, Outcome


class Instant(Protocol):
    """A kind that needs no waiting at all: it runs where it was claimed and takes no slot."""

    def perform_now(self, attempt: Attempt) -> Outcome: ...


class Strategy(Protocol):
    """A kind whose attempt takes a slot.

    `perform` may be cancelled at any await: by a timeout, by a caller, or because the node lost its
    lease. It then stops the work and lets the cancellation through.
    """

    async def perform(self, attempt: Attempt) -> Outcome: ...

    async def close(self) -> None: ...


class Work(Protocol):
    """What an attempt does that was begun without a task of the node's loop."""

    def stop(self) -> bool:
        """Nobody wants to know its end any more. False: it has ended, and its outcome comes."""


class Begin(Protocol):
    """`begin` of a strategy whose work is done elsewhere, if it has one: waiting for that needs no
    task, and one for each attempt costs as much as a short attempt does.
    """

    def __call__(self, attempt: Attempt, on_end: Callable[[Outcome], None]) -> Work | None:
        """`on_end` hears the outcome in a later turn of the loop, unless the work is stopped
        before. None: this one is not to be begun but performed.
        """


@runtime_checkable
class Resizable(Protocol):
    """A strategy that keeps things ready for the slots: connections, threads, processes."""

    def resize(self, workers: int) -> None:
        """Keep no more idle ones than `workers + 1`; those in use are left alone."""


def refused_input(problems: list[tuple[str, str]]) -> Failed:
    """What the door would have refused; jobs that were enqueued by SQL did not pass it."""
    said = "; ".join(f"/input{pointer}: {detail}" for pointer, detail in problems[:10])
    return Failed("invalid_input", said, is_final=True)
