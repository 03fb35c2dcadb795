"""What a test holds: an App on a real node, whose time it decides.

    def test_a_receipt_is_sent(windlass_local):
        local = windlass_local(app)
        handle = place_order.enqueue(42)
        local.drain()
        assert handle.result() == "placed"
        assert local.calls(send_receipt) == [((42,), {})]

Every verb comes twice, as in the SDK: `drain()` blocks, `await local.adrain()` does not.

Time passes from one due instant to the next (`advance`). A jump over three days would be a node
that slept for three days: schedules would see misfires, and a retry would run long after it was
due. So time moves to each instant at which something is due, in order, and everything is done there
before it moves on, as on a node that is awake.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeVar

from windlass.clock import wall
from windlass.duration import parse_seconds
from windlass.errors import WindlassError
from windlass.model.job.submission import read_instant
from windlass.sdk.http.cross_loop import on_loop
from windlass.sdk.tasks.app import App
from windlass.testing import local_seen
from windlass.testing.local_calls import Call, Calls, Fake, Raised
from windlass.testing.local_capture import Capture
from windlass.testing.local_clock import VirtualClock
from windlass.testing.local_quiet import Facts, Quiet
from windlass.testing.local_seen import SeenExecution, SeenJob
from windlass.testing.local_stage import Stage

T = TypeVar("T")
QUIET_SECONDS_MAX: Final = 30.0  # of real time


class Named(Protocol):
    """A task, as the SDK makes it."""

    @property
    def name(self) -> str: ...


class Local:
    def __init__(self, app: App, stage: Stage, calls: Calls) -> None:
        self.app = app
        self._stage, self._calls = stage, calls

    @property
    def now(self) -> datetime:
        """What time it is for the node."""
        return wall()

    @property
    def database_url(self) -> str:
        """For code under test that has a connection of its own."""
        return self._stage.database_url

    # -- letting it run --------------------------------------------------------------------------

    def drain(self, timeout: float = QUIET_SECONDS_MAX) -> list[SeenJob]:
        """Run until nothing is due and nothing runs; returns the jobs that began or ended.

        What is due later stays where it is. Raises NotQuiet after `timeout` seconds of real time.
        """
        return self._run(self._drain(timeout))

    async def adrain(self, timeout: float = QUIET_SECONDS_MAX) -> list[SeenJob]:
        return await self._await(self._drain(timeout))

    def advance(
        self, by: float | str | timedelta, timeout: float = QUIET_SECONDS_MAX
    ) -> list[SeenJob]:
        """Let time pass, and do what falls due at its instant; returns the jobs that moved."""
        return self._run(self._advance(by, timeout))

    async def aadvance(
        self, by: float | str | timedelta, timeout: float = QUIET_SECONDS_MAX
    ) -> list[SeenJob]:
        return await self._await(self._advance(by, timeout))

    # -- looking at it ---------------------------------------------------------------------------

    def jobs(self, *, task: Named | str | None = None, state: str | None = None) -> list[SeenJob]:
        """All jobs there are, oldest first; of a task, or in a state."""
        return self._run(self._jobs(task, state))

    async def ajobs(
        self, *, task: Named | str | None = None, state: str | None = None
    ) -> list[SeenJob]:
        return await self._await(self._jobs(task, state))

    def executions(self, workflow: str | None = None) -> list[SeenExecution]:
        """All executions there are, oldest first."""
        return self._run(self._executions(workflow))

    async def aexecutions(self, workflow: str | None = None) -> list[SeenExecution]:
        return await self._await(self._executions(workflow))

    def calls(self, task: Named | str) -> list[Call]:
        """The arguments of every call that the node made of a task, retries and fakes included."""
        return self._calls.of(_name(task))

    # -- standing in for it ----------------------------------------------------------------------

    def fake(
        self,
        task: Named | str,
        *,
        returns: Any = None,
        raises: Iterable[Raised] | Raised = (),
    ) -> Fake:
        """Let this answer instead of the task, until the test ends or its `with` does.

        `raises` are what its first calls raise, one each (None: that call returns); all calls after
        them return `returns`. The newest fake of a task answers.
        """
        several = raises if isinstance(raises, Iterable) else [raises]
        return self._calls.fake(_name(task), returns, several)

    @contextlib.contextmanager
    def capture(self) -> Iterator[Capture]:
        """What is enqueued meanwhile is recorded and never run."""
        captured = Capture(self._stage)
        self._run(captured.begin())
        try:
            yield captured
        finally:
            self._run(captured.end())

    @contextlib.asynccontextmanager
    async def acapture(self) -> AsyncIterator[Capture]:
        captured = Capture(self._stage)
        await self._await(captured.begin())
        try:
            yield captured
        finally:
            await self._await(captured.end())

    # -- on the stage's loop ---------------------------------------------------------------------

    async def _drain(self, timeout: float) -> list[SeenJob]:
        begun = wall()
        await self._stage.quiet.reach(timeout)
        return await local_seen.jobs(self._stage.running.database, begun)

    async def _advance(self, by: float | str | timedelta, timeout: float) -> list[SeenJob]:
        delta = by if isinstance(by, timedelta) else timedelta(seconds=parse_seconds(by))
        if delta < timedelta():
            raise ValueError(f"time goes forward only, not by {delta}")
        begun = wall()
        await advance(self._stage.quiet, self._stage.clock, delta, timeout)
        return await local_seen.jobs(self._stage.running.database, begun)

    async def _jobs(self, task: Named | str | None, state: str | None) -> list[SeenJob]:
        return [
            job
            for job in await local_seen.jobs(self._stage.running.database)
            if (task is None or job.task == _name(task)) and (state is None or job.state == state)
        ]

    async def _executions(self, workflow: str | None) -> list[SeenExecution]:
        found = await local_seen.executions(self._stage.running.database)
        return [one for one in found if workflow is None or one.workflow == workflow]

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._stage.run(work)

    async def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return await on_loop(self._stage.loop, work)


class LocalMaker(Protocol):
    """The fixture `windlass_local`: call it with the App under test."""

    def __call__(self, app: App, *, at: datetime | str | None = None) -> Local:
        """`at`: what time it is when the test begins; None: what time it really is."""
        ...


def instant_of(at: datetime | str | None) -> datetime | None:
    if isinstance(at, datetime) and at.tzinfo is None:
        raise ValueError("the instant at which a test begins needs a time zone")
    return read_instant(at) if isinstance(at, str) else at


def _name(task: Named | str) -> str:
    return task if isinstance(task, str) else task.name


STEPS_MAX: Final = 2_000
_MOMENT: Final = timedelta(milliseconds=1)  # what is due at an instant is due just after it


class TooManyInstants(WindlassError):
    """Between now and then more falls due than a test can run through."""

    code = "too_many_instants"


async def advance(quiet: Quiet, clock: VirtualClock, by: timedelta, seconds_max: float) -> Facts:
    """Do all that falls due until then, each thing at its instant. `seconds_max` is for each."""
    facts = await quiet.reach(seconds_max)
    until = facts.now + by
    for _ in range(STEPS_MAX):
        if facts.next_at is None or facts.next_at > until:
            break
        await clock.move_to(facts.next_at + _MOMENT)
        facts = await quiet.reach(seconds_max)
    else:
        raise TooManyInstants(
            f"more than {STEPS_MAX} instants fall due between now and {until:%Y-%m-%d %H:%M:%SZ}, "
            f"the next at {_shown(facts.next_at)}; advance by less, or pause what is due so often"
        )
    if facts.now < until:
        await clock.move_to(until)
        facts = await quiet.reach(seconds_max)
    return facts


def _shown(instant: datetime | None) -> str:
    return "no time" if instant is None else f"{instant:%Y-%m-%d %H:%M:%SZ}"
