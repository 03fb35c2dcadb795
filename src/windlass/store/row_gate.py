"""Contention on one row: a mutex and a backoff for each thing that callers ask for by name.

Many may ask for one row that somebody else holds. If each of them tried by itself, they would take
the few connections there are from those who ask for something else. So those of one process go one
by one, in the order in which they came; the first of them tries, rests and tries again, and the
others wait behind it without a connection.
Promises: however many ask for a thing that is held, there is one try at a time, and a rest after
each. Whoever asks is told after its own time, give or take one rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from windlass.clock import monotonic
from windlass.errors import Unavailable
from windlass.limits import (
    ASKED_REST_SECONDS,
    ASKED_REST_SECONDS_MAX,
    ASKED_ROW_SECONDS,
    ASKED_ROW_SECONDS_MAX,
    DATABASE_CONNECT_SECONDS,
)


class RowGate:
    """Of one thing."""

    def __init__(self) -> None:
        self.mutex = asyncio.Lock()
        self.callers = 0  # inside, and those that wait
        self.wait_seconds = ASKED_ROW_SECONDS  # for the row, by the next try
        self._rest_seconds = 0.0  # 0: it was free when it was last asked for
        self._next_try_at = 0.0  # by the monotonic clock

    def rests_beyond(self, give_up_at: float) -> bool:
        """Whether there is no try any more before then."""
        return self._rest_seconds > 0 and self._next_try_at >= give_up_at

    async def rest(self) -> None:
        await asyncio.sleep(max(0.0, self._next_try_at - monotonic()))

    def was_held(self) -> None:
        self.wait_seconds = min(2 * self.wait_seconds, ASKED_ROW_SECONDS_MAX)
        doubled = min(2 * self._rest_seconds, ASKED_REST_SECONDS_MAX)
        self._rest_seconds = max(doubled, ASKED_REST_SECONDS)
        self._next_try_at = monotonic() + self._rest_seconds

    def was_free(self) -> None:
        self.wait_seconds = ASKED_ROW_SECONDS
        self._rest_seconds = self._next_try_at = 0.0


class RowGates:
    def __init__(self) -> None:
        self._gates: dict[Hashable, RowGate] = {}

    @asynccontextmanager
    async def pass_through(self, about: Hashable | None) -> AsyncIterator[RowGate]:
        """The gate of this thing, once it is the caller's turn. None: of something that has no
        name, for which nobody waits.
        """
        if about is None:
            yield RowGate()
            return
        gate = self._gates.setdefault(about, RowGate())
        gate.callers += 1
        try:
            await _acquire(gate.mutex)
            try:
                yield gate
            finally:
                gate.mutex.release()
        finally:
            gate.callers -= 1
            if not gate.callers:
                del self._gates[about]


async def _acquire(mutex: asyncio.Lock) -> None:
    try:
        async with asyncio.timeout(DATABASE_CONNECT_SECONDS):
            await mutex.acquire()
    except TimeoutError as trouble:
        raise Unavailable("too many ask for the same; repeat it") from trouble
