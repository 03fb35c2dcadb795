"""The duties of the leader, as a table. Each is idempotent; losing the lead stops them all.

The lead is asked for before each deed, here by the monotonic clock and then in the database: a
leader that was frozen and thaws in somebody else's term does nothing. What must be done in time
whoever leads is in `runtime.duties` instead.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from windlass.engine.audit.read import forget_entries
from windlass.engine.cluster.node_signals_stored import forget_signals
from windlass.engine.cluster.nodes import is_current
from windlass.engine.cluster.operation_steps import forget_operations
from windlass.engine.cluster.sweep_entry import record_sweep
from windlass.engine.effects import Effects
from windlass.engine.executions.upkeep import find_neglected
from windlass.engine.identity.forget import forget_identity
from windlass.engine.isolated_round import ItemBackoff
from windlass.engine.jobs.bulk import forget_bulk
from windlass.engine.jobs.tasks import forget_tasks
from windlass.engine.locks.mend import forget_locks, mend_locks
from windlass.limits import (
    AUDIT_DAYS,
    AUDIT_FORGET_BATCH,
    FORGET_EVERY_SECONDS,
    HAND_BACK_SECONDS,
    LOCK_STRAYS_SECONDS,
    SWEEP_EVERY_SECONDS,
    TEND_EVERY_SECONDS,
    TEND_IDLE_SECONDS,
)
from windlass.model.identity.actor import ActorKind, acting_as, machine
from windlass.runtime.cluster.leadership import Leadership
from windlass.runtime.loop import Loop
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from windlass.engine.cluster.sweep import SweepReport

SWEEP: Final = "sweep coordinators"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderDuty:
    name: str
    every_seconds: float
    do: Callable[[], Awaitable[object]]
    rest: Callable[[], float] | None = None  # instead of `every_seconds`; None: always the same
    acts_as: ActorKind = "leader"  # in the audit log
    is_fenced: bool = True  # False: two that both believe they lead do no harm, so nobody asks


def leader_duty_table(
    database: Database,
    # Removes what dead coordinators left in Redis. None: there is no Redis.
    sweep: Callable[[], Awaitable[SweepReport | None]] | None,
    # Tells of what came of a deed, and goes on with it (engine.follow).
    follow: Callable[[Effects], None],
    # Who rests after a failure.
    backoff: ItemBackoff | None = None,
    *,
    audit_days: int = AUDIT_DAYS,
) -> list[LeaderDuty]:
    """The duties there are."""

    async def operations() -> None:
        while await forget_operations(database) or await forget_bulk(database):
            pass

    async def signals() -> None:
        while await forget_signals(database):
            pass

    async def tasks() -> None:
        while await forget_tasks(database):
            pass

    async def identity() -> None:
        while await forget_identity(database):
            pass

    async def locks() -> None:
        follow(await mend_locks(database, backoff))
        while await forget_locks(database):
            pass

    async def audit() -> None:
        while await forget_entries(database, audit_days) == AUDIT_FORGET_BATCH:
            pass

    async def sweep_and_record() -> None:
        assert sweep is not None
        report = await sweep()
        if report is not None:
            await record_sweep(database, report)

    tending = ExecutionUpkeep(database=database, follow=follow, backoff=backoff)

    rows: list[tuple[str, float, Callable[[], Awaitable[object]] | None]] = [
        ("forget operations", FORGET_EVERY_SECONDS, operations),
        ("forget signals", FORGET_EVERY_SECONDS, signals),
        ("forget tasks", FORGET_EVERY_SECONDS, tasks),
        ("forget identity", FORGET_EVERY_SECONDS, identity),
        ("forget audit entries", FORGET_EVERY_SECONDS, audit),
        (SWEEP, SWEEP_EVERY_SECONDS, sweep_and_record if sweep is not None else None),
        ("mend locks", LOCK_STRAYS_SECONDS, locks),
    ]
    return [
        tending.duty,
        *(
            LeaderDuty(
                name=name,
                every_seconds=every_seconds,
                do=do,
                acts_as="sweep" if name == SWEEP else "leader",
            )
            for name, every_seconds, do in rows
            if do is not None
        ),
    ]


@dataclass(slots=True, kw_only=True)
class ExecutionUpkeep:
    """Looks after executions: often while it finds something to do."""

    database: Database
    follow: Callable[[Effects], None]
    backoff: ItemBackoff | None = None
    rest_seconds: float = TEND_EVERY_SECONDS

    @property
    def duty(self) -> LeaderDuty:
        return LeaderDuty(
            name="tend executions",
            every_seconds=TEND_EVERY_SECONDS,
            do=self.tend,
            rest=lambda: self.rest_seconds,
            is_fenced=False,
        )

    async def tend(self) -> None:
        found = await find_neglected(self.database, self.backoff)
        is_quiet = found == Effects()
        self.rest_seconds = TEND_IDLE_SECONDS if is_quiet else TEND_EVERY_SECONDS
        self.follow(found)


class LeaderDuties:
    """A candidate: the loops of its table begin when it is elected, and end with its lead."""

    def __init__(
        self,
        *,
        database: Database,
        leadership: Leadership,
        metrics: Metrics,
        table: Sequence[LeaderDuty],
    ) -> None:
        self._database = database
        self._leadership = leadership
        self._metrics = metrics
        self._table = table
        self._loops: list[Loop] = []
        self._ending: list[Loop] = []  # of a term that is over

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._metrics.term_led = lambda: self._leadership.term
        self._leadership.start(
            on_elected=partial(_tell, loop, self._begin), on_lost=partial(_tell, loop, self._end)
        )

    def wake(self, name: str) -> None:
        """Let the duty of this name not rest now, if this node leads."""
        for loop in self._loops:
            if loop.name == name:
                loop.wake()

    def resign(self) -> None:
        """Stop at once, without waiting for the thread."""
        self._leadership.resign()
        self._end()

    async def stop(self) -> None:
        """And let what is in the middle of a deed close what it has opened."""
        self._end()
        await asyncio.to_thread(self._leadership.stop)
        self._end()  # an election was on its way
        await asyncio.gather(*(loop.ended(HAND_BACK_SECONDS) for loop in self._ending))

    def _begin(self) -> None:
        self._metrics.elections.inc()
        self._end()
        self._loops = [Loop(duty.name, self._tick_of(duty)) for duty in self._table]
        for loop in self._loops:
            loop.start()

    def _end(self) -> None:
        for loop in self._loops:
            loop.abort()
        self._ending = [loop for loop in (*self._ending, *self._loops) if not loop.is_over]
        self._loops = []

    def _tick_of(self, duty: LeaderDuty) -> Callable[[], Awaitable[float]]:
        async def tick() -> float:
            tenure = self._leadership.tenure
            if tenure is not None and (
                not duty.is_fenced or await is_current(self._database, tenure)
            ):
                with acting_as(machine(duty.acts_as, tenure.node_id)):
                    await duty.do()
                if duty.rest is not None:
                    return duty.rest()
            return duty.every_seconds

        return tick


def _tell(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the node's loop has ended, and its duties with it
        loop.call_soon_threadsafe(call)
