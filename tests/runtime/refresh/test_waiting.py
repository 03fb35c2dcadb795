"""Executions that wait in the process: in batches, large ones after a rest, and not too many."""

from __future__ import annotations

import math

from windlass import ids
from windlass.clock import monotonic
from windlass.limits import REFRESH_BATCH_MAX, REFRESH_WAITING_MAX
from windlass.model.workflow.refresh import RefreshThrottle
from windlass.runtime.refresh.backlog import RefreshBacklog


def waiting(rests: RefreshThrottle | None = None) -> tuple[RefreshBacklog, list[int]]:
    dropped: list[int] = []
    return RefreshBacklog(rests or RefreshThrottle(), dropped.append), dropped


def test_they_are_taken_in_batches_and_each_once() -> None:
    some, _ = waiting()
    wanted = ids.uuid7_many(REFRESH_BATCH_MAX + 1)
    some.add(wanted, is_urgent=False)
    some.add(wanted, is_urgent=True)
    assert some.due_at == 0
    batches = [some.take(REFRESH_BATCH_MAX) for _ in range(3)]
    assert [len(batch) for batch in batches] == [REFRESH_BATCH_MAX, 1, 0]
    assert {one for batch in batches for one in batch} == set(wanted)
    assert some.due_at == math.inf


def test_a_large_one_rests_unless_it_is_urgent() -> None:
    rests = RefreshThrottle()
    some, _ = waiting(rests)
    [large] = ids.uuid7_many(1)
    rests.refreshed(large, 1_000_000, monotonic())
    some.add([large], is_urgent=False)
    assert some.take(1) == []
    assert 0 < some.due_at - monotonic() <= 100
    some.add([large], is_urgent=True)
    assert some.take(1) == [large]
    assert len(some) == 0


def test_a_rest_ends() -> None:
    rests = RefreshThrottle()
    some, _ = waiting(rests)
    [large] = ids.uuid7_many(1)
    rests.refreshed(large, 100_000, monotonic() - 9.999)
    some.add([large], is_urgent=False)
    while some.due_at > monotonic():
        pass
    assert some.take(1) == [large]


def test_more_than_so_many_are_left_to_the_net() -> None:
    some, dropped = waiting()
    some.add(ids.uuid7_many(REFRESH_WAITING_MAX + 5), is_urgent=True)
    assert (len(some), sum(dropped)) == (REFRESH_WAITING_MAX, 5)
