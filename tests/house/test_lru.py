"""The LRU cache: its bounds, who gives way, and for how long it is believed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windlass.lru import Lru


def test_the_least_recently_used_gives_way() -> None:
    lru: Lru[str, int] = Lru(entries_max=2)
    lru.put("a", 1)
    lru.put("b", 2)
    assert lru.get("a") == 1
    lru.put("c", 3)
    assert [lru.get(key) for key in "abc"] == [1, None, 3]
    lru.put("a", 4)
    lru.put("d", 5)
    assert [lru.get(key) for key in "abcd"] == [4, None, None, 5]


def test_what_is_heavy_pushes_out_as_many_as_it_needs_room_for() -> None:
    lru: Lru[str, int] = Lru(entries_max=10, weight_max=10)
    for key in "abcd":
        lru.put(key, 0, 3)
    assert [lru.get(key) is not None for key in "abcd"] == [False, True, True, True]
    lru.put("e", 0, 7)
    assert [lru.get(key) is not None for key in "bcde"] == [False, False, True, True]


def test_what_is_too_heavy_is_not_kept_and_neither_is_what_it_replaces() -> None:
    lru: Lru[str, int] = Lru(entries_max=10, weight_max=10)
    lru.put("a", 1, 10)
    lru.put("b", 2, 11)
    assert (lru.get("a"), lru.get("b")) == (1, None)
    lru.put("a", 3, 11)
    assert (lru.get("a"), len(lru)) == (None, 0)
    single: Lru[str, int] = Lru(entries_max=10, weight_max=10, entry_weight_max=5)
    single.put("a", 1, 5)
    single.put("b", 2, 6)
    assert (single.get("a"), single.get("b")) == (1, None)


def test_what_is_no_longer_believed_is_not_there() -> None:
    at_once: Lru[str, int] = Lru(entries_max=10, believed_seconds=0.0)
    at_once.put("a", 1)
    assert (at_once.get("a"), len(at_once)) == (None, 0)
    later: Lru[str, int] = Lru(entries_max=10, believed_seconds=3_600.0)
    later.put("a", 1)
    assert later.get("a") == 1


def test_dropping_says_how_many_were_there() -> None:
    lru: Lru[str, int] = Lru(entries_max=10)
    for key in "abc":
        lru.put(key, 0)
    assert lru.drop(["a", "x"]) == 1
    assert lru.clear() == 2
    assert len(lru) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=50))
def test_it_never_holds_more_than_its_bounds(puts: list[tuple[int, int]]) -> None:
    lru: Lru[int, int] = Lru(entries_max=4, weight_max=10)
    for key, weight in puts:
        lru.put(key, weight, weight)
        kept = [found for one in range(6) if (found := lru.get(one)) is not None]
        assert len(kept) == len(lru) <= 4
        assert sum(kept) <= 10
