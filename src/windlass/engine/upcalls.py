"""Up-calls: what the layers below ask of the node above them. There are no others.

    what           asked by                  when                                      where
    node_id        Stopper, Signaller        a job is to stop, a signal is sent        node's loop
    may_begin      tasks, through their      a durable function is to begin a step     any thread
                   services
    `Starter`      Enqueuer, PlainStarts     before and after jobs are inserted        node's loop
    `StepStarter`  finish                    before and after steps are inserted by    node's loop
                                             the transaction that ended others

The node is made after those that ask it, so what they get are functions, in one frozen `Upcalls`.
`compose` makes it and passes it in; nobody assigns a callback to a part that stands already
(tests/house/rooms.py sees to that). What a running task may ask is `strategies.python.services`;
what listeners subscribe to is no up-call but a hint (`Announcer.on_…`, `FastLane.on_…`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft

if TYPE_CHECKING:
    from windlass.engine.executions.step_rows import StepJob  # which reserves by this file


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcalls:
    node_id: Callable[[], UUID]  # of the incarnation that lives now
    may_begin: Callable[[], bool]  # is its lease to be trusted?


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Slots that a node keeps free for jobs which are about to be inserted."""

    node_id: UUID
    claim_id: UUID
    starts: Sequence[bool]  # for each draft: whether the node would begin it at once
    slots: int  # how many it keeps for them


class Starter(Protocol):
    """A node that may begin a job the moment it is accepted, instead of claiming it after."""

    def park(self, drafts: Sequence[Draft]) -> list[str]:
        """Mark those whose targets have no room (`parked_for`); returns these targets."""

    def parked(self) -> None:
        """What was marked is committed."""

    def reserve(self, drafts: Sequence[Draft]) -> Reservation | None:
        """None: it has no free slot, or others were there first."""

    def reserve_first(self, jobs: Sequence[StepJob]) -> Reservation | None:
        """The same for the first steps of executions."""

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None:
        """Begin what was inserted as running; slots that were not used are free again."""

    def doubt(self, reservation: Reservation) -> None:
        """What became of the insert is not known; nothing of it is begun here."""


class StepStarter(Protocol):
    """The same for the steps that follow others."""

    def reserve_steps(self, jobs: Sequence[StepJob]) -> Reservation | None:
        """Slots for jobs about to be inserted; None: it has none."""

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None: ...

    def doubt(self, reservation: Reservation) -> None: ...
