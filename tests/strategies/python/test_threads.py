"""Sync tasks in threads: many at once, and stopped when their time is up."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.strategies.calls import called
from tests.until import until
from windlass.strategies.python.threads import SHORT_SECONDS, Threads


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads()
    yield made
    made.close()


def task_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "windlass task"]


async def test_a_call_gives_its_value_from_another_thread(threads: Threads) -> None:
    def where(a: int, *, b: int) -> tuple[int, int]:
        return a + b, threading.get_ident()

    total, thread = await called(threads, where, [1], {"b": 2})
    assert total == 3
    assert thread != threading.get_ident()


async def test_an_exception_comes_out_as_it_is(threads: Threads) -> None:
    with pytest.raises(ZeroDivisionError):
        await called(threads, lambda: 1 / 0, [], {})


@pytest.mark.parametrize(
    "raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
async def test_what_would_end_a_program_ends_the_task_only(
    threads: Threads, raised: BaseException
) -> None:
    def leave() -> None:
        raise raised

    with pytest.raises(RuntimeError, match=f"the task raised {type(raised).__name__}"):
        await called(threads, leave, [], {})
    assert await called(threads, lambda: "still there", [], {}) == "still there"


async def test_a_stop_iteration_does_not_leave_its_caller_waiting(threads: Threads) -> None:
    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError, match="the task raised StopIteration"):
            await called(threads, lambda: next(iter([])), [], {})


async def test_as_many_run_at_once_as_are_called(threads: Threads) -> None:
    all_are_here = threading.Barrier(20)
    async with asyncio.timeout(10):
        calls = [called(threads, all_are_here.wait, [10], {}) for _ in range(20)]
        assert sorted(await asyncio.gather(*calls)) == list(range(20))


async def test_a_thread_is_used_again(threads: Threads) -> None:
    first = await called(threads, threading.get_ident, [], {})
    await until(lambda: threads.idle == 1, within_seconds=10)
    assert await called(threads, threading.get_ident, [], {}) == first


async def stop_when_begun(
    threads: Threads, function: Callable[[], None], begun: Callable[[], bool]
) -> None:
    """Call it and let its time be up a moment after it has begun."""
    call = asyncio.create_task(called(threads, function, [], {}))
    await until(begun, within_seconds=10)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await call


async def test_a_busy_loop_is_really_stopped_when_its_time_is_up(threads: Threads) -> None:
    counter = [0]

    def spin() -> None:
        while True:
            counter[0] += 1

    await stop_when_begun(threads, spin, lambda: counter[0] > 0)
    await until(lambda: threads.idle == 1, within_seconds=10)
    stopped_at = counter[0]
    await asyncio.sleep(0.05)
    assert counter[0] == stopped_at


async def test_a_task_that_catches_every_exception_is_stopped_all_the_same(
    threads: Threads,
) -> None:
    begun, cleaned_up = threading.Event(), threading.Event()

    def stubborn() -> None:
        try:
            begun.set()
            while True:
                try:
                    time.sleep(0.001)
                except Exception:
                    continue
        finally:
            cleaned_up.set()

    await stop_when_begun(threads, stubborn, begun.is_set)
    await until(cleaned_up.is_set, within_seconds=10)


async def test_a_task_stuck_in_a_c_call_gives_its_slot_free_and_ends_later(
    threads: Threads,
) -> None:
    begun, came_back = threading.Event(), threading.Event()
    held = threading.Lock()
    held.acquire()

    def stuck() -> None:
        begun.set()
        held.acquire()
        came_back.set()  # not reached: the stop takes effect at the next instruction

    await stop_when_begun(threads, stuck, begun.is_set)
    assert await called(threads, lambda: 5, [], {}) == 5
    assert threads.idle < 2, "the first is still stuck, and held nobody up"
    held.release()
    await until(lambda: threads.idle == 2, within_seconds=10)
    assert not came_back.is_set()


async def test_a_stop_hits_no_later_call(threads: Threads) -> None:
    """Calls that end just when they are stopped; whatever comes after them must be untouched."""
    for n in range(100):
        call = asyncio.create_task(called(threads, time.sleep, [0.0002 * (n % 5)], {}))
        await asyncio.sleep(0.0002 * (n % 7))
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await called(threads, lambda n=n: n, [], {}) == n


async def test_a_call_cancelled_before_it_begins_is_never_made(threads: Threads) -> None:
    made: list[int] = []
    call = asyncio.create_task(called(threads, made.append, [1], {}))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await called(threads, lambda: None, [], {})
    assert made == []


async def test_closing_lets_the_threads_go() -> None:
    before = set(task_threads())
    threads = Threads()
    all_are_here = threading.Barrier(5)
    await asyncio.gather(*(called(threads, all_are_here.wait, [10], {}) for _ in range(5)))
    await until(lambda: threads.idle == 5, within_seconds=10)
    threads.close()
    await until(lambda: set(task_threads()) <= before, within_seconds=10)


async def test_idle_threads_beyond_the_new_size_go(threads: Threads) -> None:
    before = set(task_threads())

    def count() -> int:
        return len(set(task_threads()) - before)

    gate = threading.Event()
    calls = [asyncio.create_task(called(threads, gate.wait, [], {})) for _ in range(4)]
    await until(lambda: count() == 4, within_seconds=10)
    threads.keep(1)
    assert count() == 4, "they are in use"
    gate.set()
    await asyncio.gather(*calls)

    # A thread is idle a moment after its call has ended.
    def have_gone() -> bool:
        threads.keep(1)
        return count() == 1

    await until(have_gone, within_seconds=10)
    assert await called(threads, str, [7], {}) == "7"


async def learn_that_calls_are_short(threads: Threads) -> None:
    def is_known() -> bool:
        return threads._call_seconds < SHORT_SECONDS

    async with asyncio.timeout(10):
        while not is_known():
            await asyncio.gather(*(called(threads, int, [], {}) for _ in range(50)))


async def test_after_many_short_calls_a_long_one_holds_up_none_of_its_neighbours(
    threads: Threads,
) -> None:
    await learn_that_calls_are_short(threads)
    rounds, gates = 5, [threading.Event() for _ in range(4)]
    async with asyncio.timeout(10):
        for _ in range(rounds):
            # Each but the last waits for one that was called after it.
            waits = [called(threads, gate.wait, [10], {}) for gate in gates]
            opens = [called(threads, gate.set, [], {}) for gate in reversed(gates)]
            assert (await asyncio.gather(*waits, *opens))[: len(gates)] == [True] * len(gates)
            for gate in gates:
                gate.clear()


async def test_short_calls_by_the_thousand_all_end_as_they_should(threads: Threads) -> None:
    def odd_ones_fail(n: int) -> int:
        if n % 2:
            raise ValueError(str(n))
        return n

    async with asyncio.timeout(20):
        for _ in range(5):
            calls = [called(threads, odd_ones_fail, [n], {}) for n in range(1_000)]
            ends = await asyncio.gather(*calls, return_exceptions=True)
            assert ends[::2] == list(range(0, 1_000, 2))
            assert [str(end) for end in ends[1::2]] == [str(n) for n in range(1, 1_000, 2)]


async def test_stopping_one_of_many_short_calls_stops_no_other(threads: Threads) -> None:
    await learn_that_calls_are_short(threads)
    begun = threading.Event()

    def spin() -> None:
        begun.set()
        while True:
            pass

    spinning = asyncio.create_task(called(threads, spin, [], {}))
    others = asyncio.gather(*(called(threads, str, [n], {}) for n in range(200)))
    await until(begun.is_set, within_seconds=10)
    spinning.cancel()
    async with asyncio.timeout(10):
        assert await others == [str(n) for n in range(200)]
        await asyncio.gather(spinning, return_exceptions=True)
        assert await called(threads, int, [], {}) == 0
