"""Whose turn it is at locks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.model.job.lock import (
    Grants,
    LockAsk,
    Waiter,
    decide_grants,
    read_lock_ask,
    read_lock_name,
)

START = datetime(2030, 1, 1, tzinfo=UTC)


def waiter(number: int, *locks: str, keeps: bool = False) -> Waiter:
    rank = START + timedelta(seconds=number)
    return Waiter(id=UUID(int=number), locks=locks, rank=rank, keeps_capacity=keeps)


def gone(grants: Grants) -> list[int]:
    return [one.id.int for one in grants.granted]


def test_the_first_waiters_go_and_no_more_than_the_capacity() -> None:
    asked = [waiter(n, "a") for n in (3, 1, 2)]
    assert gone(decide_grants(asked, {"a": 2})) == [1, 2]
    assert gone(decide_grants(asked, {"a": 0})) == []


def test_a_waiter_takes_all_its_locks_or_none() -> None:
    grants = decide_grants([waiter(1, "a", "b")], {"a": 1, "b": 0})
    assert (gone(grants), grants.left) == ([], {"a": 1, "b": 0})


def test_a_patient_waiter_lets_others_go_first_and_an_impatient_one_does_not() -> None:
    behind = waiter(2, "a")
    free = {"a": 1, "b": 0}
    assert gone(decide_grants([waiter(1, "a", "b"), behind], free)) == [2]
    grants = decide_grants([waiter(1, "a", "b", keeps=True), behind], free)
    assert (gone(grants), grants.left) == ([], {"a": 0, "b": 0})


def test_capacity_is_kept_from_those_behind_only() -> None:
    grants = decide_grants([waiter(2, "a", "b", keeps=True), waiter(1, "a")], {"a": 1, "b": 0})
    assert gone(grants) == [1]


def test_of_a_lock_that_was_not_looked_at_nothing_is_given_away() -> None:
    grants = decide_grants([waiter(1, "a", "x"), waiter(2, "a")], {"a": 1})
    assert (gone(grants), [one.id.int for one in grants.unsure]) == ([2], [1])
    grants = decide_grants([waiter(1, "a", "x", keeps=True), waiter(2, "a")], {"a": 1})
    assert (gone(grants), [one.id.int for one in grants.unsure]) == ([], [1])


def test_of_those_who_lack_the_same_one_keeps_what_they_all_want_besides() -> None:
    asked = [waiter(n, "all", "ada", keeps=True) for n in (1, 2, 3)] + [waiter(4, "all", "bob")]
    assert gone(decide_grants(asked, {"all": 2, "ada": 0, "bob": 1})) == [4]
    assert gone(decide_grants(asked, {"all": 1, "ada": 0, "bob": 1})) == []


def test_who_waits_for_a_rate_keeps_nothing() -> None:
    asked = [waiter(1, "all", "ada", keeps=True), waiter(2, "all", "bob")]
    free = {"all": 1, "ada": 0, "bob": 1}
    assert gone(decide_grants(asked, free)) == []
    assert gone(decide_grants(asked, free, {"ada"})) == [2]


LOCKS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
WAITERS = st.lists(st.tuples(LOCKS, st.booleans()), max_size=12)


@given(asked=WAITERS, free=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3)))
def test_capacity_is_never_given_twice_and_whoever_could_go_has_gone(
    asked: list[tuple[list[str], bool]], free: dict[str, int]
) -> None:
    waiters = [waiter(n, *locks, keeps=keeps) for n, (locks, keeps) in enumerate(asked)]
    grants = decide_grants(waiters, free)
    taken = {name: sum(name in one.locks for one in grants.granted) for name in free}
    assert all(taken[name] <= count for name, count in free.items())
    went = set(gone(grants))
    for one in waiters:
        if one.id.int not in went:
            # What is left would not do, or is not ours to give.
            assert any(grants.left.get(name, 0) <= 0 for name in one.locks)


@given(asked=WAITERS)
def test_everybody_gets_its_turn_once_it_keeps_capacity(
    asked: list[tuple[list[str], bool]],
) -> None:
    """In each round all holders end and the first waiter goes, whatever the others want."""
    waiting = [waiter(n, *locks, keeps=True) for n, (locks, _) in enumerate(asked)]
    rounds = 0
    while waiting:
        grants = decide_grants(waiting, dict.fromkeys("abcd", 1))
        assert grants.granted[0] == waiting[0]
        went = set(gone(grants))
        waiting = [one for one in waiting if one.id.int not in went]
        rounds += 1
    assert rounds <= len(asked)


@pytest.mark.parametrize("name", ["a", "card:4711", "user ä@b.c", "9-x", "_", "a" * 128])
def test_a_lock_has_almost_any_name(name: str) -> None:
    assert read_lock_name(name) == name
    assert read_lock_ask(name) == LockAsk(name=name)


@pytest.mark.parametrize(
    "name", ["", "a/b", "..", "-a", "a\nb", "a\x85", "\ud800", "a" * 129, 7, None, ["a"]]
)
def test_what_could_not_stand_in_a_path_is_no_name(name: object) -> None:
    with pytest.raises(ValueError, match=r"must be 1 to 128 printable characters"):
        read_lock_name(name)


def test_a_capacity_is_said_beside_the_name() -> None:
    assert read_lock_ask({"name": "gpu", "capacity": 4}) == LockAsk(name="gpu", capacity=4)
    assert read_lock_ask({"name": "gpu", "capacity": None}) == LockAsk(name="gpu")


@pytest.mark.parametrize(
    "ask", [{}, {"capacity": 1}, {"name": "a", "places": 1}, 5, None, [], {"name": "a/b"}]
)
def test_what_is_no_lock_is_refused(ask: object) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        read_lock_ask(ask)


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, "3", 10_001])
def test_a_capacity_is_a_whole_number(capacity: object) -> None:
    with pytest.raises(ValueError, match=r"whole number from 1 to 10000"):
        read_lock_ask({"name": "a", "capacity": capacity})
