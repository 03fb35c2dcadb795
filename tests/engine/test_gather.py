"""Gathering: nobody waits for a batch that is over, and every caller hears something."""

from __future__ import annotations

import asyncio

import pytest

from windlass.engine.gather import Gather


async def test_whoever_is_woken_by_an_answer_may_ask_again_at_once() -> None:
    async def tenfold(items: list[int]) -> list[int | Exception]:
        await asyncio.sleep(0)
        return [item * 10 for item in items]

    gather = Gather(tenfold, batch_max=10)
    async with asyncio.timeout(60):
        assert [await gather.put(n) for n in range(100)] == [n * 10 for n in range(100)]


async def test_runners_that_end_in_the_same_turn_leave_nobody_behind() -> None:
    gate = asyncio.Event()
    begun: asyncio.Queue[list[str]] = asyncio.Queue()

    async def after_the_gate(items: list[str]) -> list[str | Exception]:
        begun.put_nowait(items)
        await gate.wait()
        return list(items)

    gather = Gather(after_the_gate, batch_max=10, in_flight_max=2)

    async def twice() -> str:
        await gather.put("first")
        return await gather.put("again")

    async with asyncio.timeout(60):
        calls = [asyncio.create_task(twice())]
        assert await begun.get() == ["first"]
        calls.append(asyncio.create_task(gather.put("beside")))
        assert await begun.get() == ["beside"]
        gate.set()
        assert await asyncio.gather(*calls) == ["again", "beside"]


async def test_every_caller_hears_of_a_batch_that_went_wrong() -> None:
    async def too_few(items: list[int]) -> list[int | Exception]:
        if len(items) == 1:
            raise OSError("no")
        return [1]

    gather = Gather(too_few, batch_max=10)
    with pytest.raises(OSError, match="no"):
        await gather.put(1)
    async with asyncio.timeout(60):
        said = await asyncio.gather(gather.put(1), gather.put(2), return_exceptions=True)
    assert [type(one) for one in said] == [RuntimeError, RuntimeError]
