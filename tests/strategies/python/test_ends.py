"""Completions of calls: many come to the loop with one word of it."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

from windlass.strategies.python.completions import Call, Completions, harmless


class Told:
    def __init__(self) -> None:
        self.values: list[object] = []
        self.raised: list[BaseException] = []
        self._more = asyncio.Event()

    def __call__(self, value: object, raised: BaseException | None) -> None:
        if raised is None:
            self.values.append(value)
        else:
            self.raised.append(raised)
        self._more.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.values) + len(self.raised) < count:
                self._more.clear()
                await self._more.wait()


async def test_what_ended_before_the_loop_has_its_turn_is_all_there_then() -> None:
    ends, told = Completions(asyncio.get_running_loop()), Told()
    for number in range(3):
        ends.put(Call(told), number, None)
    assert told.values == []
    await asyncio.sleep(0)
    assert told.values == [0, 1, 2]


async def test_no_end_is_overlooked_however_many_threads_put_them() -> None:
    ends = Completions(asyncio.get_running_loop())
    told = [Told() for _ in range(4)]

    def put(mine: Told) -> None:
        for number in range(500):
            ends.put(Call(mine), number, None)

    threads = [threading.Thread(target=put, args=(mine,)) for mine in told]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(10):
        for mine in told:
            await mine.until(500)
            assert mine.values == list(range(500))


async def test_a_call_that_was_stopped_meanwhile_stays_stopped() -> None:
    ends, told = Completions(asyncio.get_running_loop()), Told()
    stopped = Call(told)
    ends.put(stopped, 1, None)
    ends.put(Call(told), None, ValueError("no"))
    stopped.forget()
    await told.until(1)
    assert (told.values, list(map(str, told.raised))) == ([], ["no"])


async def test_one_that_goes_wrong_when_it_is_told_keeps_no_other_from_it() -> None:
    loop = asyncio.get_running_loop()
    ends, told, troubles = Completions(loop), Told(), list[str]()
    loop.set_exception_handler(lambda _, context: troubles.append(repr(context["exception"])))

    def fail(_value: object, _raised: BaseException | None) -> None:
        raise ZeroDivisionError

    try:
        ends.put(Call(fail), 1, None)
        ends.put(Call(told), 2, None)
        await told.until(1)
    finally:
        loop.set_exception_handler(None)
    assert (told.values, troubles) == ([2], ["ZeroDivisionError()"])


async def test_what_is_begun_on_an_end_does_not_keep_the_loop_from_others() -> None:
    loop = asyncio.get_running_loop()
    ends, other_had_its_turn = Completions(loop), asyncio.Event()

    def again(_value: object, _raised: BaseException | None) -> None:
        if not other_had_its_turn.is_set():
            ends.put(Call(again), None, None)

    ends.put(Call(again), None, None)
    loop.call_soon(other_had_its_turn.set)
    async with asyncio.timeout(10):
        await other_had_its_turn.wait()


async def test_an_end_is_told_in_the_context_of_the_node() -> None:
    loop, who = asyncio.get_running_loop(), ContextVar("who", default="the node")
    ends, told = Completions(loop), loop.create_future()

    def put() -> None:
        who.set("a task")
        ends.put(Call(lambda *_: told.set_result(who.get())), None, None)

    await asyncio.to_thread(put)
    async with asyncio.timeout(10):
        assert await told == "the node"


def test_an_end_that_comes_after_the_loop_has_gone_harms_nobody() -> None:
    loop, told = asyncio.new_event_loop(), Told()
    ends = Completions(loop)
    loop.close()
    ends.put(Call(told), 1, None)
    assert told.values == []


def test_only_what_would_end_a_program_is_made_another_error() -> None:
    plain = ValueError("as it is")
    assert harmless(plain) is plain
    for raised in (SystemExit(2), KeyboardInterrupt(), StopIteration(2), GeneratorExit()):
        made = harmless(raised)
        assert isinstance(made, RuntimeError)
        assert str(made).startswith(f"the task raised {type(raised).__name__}")
