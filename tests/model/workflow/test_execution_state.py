"""The state of an execution is the aggregate of its jobs, in whatever order they are heard of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.model.job.states import LEGAL_MOVES, STATES, TERMINAL, State
from windlass.model.workflow.execution import (
    Aggregate,
    Circumstances,
    JobFact,
    aggregate,
    execution_state,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PLAIN = Circumstances()


def at(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def job(number: int, state: State, *, is_foreseen: bool = False, place: int = 0) -> JobFact:
    """Job `number` as it is at `place`, when it has started if its state says so."""
    return JobFact(
        job_id=UUID(int=number),
        state=state,
        is_foreseen=is_foreseen,
        started_at=at(number) if state in ("running", "succeeded", "dead") else None,
        finished_at=at(100 + number + place) if state in TERMINAL else None,
    )


def jobs(*states: State) -> Aggregate:
    return aggregate(job(number, state) for number, state in enumerate(states))


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("queued",), "pending"),
        (("blocked", "queued"), "pending"),
        (("queued", "skipped"), "pending"),
        (("running", "queued"), "running"),
        (("succeeded", "queued"), "running"),
        (("dead", "blocked"), "running"),
        (("succeeded",), "succeeded"),
        (("succeeded", "skipped"), "succeeded"),
        (("skipped",), "succeeded"),
        (("succeeded", "dead"), "failed"),
        (("succeeded", "expired"), "failed"),
        (("dead", "cancelled"), "failed"),
        (("succeeded", "cancelled"), "cancelled"),
        ((), "pending"),
    ],
)
def test_the_state(states: tuple[State, ...], expected: str) -> None:
    assert execution_state(jobs(*states), PLAIN) == expected


def test_a_foreseen_failure_fails_nothing_by_itself() -> None:
    foreseen = [job(1, "dead", is_foreseen=True), job(2, "succeeded")]
    assert execution_state(aggregate(foreseen), PLAIN) == "succeeded"
    assert execution_state(aggregate([*foreseen, job(3, "dead")]), PLAIN) == "failed"


def test_a_foreseen_cancellation_cancels_only_if_somebody_asked() -> None:
    stopped = aggregate([job(1, "cancelled", is_foreseen=True), job(2, "succeeded")])
    assert execution_state(stopped, PLAIN) == "succeeded"
    assert execution_state(stopped, Circumstances(is_cancelled=True)) == "cancelled"


def test_what_somebody_paused_is_paused_until_it_has_ended() -> None:
    paused = Circumstances(is_paused=True)
    assert execution_state(jobs("running"), paused) == "paused"
    assert execution_state(jobs(), paused) == "paused"
    assert execution_state(jobs("succeeded"), paused) == "succeeded"


def test_what_is_doomed_ends_failed_when_all_have_ended() -> None:
    doomed = Circumstances(is_doomed=True)
    assert execution_state(jobs("cancelled", "running"), doomed) == "running"
    assert execution_state(jobs("cancelled", "succeeded"), doomed) == "failed"


def test_it_ends_with_its_last_job_and_starts_with_its_first() -> None:
    ended = jobs("succeeded", "succeeded", "skipped")
    assert (ended.started_at, ended.finished_at) == (at(0), at(102))
    assert jobs("succeeded", "queued").finished_at is None


@st.composite
def histories(draw: st.DrawFn) -> list[list[tuple[int, JobFact]]]:
    """Of some jobs, every state they ever were in, by legal moves: replays too. Each with its place
    in the life of its job.
    """
    told = []
    for number in range(draw(st.integers(1, 5))):
        is_foreseen = draw(st.booleans())
        state: State = draw(st.sampled_from(("blocked", "queued")))
        life = [(0, job(number, state, is_foreseen=is_foreseen))]
        for place in range(1, draw(st.integers(1, 8))):
            state = draw(st.sampled_from(sorted(LEGAL_MOVES[state])))
            life.append((place, job(number, state, is_foreseen=is_foreseen, place=place)))
        told.append(life)
    return told


CIRCUMSTANCES = st.builds(
    Circumstances, is_paused=st.booleans(), is_cancelled=st.booleans(), is_doomed=st.booleans()
)


@given(histories(), CIRCUMSTANCES, st.data())
def test_folding_the_events_of_jobs_in_any_order_gives_the_aggregate(
    lives: list[list[tuple[int, JobFact]]], known: Circumstances, data: st.DataObject
) -> None:
    told = data.draw(st.permutations([event for life in lives for event in life]))
    again = told + data.draw(st.lists(st.sampled_from(told)))  # some are heard twice
    newest: dict[UUID, tuple[int, JobFact]] = {}
    for place, fact in again:
        newest[fact.job_id] = max(newest.get(fact.job_id, (-1, fact)), (place, fact), key=_place)
    folded = aggregate(fact for _, fact in newest.values())
    now = aggregate(life[-1][1] for life in lives)
    assert folded == now
    assert execution_state(folded, known) == execution_state(now, known)


def _place(event: tuple[int, JobFact]) -> int:
    return event[0]


@given(st.lists(st.sampled_from(STATES), min_size=1), CIRCUMSTANCES)
def test_it_has_an_end_exactly_while_it_has_ended(
    states: list[State], known: Circumstances
) -> None:
    now = jobs(*states)
    is_ended = execution_state(now, known) in ("succeeded", "failed", "cancelled")
    assert is_ended == (now.finished_at is not None)
