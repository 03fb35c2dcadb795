"""Ends of calls: many come to the loop with one word of it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from windlass.strategies.ends import Call, Ends, harmless


async def test_what_ended_before_the_loop_has_its_turn_is_all_there_then() -> None:
    loop = asyncio.get_running_loop()
    ends, calls = Ends(loop), [Call(loop) for _ in range(3)]
    for number, call in enumerate(calls):
        ends.put(call, number, None)
    assert not any(call.future.done() for call in calls)
    await asyncio.sleep(0)
    assert [call.future.result() for call in calls] == [0, 1, 2]


async def test_no_end_is_overlooked_however_many_threads_put_them() -> None:
    loop = asyncio.get_running_loop()
    ends = Ends(loop)
    calls = [[Call(loop) for _ in range(500)] for _ in range(4)]

    def put(mine: list[Call]) -> None:
        for number, call in enumerate(mine):
            ends.put(call, number, None)

    threads = [threading.Thread(target=put, args=(mine,)) for mine in calls]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(10):
        for mine in calls:
            assert await asyncio.gather(*(call.future for call in mine)) == list(range(500))


async def test_a_call_that_was_stopped_meanwhile_stays_stopped() -> None:
    loop = asyncio.get_running_loop()
    ends, stopped, other = Ends(loop), Call(loop), Call(loop)
    ends.put(stopped, 1, None)
    ends.put(other, None, ValueError("no"))
    stopped.future.cancel()
    with pytest.raises(ValueError, match="no"):
        await other.future
    assert stopped.future.cancelled()


def test_an_end_that_comes_after_the_loop_has_gone_harms_nobody() -> None:
    loop = asyncio.new_event_loop()
    ends, call = Ends(loop), Call(loop)
    loop.close()
    ends.put(call, 1, None)
    assert not call.future.done()


def test_only_what_would_end_a_program_is_made_another_error() -> None:
    plain = ValueError("as it is")
    assert harmless(plain) is plain
    for raised in (SystemExit(2), KeyboardInterrupt(), StopIteration(2), GeneratorExit()):
        made = harmless(raised)
        assert isinstance(made, RuntimeError)
        assert str(made).startswith(f"the task raised {type(raised).__name__}")
