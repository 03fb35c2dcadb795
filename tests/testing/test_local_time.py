"""The virtual clock: what falls due is done at its instant, as on a node that is awake."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.testing.shop import app, charge, receipt
from windlass.testing.local import LocalMaker, TooManyInstants


def schedule(name: str, **body: Any) -> None:
    job = {"kind": "python", "input": {"task": "charge", "args": [1]}}
    app.blocking.schedules.put(name, {"job": job, **body})


def fired_at(name: str) -> list[str]:
    """A clock that was moved goes on: whoever is paused for a second then fires late."""
    history = app.blocking.schedules.firings(name)
    shown = {"late": "fired"}
    return sorted(
        f"{firing['instant']} {shown.get(firing['state'], firing['state'])}" for firing in history
    )


def test_time_passes_as_far_as_it_is_told(windlass_local: LocalMaker) -> None:
    local = windlass_local(app, at="2030-01-31T12:00:00Z")
    assert timedelta() <= local.now - datetime(2030, 1, 31, 12, tzinfo=UTC) < timedelta(minutes=1)
    before = local.now
    assert local.advance("3d") == []
    assert timedelta(days=3) <= local.now - before < timedelta(days=3, minutes=1)
    with pytest.raises(ValueError, match="forward only"):
        local.advance(timedelta(seconds=-1))


def test_a_job_runs_when_its_time_has_come(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    late, soon = charge.using(run_after="2h").enqueue(2), charge.using(run_after="1h").enqueue(1)
    assert local.drain() == []
    ran = local.advance("90m")
    assert [job.args for job in ran] == [[1]]
    assert (soon.state(), late.state()) == ("succeeded", "queued")
    [job] = local.advance("1d")
    assert job.started_at is not None
    assert timedelta() <= job.started_at - job.run_at < timedelta(minutes=1)
    assert late.result() == 2


def test_retries_back_off_over_hours_in_a_moment(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    with local.fake(charge, raises=[OSError("away")] * 4):
        handle = charge.enqueue(1)
        local.advance("1d")
    [job] = local.jobs()
    assert (job.state, job.attempt, handle.state()) == ("dead", 4, "dead")
    assert job.finished_at is not None
    # 10, 20 and 40 minutes after the attempt before.
    took = job.finished_at - job.created_at
    assert timedelta(minutes=70) <= took < timedelta(minutes=71)


def test_a_deadline_that_passes_ends_what_has_not_begun(windlass_local: LocalMaker) -> None:
    local = windlass_local(app, at="2030-06-01T00:00:00Z")
    app.blocking.queues.put("default", max_jobs=10)
    app.blocking.queues.pause("default")
    handle = charge.using(deadline=local.now + timedelta(hours=1)).enqueue(1)
    local.drain()
    assert handle.state() == "queued"
    local.advance("1h")
    assert handle.state() == "expired"


def test_a_schedule_fires_at_each_of_its_instants(windlass_local: LocalMaker) -> None:
    local = windlass_local(app, at="2030-01-31T12:00:00Z")
    schedule("daily", cron="0 8 * * *", timezone="UTC")
    ran = local.advance("3d")
    assert [job.state for job in ran] == ["succeeded"] * 3
    assert fired_at("daily") == [
        "2030-02-01T08:00:00Z fired",
        "2030-02-02T08:00:00Z fired",
        "2030-02-03T08:00:00Z fired",
    ]


def test_time_waits_for_a_schedule_that_somebody_has_in_hand(windlass_local: LocalMaker) -> None:
    local = windlass_local(app, at="2030-01-31T12:00:00Z")
    schedule("daily", cron="0 8 * * *", timezone="UTC")
    with psycopg.connect(local.database_url) as other, ThreadPoolExecutor() as beside:
        other.execute("SELECT FROM windlass.schedule FOR UPDATE")
        advancing = beside.submit(local.advance, "3d")
        with pytest.raises(TimeoutError):
            advancing.result(timeout=0.3)  # as a leader's round does that takes its time
        other.commit()
        ran = advancing.result()
    assert [job.state for job in ran] == ["succeeded"] * 3


@pytest.mark.parametrize(
    ("begin", "instants"),
    [
        # In spring 02:30 does not exist: the first minute after the gap stands for it.
        ("2030-03-29T12:00:00Z", ["03-30T01:30", "03-31T01:00", "04-01T00:30"]),
        # In autumn it comes twice, and fires once.
        ("2030-10-25T12:00:00Z", ["10-26T00:30", "10-27T00:30", "10-28T01:30"]),
    ],
)
def test_a_schedule_goes_through_a_change_of_the_clock(
    windlass_local: LocalMaker, begin: str, instants: list[str]
) -> None:
    local = windlass_local(app, at=begin)
    schedule("nightly", cron="30 2 * * *", timezone="Europe/Berlin")
    local.advance("3d")
    assert fired_at("nightly") == [f"2030-{instant}:00Z fired" for instant in instants]


def test_two_rules_and_a_retry_come_in_the_order_of_their_instants(
    windlass_local: LocalMaker,
) -> None:
    local = windlass_local(app, at="2030-01-31T12:00:00Z")
    schedule("hourly", cron="0 * * * *", timezone="UTC")
    schedule("quarter-past", cron="15 * * * *", timezone="UTC")
    receipt.using(run_after="70m").enqueue(1, to="x")
    ran = sorted(local.advance("2h"), key=lambda job: job.started_at or job.created_at)
    assert [job.task for job in ran] == ["charge", "charge", "receipt", "charge", "charge"]


def test_more_instants_than_a_test_can_run_through_are_refused(
    windlass_local: LocalMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.testing.local.STEPS_MAX", 5)
    local = windlass_local(app, at="2030-01-31T12:00:00Z")
    schedule("often", every="1m")
    with pytest.raises(TooManyInstants, match="more than 5 instants fall due between now and 2030"):
        local.advance("1d")


def test_a_wait_of_an_hour_takes_no_time(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    job = app.blocking.jobs.submit(kind="wait", input={"duration": "1h"})
    short = app.blocking.jobs.submit(kind="wait", input={"duration": "20s"})
    local.drain()
    assert app.blocking.jobs.get(short["id"])["state"] == "queued"
    local.advance("59m")
    assert app.blocking.jobs.get(short["id"])["state"] == "succeeded"
    assert app.blocking.jobs.get(job["id"])["state"] == "queued"
    local.advance("1m")
    assert app.blocking.jobs.get(job["id"])["state"] == "succeeded"


def test_an_approval_that_nobody_answers_times_out(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    ask = {"id": "ok", "kind": "approval", "input": {"title": "Ship it?"}, "timeout": "48h"}
    ship = {
        "id": "ship",
        "kind": "python",
        "needs": ["ok"],
        "input": {"task": "charge", "args": [3]},
    }
    app.blocking.workflows.put({"name": "fulfil", "steps": [ask, ship]})
    first = app.blocking.executions.start("fulfil", {})
    second = app.blocking.executions.start("fulfil", {})
    local.drain()
    assert [one.state for one in local.executions("fulfil")] == ["running", "running"]
    asked = {one["execution_id"]: one["id"] for one in app.blocking.approvals.list()}
    app.blocking.approvals.approve(asked[first["id"]])
    local.drain()
    assert local.calls(charge) == [((3,), {})]
    local.advance("47h")
    assert {one.id: one.state for one in local.executions()} == {
        first["id"]: "succeeded",
        second["id"]: "running",
    }
    local.advance("1h")
    assert local.executions()[1].state == "failed"
    assert len(local.calls(charge)) == 1


def test_a_lock_that_a_caller_holds_runs_out_in_virtual_time(windlass_local: LocalMaker) -> None:
    local = windlass_local(app)
    app.blocking.locks.acquire("card", ttl="10m")
    handle = charge.using(locks=["card"]).enqueue(1)
    local.drain()
    assert handle.state() == "queued"
    local.advance("11m")
    assert handle.result() == 1
