"""One attempt of a durable function: replayed from its top, with its checkpoints at hand.

A call that stands where one stood before gives what that gave; the first that does not is done and
kept. When nothing is left to do but to rest, the attempt ends as snoozed and gives its slot back.
The function is then cancelled where it stands, and every call that it makes on its way out (in a
`finally`) is refused, so nothing is written that the next attempt would not do itself.

A call's place must be the same in a replay, though the steps then take no time at all and so finish
in another order. Within one task of asyncio calls follow each other, and so are counted; a task
that the function made is a branch of its own, named by the order in which such branches made their
first call:

    await step(a)                      ""  place 0
    await gather(left(), right())      left: "0"  places 0, 1, …     right: "1"  places 0, 1, …
    await step(b)                      ""  place 1
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final

from windlass.clock import monotonic
from windlass.limits import (
    DURABLE_GRACE_SECONDS,
    DURABLE_LISTEN_SECONDS,
    DURABLE_REST_SECONDS,
)
from windlass.model.job.checkpoint import AttemptEnded, Checkpoint, Checkpoints, Kind, Note
from windlass.model.job.outcome import Failed, Outcome, Snoozed
from windlass.sdk.durable.call import Call
from windlass.sdk.durable.difference import DurableMisuse, Place, explain_mismatch, shown

SLEEP: Final = "sleep"
PATIENCE_SECONDS: Final = 5.0  # that a function has to let itself be cancelled
NEVER: Final = float("inf")


class Run:
    def __init__(
        self, name: str, store: Checkpoints, stored: Iterable[Checkpoint], *, has_signals: bool
    ) -> None:
        self._name = name
        self._store = store
        self._stored: dict[Place, Checkpoint] = {(one.branch, one.place): one for one in stored}
        self._loaded_at = monotonic()
        self._has_signals = has_signals
        self._called: dict[Place, str] = {}
        self._busy = 0  # calls that get somewhere by themselves
        self._rests: dict[object, tuple[float, bool]] = {}  # until (monotonic), and is it listening
        self._is_over = False
        self._ended: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()

    async def drive(self, body: Callable[[], Awaitable[Any]]) -> Any:
        """What the function returns or raises. Raises AttemptEnded if it ends in another way."""
        task = asyncio.create_task(self._begin(body))
        task.add_done_callback(lambda _: self._end(None))
        try:
            outcome = await self._ended
        finally:
            self._is_over = True
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=PATIENCE_SECONDS)
            if task.done() and not task.cancelled():
                task.exception()  # what it raised on its way out is nobody's
        if outcome is None and not task.cancelled() and task.exception() is None:
            outcome = self._unplayed()
        if outcome is not None:
            raise AttemptEnded(outcome)
        return task.result()

    async def _begin(self, body: Callable[[], Awaitable[Any]]) -> Any:
        enter(self)
        return await body()

    # -- what the function calls -----------------------------------------------------------------

    def place(self, branch: Branch, kind: Kind, name: str) -> Place:
        """The place of a call, which is taken when it is made and not when it is awaited."""
        at = branch.path, branch.next_place()
        if not self._is_over:
            self._called[at] = shown(kind, name)
        return at

    async def step(self, at: Place, call: Call) -> Any:
        standing = await self._standing(at, "step", call.name)
        if standing is None:
            with _Busy(self):
                note = _note(at, "step", call.name, result_json=await call.perform())
                self._refuse_late()
                standing = await self._store.keep(note)
            await self._compare(at, standing, "step", call.name)
        return call.decode(standing.result_json)

    async def sleep(self, at: Place, seconds: float) -> None:
        standing = await self._standing(at, "sleep", SLEEP)
        known_at = self._loaded_at
        if standing is None:
            with _Busy(self):
                standing = await self._store.keep(_note(at, "sleep", SLEEP, rest_seconds=seconds))
                known_at = monotonic()
            await self._compare(at, standing, "sleep", SLEEP)
        await self._rest_until(known_at + (standing.left_seconds or 0.0))

    async def wait(self, at: Place, name: str, seconds: float | None) -> Checkpoint:
        """The wait once it is over."""
        if not self._has_signals:
            raise DurableMisuse.without_execution(name)
        standing = await self._standing(at, "wait", name)
        while standing is None or standing.is_open:
            with _Busy(self):
                note = _note(at, "wait", name, rest_seconds=seconds)
                standing = await self._store.listen(note)
            await self._compare(at, standing, "wait", name)
            if standing.is_open:
                left = NEVER if standing.left_seconds is None else standing.left_seconds
                await self._listen_until(monotonic() + min(left, DURABLE_LISTEN_SECONDS))
        return standing

    # -- replaying -------------------------------------------------------------------------------

    async def _standing(self, at: Place, kind: Kind, name: str) -> Checkpoint | None:
        """What was done there before; None: nothing."""
        self._refuse_late()
        standing = self._stored.get(at)
        if standing is not None:
            await self._compare(at, standing, kind, name)
        return standing

    async def _compare(self, at: Place, standing: Checkpoint, kind: Kind, name: str) -> None:
        if (standing.kind, standing.name) != (kind, name):
            self._stored[at] = standing
            self._end(self._mismatch(at))
            await asyncio.get_running_loop().create_future()  # until it is cancelled

    def _mismatch(self, at: Place) -> Failed:
        said = explain_mismatch(self._name, at, self._stored.values(), self._called)
        return Failed("durable_mismatch", said, is_final=True)

    def _unplayed(self) -> Failed | None:
        """It has returned without doing again what it did before: that is another function."""
        left = sorted(at for at in self._stored if at not in self._called)
        return self._mismatch(left[0]) if left else None

    def _refuse_late(self) -> None:
        if self._is_over:
            raise asyncio.CancelledError

    # -- resting ---------------------------------------------------------------------------------

    async def _rest_until(self, until: float) -> None:
        left = until - monotonic()
        if left <= 0:
            return
        if left <= DURABLE_REST_SECONDS:
            with _Busy(self):
                await asyncio.sleep(left)
        else:
            await self._rest(until, left, is_listening=False)

    async def _listen_until(self, until: float) -> None:
        # While other calls keep it here nobody wakes it: it looks by itself.
        left = min(until - monotonic(), DURABLE_REST_SECONDS)
        await self._rest(until, max(left, 0.0), is_listening=True)

    async def _rest(self, until: float, seconds: float, *, is_listening: bool) -> None:
        """Rest here for as long as other calls are busy, and else in the queue."""
        key = object()
        self._rests[key] = until, is_listening
        self._consider()
        try:
            await asyncio.sleep(seconds)
        finally:
            del self._rests[key]
            self._consider()

    def _consider(self) -> None:
        """Is there nothing left but to rest? What goes on between two calls gets a moment."""
        if not self._busy and self._rests and not self._is_over:
            asyncio.get_running_loop().call_later(DURABLE_GRACE_SECONDS, self._snooze)

    def _snooze(self) -> None:
        if self._busy or not self._rests:
            return
        left = min(until for until, _ in self._rests.values()) - monotonic()
        is_listening = any(listens for _, listens in self._rests.values())
        if left > DURABLE_REST_SECONDS or (is_listening and left > 0):
            self._end(Snoozed(left, is_listening))

    def busy(self, change: int) -> None:
        self._busy += change
        if change < 0:
            self._consider()

    def _end(self, outcome: Outcome | None) -> None:
        """None: the function has returned or raised."""
        if not self._ended.done():
            self._is_over = True
            self._ended.set_result(outcome)


class _Busy:
    """While this holds, the attempt gets somewhere."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._run.busy(1)

    def __exit__(self, *_: object) -> None:
        self._run.busy(-1)


