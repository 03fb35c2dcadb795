"""A lock for the length of a block: taken, renewed in the background, given back at its end.

    with client.lock("deploy", ttl=30, wait="5m") as lock:
        ...                                  # lock.token is the fencing token
    async with async_client.lock("deploy"):
        ...

       asked       granted         renewed              renewed
         |---wait---|-- a third of the ttl --|-- a third --|--- … the ttl at most --> lost
                                             ^ believed from when the renewal was *asked for*

Promises: who believes that it holds the lock does so no longer than the server does: the time is
counted from when the server was asked, by a clock that goes on while the process is stopped or the
machine sleeps, and a forked child never believes it. When the server refuses a renewal or is away
until the time is over, the lock is lost: `lost` is set, and `check()` and the end of the block
raise LockLost. Who is interrupted while waiting (Ctrl-C, a cancelled task) leaves the wait list.
Never: stops the code in the block, which looks at `lost` itself; a token that is older than one
that was seen is for what the lock guards to refuse.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from windlass.clock import boottime
from windlass.duration import parse_seconds
from windlass.errors import Conflict, InvalidInput, LockHeld, LockLost, LockTimeout, WindlassError
from windlass.sdk.http.portal import run
from windlass.sdk.limits import (
    LEAVE_SECONDS,
    OVERLAP_SECONDS,
    PAUSE_SECONDS,
    POLL_SECONDS,
    RENEW_PART,
)
from windlass.sdk.nouns.locks import Locks
from windlass.sdk.objects.resources import LockHold


class LockBelief:
    """Whether one may still believe that one holds a lock; read from any thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lost = threading.Event()
        self.reset()

    def reset(self) -> None:
        """Before it is taken, or taken again."""
        self.token: int | None = None  # None: it was not taken yet
        self.until = 0.0  # by boottime()
        self.is_over = False  # it was given back, or is lost
        self.pid = 0  # of who took it; a forked child did not
        self.lost.clear()

    @property
    def is_held(self) -> bool:
        is_ours = self.token is not None and self.pid == os.getpid()
        return is_ours and not self.is_over and boottime() < self.until

    @property
    def is_lost(self) -> bool:
        """True: it was taken, and is held no longer though nobody gave it back."""
        return self.lost.is_set() or (self.token is not None and not (self.is_over or self.is_held))

    def lose(self) -> None:
        self.is_over = True
        self.lost.set()

    def error(self) -> LockLost:
        return LockLost(self.name, self.token or 0)


class _AnyLock:
    """What both kinds of locks show."""

    _belief: LockBelief

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._belief.name

    @property
    def token(self) -> int:
        """The fencing token: larger than that of every hold before. Raises RuntimeError outside
        of the block.
        """
        if self._belief.token is None:
            raise RuntimeError(f"lock {self.name!r} was not taken yet; use it as `with … as lock:`")
        return self._belief.token

    @property
    def is_held(self) -> bool:
        """Whether it is certain that nobody else has it."""
        return self._belief.is_held

    def check(self) -> None:
        """Raise LockLost if it is held no longer."""
        if not self._belief.is_held:
            raise self._belief.error()

    def __repr__(self) -> str:
        token = self._belief.token
        state = "lost" if self._belief.is_lost else "held" if self.is_held else "not held"
        shown = "" if token is None else f" token {token}"
        return f"<{type(self).__name__} {self.name} {state}{shown}>"


