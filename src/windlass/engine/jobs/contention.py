"""Lock contention at the door: submissions that need a row which another transaction holds.

    a batch meets a row that somebody holds -> who needs it leaves the batch -> comes here
        -> each name has a line of its own, tried again with rests that grow
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
class _Line:
    waiting: list[_Waiting] = field(default_factory=list)
    runner: asyncio.Task[None] | None = None


class ContendedSubmissions:
    """A line for each name that is held."""

    def __init__(self, attempt: Try) -> None:
        self._attempt = attempt
        self._lines: dict[Name, _Line] = {}
        self.count = 0
        self._turn = asyncio.Semaphore(_LANES_AT_ONCE)

    def needs(self, request: Request) -> bool:
        """Whether it asks for something that is known to be held."""
        return bool(self._lines) and any(name in self._lines for name in request.needs)

    async def put(self, request: Request) -> Accepted:
        """Wait until it is accepted or refused. Raises RowLocked when that took too long."""
        if self.count >= ENQUEUE_HELD_MAX:
            raise (
                request.answer if isinstance(request.answer, RowLocked) else RowLocked(_too_many())
            )
        known = (name for name in request.needs if name in self._lines)
        name = request.held_by or next(known, request.needs[0])
        answer: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()
        until = monotonic() + ENQUEUE_HELD_SECONDS
        self.count += 1
        self._join(name, _Waiting(request=request, until=until, answer=answer))
        return await answer

    def _join(self, name: Name, one: _Waiting) -> None:
        line = self._lines.setdefault(name, _Line())
        line.waiting.append(one)
        if line.runner is None:
            line.runner = supervisor().keep("enqueue detour", partial(self._serve, name, line))

    async def _serve(self, name: Name, line: _Line) -> None:
        rest = ENQUEUE_HELD_REST_SECONDS
        while line.waiting:
            held = len(line.waiting)
            async with self._turn:
                await self._try(name, line)
            if len(line.waiting) < held:
                rest = ENQUEUE_HELD_REST_SECONDS
            elif line.waiting:
                await asyncio.sleep(rest)
                rest = min(2 * rest, ENQUEUE_HELD_REST_SECONDS_MAX)
        del self._lines[name]

    async def _try(self, name: Name, line: _Line) -> None:
        """Once; those who have their answer, or wait for something else, leave the line."""
        tried = line.waiting[:]
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
                    line.waiting.remove(one)
                    self._join(other, one)
                continue
            line.waiting.remove(one)
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