def _note(
    at: Place,
    kind: Kind,
    name: str,
    *,
    rest_seconds: float | None = None,
    result_json: str | None = None,
) -> Note:
    return Note(
        branch=at[0],
        place=at[1],
        name=name,
        kind=kind,
        rest_seconds=rest_seconds,
        result_json=result_json,
    )


class Branch:
    """The calls of one task of asyncio, counted."""

    __slots__ = ("_children", "_places", "path", "run", "task")

    def __init__(self, run: Run, path: str) -> None:
        self.run, self.path = run, path
        self.task: asyncio.Task[Any] | None = asyncio.current_task()
        self._places = self._children = 0

    def next_place(self) -> int:
        self._places += 1
        return self._places - 1

    def child(self) -> Branch:
        path = f"{self.path}.{self._children}" if self.path else str(self._children)
        self._children += 1
        return Branch(self.run, path)


# A task inherits it from the one that made it. None: no durable function runs here.
_here: ContextVar[Branch | None] = ContextVar("windlass_branch", default=None)


def enter(run: Run) -> None:
    """The function itself begins, in a task of its own."""
    _here.set(Branch(run, ""))


def branch_here() -> Branch | None:
    """Of the current task; None: no durable function runs here."""
    branch = _here.get()
    if branch is None or branch.task is asyncio.current_task():
        return branch
    child = branch.child()
    _here.set(child)
    return child
