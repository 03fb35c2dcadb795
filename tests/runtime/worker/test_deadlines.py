"""Deadlines: never early, never forgotten, and gone with the attempt they belong to."""

from __future__ import annotations

import asyncio

import pytest

from windlass.limits import DEADLINE_LOOK_SECONDS
from windlass.runtime.worker.slots import Deadlines


@pytest.mark.parametrize("looks", [0.5, 1.0, 2.5])
async def test_what_runs_on_is_stopped_and_not_before_its_time(looks: float) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    seconds = looks * DEADLINE_LOOK_SECONDS
    began_at = loop.time()
    Deadlines().after(loop, seconds, stopped.set)
    async with asyncio.timeout(10):
        await stopped.wait()
    assert loop.time() - began_at >= seconds - 0.002  # a loop's clock has its grain


async def test_what_has_ended_is_not_stopped_whether_it_had_a_timer_or_not() -> None:
    loop, stopped, later = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    deadlines = Deadlines()
    near, far = 0.5 * DEADLINE_LOOK_SECONDS, 50 * DEADLINE_LOOK_SECONDS
    ends_soon = [deadlines.after(loop, seconds, stopped.set) for seconds in (near, far)]
    ends_later = deadlines.after(loop, far, stopped.set)
    runs_on = deadlines.after(loop, far + near, later.set)
    for deadline in ends_soon:
        deadline.cancel()
    async with asyncio.timeout(10):
        while runs_on.timer is None:  # noqa: ASYNC110 (what is waited for has no event)
            await asyncio.sleep(0.001)
        assert ends_later.timer is not None
        ends_later.cancel()
        await later.wait()
    assert not stopped.is_set()


async def test_deadlines_set_after_a_look_are_looked_at_as_well() -> None:
    loop, deadlines = asyncio.get_running_loop(), Deadlines()
    async with asyncio.timeout(10):
        for _ in range(3):
            stopped = asyncio.Event()
            deadlines.after(loop, 1.5 * DEADLINE_LOOK_SECONDS, stopped.set)
            await stopped.wait()