class LostEvent:
    """Set when a lock is lost: to be asked, or waited for in another thread."""

    def __init__(self, belief: LockBelief) -> None:
        self._belief = belief

    def is_set(self) -> bool:
        """Whether the lock is lost."""
        return self._belief.is_lost

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the lock is lost, or so many seconds; returns whether it is."""
        return self._belief.is_lost or self._belief.lost.wait(timeout) or self._belief.is_lost

    def __bool__(self) -> bool:
        return self.is_set()

    def __repr__(self) -> str:
        return f"<LostEvent of lock {self._belief.name}: {'set' if self.is_set() else 'not set'}>"


class AsyncLostEvent:
    """Set when a lock is lost: to be asked, or awaited in another asyncio task."""

    def __init__(self, belief: LockBelief) -> None:
        self._belief = belief
        self._event = asyncio.Event()

    def is_set(self) -> bool:
        """Whether the lock is lost."""
        return self._belief.is_lost

    async def wait(self) -> bool:
        """Wait until the lock is lost."""
        if not self._belief.is_lost:
            await self._event.wait()
        return True

    def tell(self) -> None:
        """Wake those who wait."""
        self._event.set()

    def __bool__(self) -> bool:
        return self.is_set()

    def __repr__(self) -> str:
        return (
            f"<AsyncLostEvent of lock {self._belief.name}: {'set' if self.is_set() else 'not set'}>"
        )


class AsyncLock(_AnyLock):
    """A lock for the length of an `async with` block (`AsyncClient.lock`)."""

    def __init__(
        self,
        locks: Locks,
        name: str,
        *,
        ttl: float | str,
        wait: float | str | None,  # None: however long
        capacity: int | None,  # None: one, or as it is
    ) -> None:
        self._locks, self._capacity = locks, capacity
        self._ttl_seconds = _seconds("ttl", ttl)
        self._wait_seconds = None if wait is None else _seconds("wait", wait)
        self._belief = LockBelief(name)
        self.lost = AsyncLostEvent(self._belief)
        self._key = ""  # of one wait: the same stands for one place in the list
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._renewing is not None:
            raise RuntimeError(f"lock {self.name!r} is in use; make another with client.lock(…)")
        self._belief.reset()
        self.lost = AsyncLostEvent(self._belief)
        self._key = os.urandom(16).hex()
        try:
            hold, asked_at = await self._take()
        except asyncio.CancelledError:
            await self.leave()
            raise
        belief = self._belief
        belief.token, belief.pid = hold.token, os.getpid()
        belief.until = asked_at + self._ttl_seconds
        if boottime() - asked_at > RENEW_PART * self._ttl_seconds:
            # It was granted at some time of the wait, and nobody here knows when.
            await self._first_renewal()
        self._renewing = asyncio.create_task(self._renew(), name=f"windlass lock {self.name}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        renewing, self._renewing = self._renewing, None
        belief = self._belief
        is_ours = belief.pid == os.getpid()  # in a forked child it is the parent's, and its loop
        if is_ours and renewing is not None:
            renewing.cancel()
            await asyncio.wait([renewing])
            await self._release()
        if belief.is_lost:
            if is_ours:
                self._lose()
            if error is None:
                raise belief.error()
            error.add_note(f"windlass: meanwhile lock {self.name!r} was lost")

    # -- take ------------------------------------------------------------------------------------

    async def _take(self) -> tuple[LockHold, float]:
        """The hold, and when it was asked for. A poll begins before the one before it ends: so the
        place in the list is kept.
        """
        begun = boottime()
        polls: dict[asyncio.Task[LockHold | LockHeld], float] = {}
        try:
            while True:
                waited = boottime() - begun
                left = POLL_SECONDS if self._wait_seconds is None else self._wait_seconds - waited
                seconds = max(0.0, min(left, POLL_SECONDS))
                is_last = self._wait_seconds is not None and left <= POLL_SECONDS
                polls[asyncio.create_task(self._ask(seconds))] = boottime()
                answer = await self._first_hold(polls, None if is_last else seconds)
                if isinstance(answer, tuple):
                    return answer
                if is_last and answer is not None:
                    raise self._refusal(answer)
        finally:
            for poll in polls:
                poll.cancel()
            if polls:
                await asyncio.wait(polls)

    async def _first_hold(
        self, polls: dict[asyncio.Task[LockHold | LockHeld], float], seconds: float | None
    ) -> tuple[LockHold, float] | LockHeld | None:
        """What one of them brings before the next has to begin; None: it has to begin now."""
        until = None if seconds is None else boottime() + seconds - OVERLAP_SECONDS
        refused: LockHeld | None = None
        while polls:
            rest = None if until is None else max(0.0, until - boottime())
            done, _ = await asyncio.wait(polls, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                return None
            for poll in done:
                asked_at, answer = polls.pop(poll), poll.result()
                if isinstance(answer, LockHold):
                    return answer, asked_at
                refused = answer
        return refused

    async def _ask(self, seconds: float) -> LockHold | LockHeld:
        try:
            return await self._locks.acquire(
                self.name,
                ttl=self._ttl_seconds,
                wait=seconds,
                capacity=self._capacity,
                key=self._key,
            )
        except LockHeld as held:
            return held

    def _refusal(self, held: LockHeld) -> LockHeld:
        return LockTimeout(held, self._wait_seconds) if self._wait_seconds else held

    async def leave(self) -> None:
        """Go out of the wait list, or give back what was granted meanwhile; twice does no harm."""
        with suppress(WindlassError, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                # Who asks again with its key and does not wait stands in no list afterwards.
                answer = await self._ask(0.0)
                if isinstance(answer, LockHold):  # it was granted at the last moment
                    await self._locks.release(self.name, answer.token)

    # -- keep ------------------------------------------------------------------------------------

    async def _first_renewal(self) -> None:
        asked_at = boottime()
        try:
            await self._locks.renew(self.name, self.token, ttl=self._ttl_seconds)
        except asyncio.CancelledError:
            await self.leave()
            raise
        self._belief.until = asked_at + self._ttl_seconds

    async def _renew(self) -> None:
        """Until it is lost, or this is cancelled."""
        belief, pause = self._belief, PAUSE_SECONDS
        rest = self._ttl_seconds * RENEW_PART
        while True:
            await asyncio.sleep(min(rest, max(0.0, belief.until - boottime())))
            asked_at = boottime()
            if asked_at >= belief.until:
                return self._lose()
            try:
                async with asyncio.timeout(belief.until - asked_at):
                    await self._locks.renew(self.name, self.token, ttl=self._ttl_seconds)
            except Conflict:
                return self._lose()
            except (WindlassError, TimeoutError):
                rest, pause = pause, 2 * pause
            else:
                belief.until = asked_at + self._ttl_seconds
                rest, pause = self._ttl_seconds * RENEW_PART, PAUSE_SECONDS

    def _lose(self) -> None:
        self._belief.lose()
        self.lost.tell()

    async def _release(self) -> None:
        """What cannot be given back now runs out by itself."""
        belief = self._belief
        if not belief.is_held:
            return
        try:
            async with asyncio.timeout(max(0.0, belief.until - boottime())):
                await self._locks.release(self.name, self.token)
        except LockLost:
            belief.lose()
        except (WindlassError, TimeoutError):
            belief.is_over = True
        else:
            belief.is_over = True


def _seconds(parameter: str, value: float | str) -> float:
    try:
        return parse_seconds(value)
    except ValueError as trouble:
        raise InvalidInput.at(f"/{parameter}", str(trouble)) from None


class Lock(_AnyLock):
    """A lock for the length of a `with` block (`Client.lock`); a thread beside renews it."""

    def __init__(self, inner: AsyncLock) -> None:
        self._inner, self._belief = inner, inner._belief

    @property
    def lost(self) -> LostEvent:
        """Set when the lock is lost."""
        return LostEvent(self._belief)

    def __enter__(self) -> Self:
        try:
            run(self._inner.__aenter__())
        except BaseException as raised:
            if not isinstance(raised, Exception):
                # Ctrl-C, perhaps when it had just been granted. The process may end at once, so
                # this waits until it is out of the list.
                run(self._inner.leave())
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        run(self._inner.__aexit__(kind, error, trace))
