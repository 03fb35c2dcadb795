"""Which shards are this node's as others come and go, and what it has to look into then."""

from __future__ import annotations

from uuid import UUID

from windlass.model.workflow.refresh import SHARDS, shards_of
from windlass.runtime.refresh.shards import Shards

ME, OTHER, THIRD = UUID(int=1), UUID(int=2), UUID(int=3)
Look = tuple[frozenset[int], int]


def watched() -> tuple[Shards, list[Look]]:
    looks: list[Look] = []
    return Shards(lambda some, taken_over: looks.append((some, taken_over))), looks


def test_alone_it_has_them_all_and_looks_into_all() -> None:
    shards, looks = watched()
    shards.members(ME, [ME])
    assert shards.own == frozenset(range(SHARDS))
    assert looks == [(shards.own, 0)]


def test_while_nothing_changes_it_looks_into_none() -> None:
    shards, looks = watched()
    for _ in range(3):
        shards.members(ME, [OTHER, ME])
    assert shards.own == shards_of(ME, [ME, OTHER])
    assert len(looks) == 1


def test_whoever_comes_takes_some_and_nobody_has_to_look() -> None:
    shards, looks = watched()
    shards.members(ME, [ME])
    shards.members(ME, [ME, OTHER])
    assert shards.own == shards_of(ME, [ME, OTHER])
    assert len(looks) == 1


def test_whoever_goes_leaves_his_to_the_others_who_look_into_all_of_theirs() -> None:
    shards, looks = watched()
    shards.members(ME, [ME, OTHER, THIRD])
    shards.members(ME, [ME, THIRD])
    taken_over = shards_of(ME, [ME, THIRD]) - shards_of(ME, [ME, OTHER, THIRD])
    assert taken_over
    assert looks[1] == (shards.own, len(taken_over))


def test_a_node_that_leaves_or_lost_its_lease_has_none() -> None:
    shards, _ = watched()
    shards.members(ME, [ME])
    shards.members(ME, [OTHER])
    assert shards.own == frozenset()
    shards.members(ME, [ME])
    shards.lose()
    assert shards.own == frozenset()
    shards.members(THIRD, [THIRD])
    assert len(shards.own) == SHARDS
