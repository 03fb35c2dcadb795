"""The one background loop: it rests after a failure, and comes back from anything."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from tests.until import until
from windlass import supervise
from windlass.clock import monotonic
from windlass.errors import Unavailable
from windlass.runtime import loop as loops
from windlass.runtime.loop import Loop
from windlass.supervise import supervisor


class Ticks:
    """A tick that does as it is told, and how often it was asked."""

    def __init__(self, do: Callable[[int], Awaitable[float]]) -> None:
        self.count = 0
        self._do = do

    async def __call__(self) -> float:
        self.count += 1
        return await self._do(self.count)

    async def reached(self, count: int) -> None:
        async def is_there() -> bool:
            return self.count >= count

        await until(is_there, what=f"tick {count}")


async def test_a_tick_that_fails_and_wakes_itself_does_not_spin() -> None:
    async def fail(_count: int) -> float:
        loop.wake()
        raise Unavailable("nobody is there")

    ticks = Ticks(fail)
    loop = Loop("spinning", ticks)
    began_at = monotonic()
    loop.start()
    try:
        await ticks.reached(4)
        # Between them lie 0.1, 0.2 and 0.4 seconds, however quick the machine is.
        assert monotonic() - began_at > 0.65
    finally:
        loop.abort()


async def test_a_first_failure_does_not_keep_a_loop_from_hearing_its_waker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "LOOP_REST_SECONDS", 3600.0)
    monkeypatch.setattr(loops, "LOOP_AWAY_SECONDS_MAX", 3600.0)

    async def fail_once(count: int) -> float:
        if count == 1:
            raise Unavailable("for a moment")
        return 3600.0

    ticks = Ticks(fail_once)
    loop = Loop("hearing", ticks)
    loop.start()
    try:
        await ticks.reached(1)
        loop.wake()
        await ticks.reached(2)
    finally:
        loop.abort()


async def test_a_loop_that_rests_after_a_failure_stops_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "LOOP_FLOOR_SECONDS", 3600.0)
    monkeypatch.setattr(loops, "LOOP_REST_SECONDS", 3600.0)
    monkeypatch.setattr(loops, "LOOP_AWAY_SECONDS_MAX", 3600.0)

    async def fail(_count: int) -> float:
        raise Unavailable("nobody is there")

    ticks = Ticks(fail)
    loop = Loop("stopped", ticks)
    loop.start()
    await ticks.reached(1)
    await loop.stop()
    assert ticks.count == 1


async def test_a_loop_that_is_aborted_ends_although_its_tick_does_not_hear_of_it() -> None:
    begun = asyncio.Event()

    async def be_deaf() -> float:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return 3600.0

    loop = Loop("deaf", be_deaf)
    loop.start()
    await begun.wait()
    loop.abort()
    await loop.ended(within_seconds=30)
    assert loop.is_over


async def test_a_cancellation_that_nobody_asked_for_does_not_end_a_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervise, "RESTART_STEADY_SECONDS", 3600.0)
    counted: list[str] = []
    monkeypatch.setattr(supervisor(), "on_failure", counted.append)

    async def be_cancelled(count: int) -> float:
        if count == 1:
            raise asyncio.CancelledError  # as it comes out of a library's cancelled future
        return 3600.0

    ticks = Ticks(be_cancelled)
    loop = Loop("cancelled", ticks)
    loop.start()
    try:
        await ticks.reached(2)
        assert counted == ["cancelled"]
        assert "cancelled" in supervisor().down
    finally:
        loop.abort()
    await until(lambda: _is_up("cancelled"), what="nobody waits for a loop that was ended")


@pytest.mark.parametrize("is_vital", [False, True])
async def test_a_loop_that_fails_again_and_again_is_named_until_it_does_not(
    monkeypatch: pytest.MonkeyPatch, is_vital: bool
) -> None:
    monkeypatch.setattr(loops, "LOOP_REST_SECONDS", 0.01)
    monkeypatch.setattr(loops, "LOOP_FLOOR_SECONDS", 0.01)
    is_mended = asyncio.Event()

    async def fail(_count: int) -> float:
        if not is_mended.is_set():
            raise ValueError("a mistake of ours")
        return 3600.0

    ticks = Ticks(fail)
    loop = Loop("mistaken", ticks, is_vital=is_vital)
    loop.start()
    try:
        await ticks.reached(4)
        assert "mistaken" in supervisor().down
        # Without one that is vital the node runs nothing, however alive it is.
        assert ("mistaken" in supervisor().vital_down) == is_vital
        is_mended.set()
        await until(lambda: _is_up("mistaken"), what="it is well again")
    finally:
        loop.abort()


async def _is_up(name: str) -> bool:
    return name not in supervisor().down
