"""Async tasks on a loop of their own: whatever they do there, the node's loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tests.strategies.calls import called
from windlass.strategies.python.user_loop import PATIENCE_SECONDS, UserLoop


@pytest.fixture
def loop() -> Iterator[UserLoop]:
    made = UserLoop()
    yield made
    made.close()


async def test_a_call_gives_its_value_from_another_loop(loop: UserLoop) -> None:
    async def where(a: int, *, b: int) -> tuple[int, int]:
        await asyncio.sleep(0)
        return a + b, threading.get_ident()

    total, thread = await called(loop, where, [1], {"b": 2})
    assert total == 3
    assert thread != threading.get_ident()


async def test_an_exception_comes_out_as_it_is(loop: UserLoop) -> None:
    async def fail() -> None:
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError, match="no"):
        await called(loop, fail, [], {})


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
async def test_what_would_end_a_program_ends_the_task_only(
    loop: UserLoop, raised: BaseException
) -> None:
    async def leave() -> None:
        raise raised

    async def stay() -> str:
        await asyncio.sleep(0.02)
        return "still there"

    staying = asyncio.create_task(called(loop, stay, [], {}))
    with pytest.raises(RuntimeError, match=f"the task raised {type(raised).__name__}"):
        await called(loop, leave, [], {})
    assert await staying == "still there"


async def test_a_task_that_cancels_itself_has_failed_and_is_not_taken_for_stopped(
    loop: UserLoop,
) -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError

    async def wait_for_a_cancelled_one() -> None:
        inner = asyncio.ensure_future(asyncio.sleep(60))
        inner.cancel()
        await inner

    for task in (give_up, wait_for_a_cancelled_one):
        with pytest.raises(RuntimeError, match="cancelled itself"):
            await called(loop, task, [], {})


async def test_tasks_run_side_by_side(loop: UserLoop) -> None:
    async def meet(barrier: list[asyncio.Barrier]) -> int:
        if not barrier:
            barrier.append(asyncio.Barrier(10))
        return await barrier[0].wait()

    shared: list[asyncio.Barrier] = []
    async with asyncio.timeout(5):
        numbers = await asyncio.gather(*(called(loop, meet, [shared], {}) for _ in range(10)))
    assert sorted(numbers) == list(range(10))


async def test_a_stopped_task_is_cancelled_where_it_waits(loop: UserLoop) -> None:
    seen: list[str] = []
    begun, over = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            begun.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            over.set()

    call = asyncio.create_task(called(loop, wait, [], {}))
    assert await asyncio.to_thread(begun.wait, 5)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await call
    assert await asyncio.to_thread(over.wait, 5)
    assert seen == ["cancelled"]


async def test_a_coroutine_that_blocks_holds_up_neither_the_node_nor_the_tasks_after_it(
    loop: UserLoop,
) -> None:
    begun, release = threading.Event(), threading.Event()

    async def block() -> None:
        begun.set()
        release.wait(30)

    async def quick() -> str:
        return "done"

    call = asyncio.create_task(called(loop, block, [], {}))
    assert await asyncio.to_thread(begun.wait, 5)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):  # the node's own loop goes on, or this would not end
            await call
    # The loop stands still until it is given up; then there is a fresh one.
    async with asyncio.timeout(PATIENCE_SECONDS + 5):
        while True:
            try:
                async with asyncio.timeout(0.1):
                    assert await called(loop, quick, [], {}) == "done"
                break
            except TimeoutError:
                continue
    release.set()


async def test_a_closed_loop_ends_its_thread() -> None:
    loop = UserLoop()

    async def who() -> threading.Thread:
        return threading.current_thread()

    thread = await called(loop, who, [], {})
    loop.close()
    await asyncio.to_thread(thread.join, 5)
    assert not thread.is_alive()


async def test_what_has_not_begun_on_a_stuck_loop_begins_on_the_next(loop: UserLoop) -> None:
    begun, release = threading.Event(), threading.Event()

    async def block() -> threading.Thread:
        begun.set()
        release.wait(30)
        return threading.current_thread()

    async def who() -> threading.Thread:
        return threading.current_thread()

    held_up = await called(loop, who, [], {})
    stuck = asyncio.create_task(called(loop, block, [], {}))
    assert await asyncio.to_thread(begun.wait, 5)
    behind = [asyncio.create_task(called(loop, who, [], {})) for _ in range(3)]
    await asyncio.sleep(0)  # they are handed over
    stuck.cancel()
    async with asyncio.timeout(PATIENCE_SECONDS + 10):
        threads = await asyncio.gather(*behind)
    assert held_up not in threads
    release.set()
    await asyncio.to_thread(held_up.join, 5)
    assert not held_up.is_alive(), "it was given up, and has nothing left to do"


async def test_a_task_that_others_cancel_before_it_begins_leaves_nobody_waiting(
    loop: UserLoop,
) -> None:
    ready, all_are_here = threading.Event(), threading.Event()

    async def cancel_the_others() -> None:
        ready.set()
        all_are_here.wait(10)
        await asyncio.sleep(0)  # now they are on the loop too, and have not had a turn
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def wait() -> None:
        await asyncio.sleep(60)

    first = asyncio.create_task(called(loop, cancel_the_others, [], {}))
    assert await asyncio.to_thread(ready.wait, 5)
    others = [asyncio.create_task(called(loop, wait, [], {})) for _ in range(3)]
    for _ in range(3):  # a turn to call, and one in which the other loop is told of it
        await asyncio.sleep(0)
    all_are_here.set()
    async with asyncio.timeout(10):
        await first
        ends = await asyncio.gather(*others, return_exceptions=True)
    assert [str(end) for end in ends] == ["the task cancelled itself"] * 3


async def test_an_end_that_another_coroutine_keeps_from_being_told_is_heard_before_a_stop(
    loop: UserLoop,
) -> None:
    blocks, release = threading.Event(), threading.Event()
    ends: list[object] = []

    async def quick() -> str:
        return "done"

    async def block() -> None:
        blocks.set()
        release.wait(30)

    ended = loop.start(quick, [], {}, lambda value, raised: ends.append(raised or value))
    stuck = loop.start(block, [], {}, lambda value, raised: ends.append(raised or value))
    assert await asyncio.to_thread(blocks.wait, 5)
    assert not ended.stop(), "it has ended, whatever its neighbour does"
    assert ends == ["done"]
    assert stuck.stop()
    release.set()


async def test_an_end_is_heard_of_although_another_coroutine_blocks_in_the_same_turn(
    loop: UserLoop,
) -> None:
    release = threading.Event()

    async def quick() -> str:
        return "done"

    async def block() -> str:
        release.wait(30)
        return "released"

    ended = asyncio.create_task(called(loop, quick, [], {}))
    stuck = asyncio.create_task(called(loop, block, [], {}))
    async with asyncio.timeout(20):
        assert await ended == "done"
        assert not stuck.done()
        release.set()
        assert await stuck == "released"
