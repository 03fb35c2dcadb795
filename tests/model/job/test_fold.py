"""Folding a job's events gives its row (G10)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from windlass.model.job.event import events_of
from windlass.model.job.fold import Folded, fold

JOB, NODE, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def row(**changed: Any) -> dict[str, Any]:
    """A job that was queued at noon and never touched."""
    job = {
        "id": JOB,
        "created_at": at(0),
        "was_blocked": False,
        "state": "queued",
        "attempt": 0,
        "run_at": at(0),
        "started_at": None,
        "finished_at": None,
        "node_id": None,
        "outcome": None,
        "cause": None,
        "error": None,
    }
    return {**job, **changed}


def attempt(number: int, outcome: str, next_run_at: datetime | None, **changed: Any) -> Any:
    tried = {
        "attempt": number,
        "node_id": NODE,
        "started_at": at(number * 10),
        "ended_at": at(number * 10 + 5),
        "outcome": outcome,
        "next_run_at": next_run_at,
        "due_at": at(number * 10 - 1),
        "error": json.dumps({"cause": outcome, "message": str(number)}),
    }
    return {**tried, **changed}


def noted(seconds: float, type_: str, seq: int, **data: Any) -> dict[str, Any]:
    shown = {k: v.isoformat() if isinstance(v, datetime) else v for k, v in data.items()}
    return {"at": at(seconds), "type": type_, "seq": seq, "job_id": JOB, "data": json.dumps(shown)}


def told(job: dict[str, Any], attempts: Any = (), rows: Any = ()) -> list[tuple[str, float]]:
    return [
        (event.type, (event.at - NOON).total_seconds()) for event in events_of(job, attempts, rows)
    ]


def test_a_job_that_ran_once_is_told_by_its_columns_alone() -> None:
    job = row(
        state="succeeded",
        attempt=1,
        started_at=at(1),
        finished_at=at(2),
        node_id=NODE,
        outcome="succeeded",
    )
    assert told(job) == [("created", 0), ("started", 1), ("finished", 2)]
    assert fold(events_of(job, [], [])) == Folded(
        state="succeeded",
        attempt=1,
        run_at=at(0),
        started_at=at(1),
        finished_at=at(2),
        node_id=NODE,
        outcome="succeeded",
    )


def test_a_job_that_ended_before_it_started_has_no_start() -> None:
    job = row(state="expired", finished_at=at(9), cause="deadline")
    assert told(job) == [("created", 0), ("finished", 9)]
    assert fold(events_of(job, [], [])).state == "expired"


def test_retries_snoozes_and_lost_nodes_are_counted_apart() -> None:
    job = row(state="running", attempt=4, started_at=at(40), run_at=at(39), node_id=OTHER)
    attempts = [
        attempt(1, "failed", at(19)),
        attempt(2, "snoozed", at(29), error=None),
        attempt(3, "lost", at(39)),
    ]
    job_now = fold(events_of(job, attempts, []))
    assert (job_now.state, job_now.attempt, job_now.node_id) == ("running", 4, OTHER)
    assert (job_now.snoozes, job_now.crashes, job_now.run_at) == (1, 1, at(39))
    assert job_now.error == {"cause": "lost", "message": "3"}


def test_what_a_retry_overwrote_is_known_for_the_time_before_it() -> None:
    job = row(state="queued", attempt=1, started_at=at(10), run_at=at(100))
    events = events_of(job, [attempt(1, "failed", at(100))], [])
    before = fold(event for event in events if event.at < at(10))
    assert (before.state, before.attempt, before.run_at) == ("queued", 0, at(9))


def test_a_claim_that_was_handed_back_leaves_no_trace_but_in_the_past() -> None:
    released = noted(5, "released", 1, attempt=1, claimed_at=at(3), node_id=str(NODE))
    events = events_of(row(), [], [released])
    assert fold(events) == Folded(state="queued", run_at=at(0))
    held = fold(event for event in events if event.at <= at(4))
    assert (held.state, held.attempt, held.node_id) == ("running", 1, NODE)


def test_an_unblocked_and_promoted_job_is_due_when_it_was_said() -> None:
    job = row(was_blocked=True, run_at=at(8))
    rows = [
        noted(4, "unblocked", 1, run_at=at(60), from_run_at=at(60)),
        noted(8, "promoted", 2, run_at=at(8), from_run_at=at(60)),
    ]
    events = events_of(job, [], rows)
    blocked = fold(event for event in events if event.at < at(4))
    assert (blocked.state, blocked.run_at) == ("blocked", at(60))
    assert fold(events) == Folded(state="queued", run_at=at(8))


def test_a_replay_gives_all_tries_back_and_keeps_how_it_had_ended() -> None:
    job = row(attempt=1, started_at=at(10), run_at=at(20), was_blocked=False)
    rows = [
        noted(15, "finished", 1, state="dead", outcome="failed", attempt=1, cause="x"),
        noted(20, "replayed", 2, run_at=at(20), attempt=1, from_run_at=at(9)),
    ]
    events = events_of(job, [attempt(1, "failed", None)], rows)
    dead = fold(event for event in events if event.at <= at(15))
    assert (dead.state, dead.finished_at, dead.cause) == ("dead", at(15), "x")
    again = fold(events)
    assert (again.state, again.replays, again.snoozes) == ("queued", 1, 1)
    assert (again.finished_at, again.outcome, again.run_at) == (None, None, at(20))


def test_events_that_are_told_for_people_move_nothing() -> None:
    asked = noted(5, "cancel_requested", 1)
    sung = noted(6, "sung", 2)
    job = fold(events_of(row(), [], [asked, sung]))
    assert (job.state, job.cancel_requested_at) == ("queued", at(5))
