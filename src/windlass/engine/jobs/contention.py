"""Lock contention at the door: submissions that need a row which another transaction holds.

    a batch meets a row that somebody holds -> who needs it leaves the batch -> comes here
        -> each name has a wait list of its own, tried again with rests that grow
        -> accepted when the row is free, or told to come back after ENQUEUE_HELD_SECONDS

Owns: who waits for such a row, by the name of what it needs (a queue, a key, a parent).
Promises: one connection serves all of them, for some milliseconds at a time, so a row that is held
for an hour costs its own submitters their answer and nobody else anything. A name that is known to
be held is not tried by a batch again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from windlass.clock import monotonic
from windlass.engine.jobs.request import Accepted, Request
from windlass.limits import (
    ENQUEUE_HELD_MAX,
    ENQUEUE_HELD_REST_SECONDS,
    ENQUEUE_HELD_REST_SECONDS_MAX,
    ENQUEUE_HELD_SECONDS,
)
from windlass.store.database import RowLocked
from windlass.supervise import supervisor

Name = tuple[str, ...]
# Tries all of them once, apart if need be, and gives each its answer: RowLocked, as long as it is.
Try = Callable[[list[Request]], Awaitable[None]]

_LANES_AT_ONCE: Final = 1


@dataclass(slots=True, kw_only=True)
class _Waiting:
    request: Request
    until: float  # by the monotonic clock
    answer: asyncio.Future[Accepted]


@dataclass(slots=True, kw_only=True)
class _WaitList:
    waiting: list[_Waiting] = field(default_factory=list)
    runner: asyncio.Task[None] | None = None


class ContendedSubmissions:
    """A wait list for each name that is held."""

    def __init__(self, attempt: Try) -> None:
        self._attempt = attempt
        self._wait_lists: dict[Name, _WaitList] = {}
        self.count = 0
        self._turn = asyncio.Semaphore(_LANES_AT_ONCE)

    def needs(self, request: Request) -> bool:
        """Whether it asks for something that is known to be held."""
        return bool(self._wait_lists) and any(name in self._wait_lists for name in request.needs)

    async def put(self, request: Request) -> Accepted:
        """Wait until it is accepted or refused. Raises RowLocked when that took too long."""
        if self.count >= ENQUEUE_HELD_MAX:
            raise (
                request.answer if isinstance(request.answer, RowLocked) else RowLocked(_too_many())
            )
        known = (name for name in request.needs if name in self._wait_lists)
        name = request.held_by or next(known, request.needs[0])
        answer: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()
        until = monotonic() + ENQUEUE_HELD_SECONDS
        self.count += 1
        self._join(name, _Waiting(request=request, until=until, answer=answer))
        return await answer

    def _join(self, name: Name, one: _Waiting) -> None:
        its = self._wait_lists.setdefault(name, _WaitList())
        its.waiting.append(one)
        if its.runner is None:
            its.runner = supervisor().keep("enqueue detour", partial(self._serve, name, its))

    async def _serve(self, name: Name, its: _WaitList) -> None:
        rest = ENQUEUE_HELD_REST_SECONDS
        while its.waiting:
            held = len(its.waiting)
            async with self._turn:
                await self._try(name, its)
            if len(its.waiting) < held:
                rest = ENQUEUE_HELD_REST_SECONDS
            elif its.waiting:
                await asyncio.sleep(rest)
                rest = min(2 * rest, ENQUEUE_HELD_REST_SECONDS_MAX)
        del self._wait_lists[name]

    async def _try(self, name: Name, its: _WaitList) -> None:
        """Once; those who have their answer, or wait for something else, leave the wait list."""
        tried = its.waiting[:]
        try:
            await self._attempt([one.request for one in tried])
        except Exception as trouble:  # every caller must hear of it
            for one in tried:
                one.request.answer = trouble
        now = monotonic()
        for one in tried:
            answer = one.request.answer
            if isinstance(answer, RowLocked) and now < one.until and not one.answer.done():
                if (other := one.request.held_by or name) != name:
                    its.waiting.remove(one)
                    self._join(other, one)
                continue
            its.waiting.remove(one)
            self.count -= 1
            if not one.answer.done():  # the caller went away; its job stands all the same
                _tell(one.answer, answer)


def _tell(future: asyncio.Future[Accepted], answer: Accepted | Exception | None) -> None:
    if isinstance(answer, Accepted):
        future.set_result(answer)
    else:
        future.set_exception(answer or RowLocked("the submission was not answered"))


def _too_many() -> str:
    return f"{ENQUEUE_HELD_MAX} submissions wait for what other transactions hold; repeat it"
