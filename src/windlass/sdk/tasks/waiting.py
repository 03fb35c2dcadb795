"""Waiting for many handles at once.

Each is asked by a poll that the server holds until it has ended, so many of them at a time. When
there are more, polls are short: those that wait get their turn, and what has ended is soon found.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing
from typing import Generic, Protocol, TypeVar

from windlass.clock import monotonic
from windlass.errors import ResultTimeout
from windlass.sdk.limits import POLL_SECONDS, POLL_SHORT_SECONDS, POLLS_MAX
from windlass.sdk.tasks.handle import Handle, refuse_in_task, run
from windlass.sdk.tasks.options import Duration, seconds_of


class Awaited(Protocol):
    """A handle of a job or of an execution."""

    @property
    def id(self) -> str: ...

    async def aended(self, seconds: float) -> bool:
        """Whether it has ended, after a wait of at most so long."""
        ...


H = TypeVar("H", bound=Awaited)
R = TypeVar("R")


def wait(handles: Iterable[H], timeout: Duration | None = None) -> tuple[list[H], list[H]]:
    """Those that have ended, whatever their end was, and those that had not within `timeout`."""
    return run(await_all(handles, timeout))


async def await_all(
    handles: Iterable[H], timeout: Duration | None = None
) -> tuple[list[H], list[H]]:
    """`wait` for code that awaits."""
    asked = list(handles)
    ended = {handle.id async for handle in _as_they_end(asked, _deadline(timeout))}
    return (
        [handle for handle in asked if handle.id in ended],
        [handle for handle in asked if handle.id not in ended],
    )


async def results_of(handles: Iterable[Handle[R]], timeout: Duration | None = None) -> list[R]:
    """In their order. Raises JobFailed as soon as one has failed, or ResultTimeout."""
    deadline = _deadline(timeout)
    turns = asyncio.Semaphore(POLLS_MAX)

    async def result_of(handle: Handle[R]) -> R:
        async with turns:
            if deadline is None or timeout is None:
                return await handle.aresult()
            try:
                return await handle.aresult(max(0.0, deadline - monotonic()))
            except ResultTimeout:
                raise ResultTimeout(handle.id, seconds_of(timeout)) from None

    asked = [asyncio.create_task(result_of(handle)) for handle in handles]
    try:
        return await asyncio.gather(*asked)
    finally:
        for one in asked:
            one.cancel()


class as_completed(Generic[H]):  # noqa: N801 (it is used as a function, like the one in asyncio)
    """Each handle as soon as its job has ended: `for` and `async for` both work.

    Raises ResultTimeout when some have not ended within `timeout`.
    """

    def __init__(self, handles: Iterable[H], timeout: Duration | None = None) -> None:
        self._handles = list(handles)
        self._timeout = timeout

    def __iter__(self) -> Iterator[H]:
        # Whoever stops early leaves it behind: its loop closes what nobody holds any more.
        ended = self._ended()
        while (handle := run(_next(ended))) is not None:
            yield handle

    def __aiter__(self) -> AsyncIterator[H]:
        return self._ended()

    async def _ended(self) -> AsyncGenerator[H, None]:
        late = {handle.id: None for handle in self._handles}
        async with aclosing(_as_they_end(self._handles, _deadline(self._timeout))) as ended:
            async for handle in ended:
                late.pop(handle.id, None)
                yield handle
        if late and self._timeout is not None:
            raise ResultTimeout(next(iter(late)), seconds_of(self._timeout))


async def _next(ended: AsyncGenerator[H, None]) -> H | None:
    return await anext(ended, None)


async def _as_they_end(handles: list[H], deadline: float | None) -> AsyncGenerator[H, None]:
    """Those that have ended by `deadline` (monotonic; None: there is none)."""
    waiting = deque(handles)
    polls: dict[asyncio.Task[bool], H] = {}
    if handles:
        refuse_in_task(handles[0].id)
    try:
        while waiting or polls:
            while waiting and len(polls) < POLLS_MAX:
                handle = waiting.popleft()
                polls[asyncio.create_task(handle.aended(_poll(deadline, bool(waiting))))] = handle
            done, _ = await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
            for poll in done:
                handle = polls.pop(poll)
                if poll.result():
                    yield handle
                elif deadline is None or monotonic() < deadline:
                    waiting.append(handle)
    finally:
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)


def _deadline(timeout: Duration | None) -> float | None:
    return None if timeout is None else monotonic() + seconds_of(timeout)


def _poll(deadline: float | None, has_more: bool) -> float:
    """How long one poll may take."""
    longest = POLL_SHORT_SECONDS if has_more else POLL_SECONDS
    return longest if deadline is None else max(0.0, min(longest, deadline - monotonic()))
