"""Waiting for many handles, which need no server to be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

import windlass
from windlass.sdk.limits import POLLS_MAX


class Promise:
    """Ends when its turn has come: after so many other polls have been made."""

    polls = 0

    def __init__(self, name: str, after: int | None) -> None:
        self.id, self.after = name, after  # None: never

    async def aended(self, seconds: float) -> bool:
        Promise.polls += 1
        if self.after is None:
            await asyncio.sleep(seconds)
            return False
        while Promise.polls < self.after:  # noqa: ASYNC110 (tests on several loops share it)
            await asyncio.sleep(0.001)
        return True


@pytest.fixture(autouse=True)
def _from_the_start() -> None:
    Promise.polls = 0


def names(found: Iterable[Promise]) -> list[str]:
    return [promise.id for promise in found]


def test_wait_tells_those_that_ended_from_those_that_did_not() -> None:
    handles = [Promise("a", 0), Promise("b", None), Promise("c", 0)]
    done, pending = windlass.wait(handles, timeout="20ms")
    assert (names(done), names(pending)) == (["a", "c"], ["b"])
    assert windlass.wait([]) == ([], [])


async def test_wait_can_be_awaited() -> None:
    done, pending = await windlass.await_all([Promise("a", 0), Promise("b", 2)])
    assert (names(done), pending) == (["a", "b"], [])


def test_each_comes_as_soon_as_it_has_ended() -> None:
    handles = [Promise("never", None), Promise("late", 3), Promise("soon", 0)]
    found = []
    with pytest.raises(windlass.ResultTimeout, match=r"never has not ended within 0\.2 sec"):
        found += [handle.id for handle in windlass.as_completed(handles, timeout=0.2)]
    seen = iter(windlass.as_completed(handles))
    assert {next(seen).id, next(seen).id} == {"late", "soon"}


async def test_each_can_be_awaited_as_it_ends() -> None:
    handles = [Promise("late", 3), Promise("soon", 0), Promise("sooner", 0)]
    found = [handle.id async for handle in windlass.as_completed(handles)]
    assert sorted(found) == ["late", "soon", "sooner"]
    assert found[-1] == "late" or Promise.polls == 3


def test_more_than_are_asked_at_once_all_have_their_turn() -> None:
    many = [Promise(f"never {n}", None) for n in range(POLLS_MAX)]
    ready = [Promise(f"ready {n}", 0) for n in range(2 * POLLS_MAX)]
    done, pending = windlass.wait([*many, *ready], timeout=2.5)
    assert names(done) == names(ready)
    assert names(pending) == names(many)


def test_what_a_poll_raises_reaches_who_waits() -> None:
    class Broken(Promise):
        async def aended(self, seconds: float) -> bool:
            raise windlass.Unreachable("http://nowhere", "gone")

    with pytest.raises(windlass.Unreachable):
        windlass.wait([Promise("a", 0), Broken("b", 0)])
