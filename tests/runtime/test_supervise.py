"""Nothing that a node does in the background ends unseen."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.until import until
from windlass import supervise
from windlass.supervise import Restarts, Supervisor


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "RESTART_SECONDS_MIN", 0.01)
    monkeypatch.setattr(supervise, "RESTART_STEADY_SECONDS", 0.2)


@pytest.fixture
def watched() -> tuple[Supervisor, list[str]]:
    supervisor, counted = Supervisor(), list[str]()
    supervisor.on_failure = counted.append
    return supervisor, counted


async def test_a_task_that_ends_by_an_error_is_begun_again_and_named_until_it_lasts(
    watched: tuple[Supervisor, list[str]],
) -> None:
    supervisor, counted = watched
    named: list[list[str]] = []  # whenever it begins

    async def work() -> None:
        named.append(supervisor.vital_down)
        if len(named) < 3:
            raise ValueError("not yet")
        await asyncio.Event().wait()

    task = supervisor.keep("work", work, is_vital=True)

    async def is_well() -> bool:
        return len(named) == 3 and not supervisor.down

    await until(is_well, what="it lasts")
    assert named == [[], ["work"], ["work"]]
    assert counted == ["work", "work"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled(), "who ends it is obeyed"
    assert len(named) == 3


async def test_work_that_is_done_is_not_begun_again(
    watched: tuple[Supervisor, list[str]],
) -> None:
    supervisor, counted = watched

    async def work() -> None:
        if not counted:
            raise ValueError("once")

    await supervisor.keep("work", work)
    assert counted == ["work"]
    assert not supervisor.down


async def test_a_thread_that_ends_by_an_error_is_begun_again(
    watched: tuple[Supervisor, list[str]],
) -> None:
    supervisor, counted = watched
    is_done = threading.Event()

    def work() -> None:
        if len(counted) < 2:
            raise SystemExit("even that")
        is_done.set()

    thread = supervisor.thread("work", work)
    assert await asyncio.to_thread(is_done.wait, 30)
    await asyncio.to_thread(thread.join, 30)
    assert counted == ["work", "work"]
    assert not supervisor.down


async def test_an_errand_that_fails_is_counted(watched: tuple[Supervisor, list[str]]) -> None:
    supervisor, counted = watched

    async def errand() -> None:
        raise ValueError("nobody would have heard")

    await asyncio.wait([supervisor.spawn(errand(), name="errand")])
    assert counted == ["errand"]


def test_rests_between_beginnings_grow_up_to_a_bound() -> None:
    restarts = Restarts(most_seconds=0.05)
    assert [restarts.next_seconds() for _ in range(5)] == [0.01, 0.02, 0.04, 0.05, 0.05]
