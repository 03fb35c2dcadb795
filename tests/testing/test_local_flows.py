"""Schedules, workflows and durable functions of an App, over days of virtual time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.testing.club import app, close_books, collect, digest, greeted, renew, season, trial
from windlass.testing.local import Local, LocalMaker


@pytest.fixture
def local(windlass_local: LocalMaker) -> Local:
    greeted.clear()
    return windlass_local(app, at="2030-03-28T12:00:00Z")  # a Thursday, before the clocks change


def test_a_cron_of_the_app_runs_by_the_clock_of_its_zone(local: Local) -> None:
    local.advance("14d")
    ran = [f"{job.started_at:%a %H:%M}" for job in local.jobs(task=digest)]
    assert ran == ["Mon 07:00", "Mon 07:00"]  # in UTC: summer has begun
    assert len(local.calls(digest)) == 2


def test_a_cron_knows_for_which_instant_it_runs(local: Local) -> None:
    local.advance("40d")
    assert [job.result for job in local.jobs(task=close_books)] == ["April", "May"]
    instants = [kwargs["month"] for _, kwargs in local.calls(close_books)]
    assert instants == [datetime(2030, month, 1, 6, tzinfo=UTC) for month in (4, 5)]


def test_a_workflow_of_the_app_waits_for_its_approval(local: Local) -> None:
    handle = renew.start("ada")
    local.drain()
    assert handle.state() == "running"
    [asked] = list(app.blocking.approvals.list())
    app.blocking.approvals.approve(asked["id"])
    assert handle.result() == 3
    assert local.calls(collect) == [(("ada",), {}), (("yes",), {})]


def test_a_workflow_that_nobody_approves_fails_in_time(local: Local) -> None:
    handle = renew.start("bob")
    local.advance("47h")
    assert handle.state() == "running"
    local.advance("2h")
    assert handle.state() == "failed"


def test_a_durable_function_sleeps_for_two_weeks_at_once(local: Local) -> None:
    handle = trial.start("ada")
    local.drain()
    assert greeted == ["hello ada"]
    local.advance("13d")
    assert greeted == ["hello ada"]
    local.advance("1d")
    assert greeted == ["hello ada", "your trial ends, ada"]
    app.blocking.executions.signal(handle.id, "paid", {"cents": 900})
    assert handle.result() == "member"
    assert local.executions("trial")[0].output == "member"


async def test_a_durable_function_gives_up_waiting_when_its_time_is_over(local: Local) -> None:
    handle = await trial.astart("bob")
    await local.aadvance("16d")
    assert (await local.aexecutions("trial"))[0].state == "running"
    await local.aadvance("2d")
    assert await handle.aresult() == "gone"
    assert greeted == ["hello bob", "your trial ends, bob"]


def test_a_fake_answers_for_a_task_that_is_a_step_of_a_durable_function(local: Local) -> None:
    with local.fake(collect, returns=7, raises=[OSError("away")]) as fake:
        assert season.start("ada").result() == [7, 7]
    assert fake.calls == [(("ada",), {}), (("ada",), {}), (("ada again",), {})]
    assert season.start("bob").result() == [3, 9]
    assert local.calls(collect)[-2:] == [(("bob",), {}), (("bob again",), {})]
    assert collect("a plain call") == 12
    assert len(local.calls(collect)) == 5


def test_nothing_stands_in_for_a_task_after_its_test() -> None:
    assert collect.stand_in is None
