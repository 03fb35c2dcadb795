"""Reading a batch: all its problems, each by its place, and no circles."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.job.submissions import CONTEXT, NOW, batch, pointers, refused
from windlass.errors import InvalidInput
from windlass.limits import BATCH_JOBS_MAX
from windlass.model.job.submission import read_batch


def after(*places: int) -> dict[str, Any]:
    return {"kind": "noop", "depends_on": [f"#{place}" for place in places]}


def test_jobs_of_a_batch_may_wait_for_one_another_in_any_order() -> None:
    drafts = batch(after(1, 2), after(2), after())
    assert [draft.depends_on_places for draft in drafts] == [(1, 2), (2,), ()]


@pytest.mark.parametrize(
    ("jobs", "circle"),
    [
        ([after(0)], "#0"),
        ([after(1), after(0)], "#0, #1"),
        ([after(), after(2), after(3), after(1)], "#1, #2, #3"),
        ([after(), after(0, 2), after(1), after(2)], "#1, #2, #3"),
    ],
)
def test_a_circle_is_refused_and_shown(jobs: list[Any], circle: str) -> None:
    [(pointer, detail)] = refused(lambda: batch(*jobs))
    assert pointer.endswith("/depends_on")
    assert detail == f"these jobs wait in a circle: {circle}"


def test_a_place_that_is_not_in_the_batch_is_refused_wherever_it_is_named() -> None:
    jobs = [after(3), after(), after(0, 999_999)]
    assert pointers(lambda: batch(*jobs)) == ["/jobs/0/depends_on", "/jobs/2/depends_on"]


def test_the_problems_of_every_job_are_told_at_once() -> None:
    jobs = [{"kind": "noop", "queue": ""}, {"kind": "noop"}, 5, {"kind": "x"}, after(-1)]
    assert pointers(lambda: batch(*jobs)) == [
        "/jobs/0/queue", "/jobs/2", "/jobs/3/kind", "/jobs/4/depends_on/0",
    ]  # fmt: skip


def test_a_batch_that_is_wrong_all_over_is_not_told_ten_thousand_times() -> None:
    assert len(refused(lambda: batch(*[5] * BATCH_JOBS_MAX))) == 100


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (None, "/jobs"),
        ([], "/jobs"),
        ({}, "/jobs"),
        ({"jobs": {}}, "/jobs"),
        ({"jobs": []}, "/jobs"),
        ({"jobs": [{"kind": "noop"}] * (BATCH_JOBS_MAX + 1)}, "/jobs"),
        ({"jobs": [{"kind": "noop"}], "odd": 1}, "/odd"),
        ({"jobs": [{"kind": "noop"}], "a/b": 1}, "/a~1b"),
    ],
    ids=["null", "list", "empty", "object", "none", "too many", "odd", "slash"],
)
def test_what_is_no_batch_is_refused(body: Any, pointer: str) -> None:
    assert pointers(lambda: read_batch(body, CONTEXT, NOW)) == [pointer]


def test_the_largest_batch_is_read() -> None:
    chain = [after(), *(after(place) for place in range(BATCH_JOBS_MAX - 1))]
    assert len(batch(*chain)) == BATCH_JOBS_MAX


@given(st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=1, max_size=8))
def test_a_batch_is_taken_exactly_when_it_can_be_put_in_order(waits: list[set[int]]) -> None:
    fits = all(place < len(waits) for places in waits for place in places)
    done: set[int] = set()
    while more := {n for n, places in enumerate(waits) if places <= done} - done:
        done |= more
    try:
        batch(*(after(*places) for places in waits))
    except InvalidInput:
        assert not fits or len(done) < len(waits)
    else:
        assert fits
        assert len(done) == len(waits)
