"""Schedules beside the code that they run, judged where they are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import windlass
from windlass.errors import InvalidInput


@pytest.fixture
def app() -> windlass.App:
    return windlass.App("shop")


def test_a_task_under_a_cron_is_still_that_task(app: windlass.App) -> None:
    @app.cron("0 8 * * 1-5", timezone="Europe/Berlin", overlap="skip", jitter="30s")
    @app.task(queue="mail", timeout="30s", tags=["mail"])
    def digest(to: str = "all", *, top: int = 3) -> str:
        return f"{to} {top}"

    assert digest("you") == "you 3"
    assert app.schedules["digest"].body("shop") == {
        "cron": "0 8 * * 1-5",
        "timezone": "Europe/Berlin",
        "jitter": "30s",
        "job": {
            "kind": "python",
            "input": {"task": "digest"},
            "queue": "mail",
            "timeout": 30.0,
            "tags": ["mail"],
        },
        "overlap": "skip",
        "tags": ["app:shop"],
        "source": "app",
    }


def test_a_plain_function_becomes_a_task(app: windlass.App) -> None:
    @app.every(timedelta(minutes=5), starts_at=datetime(2030, 1, 1, tzinfo=UTC), catchup="1h")
    async def tick() -> None: ...

    assert app.tasks["tick"] is tick
    body = app.schedules["tick"].body("shop")
    assert (body["every"], body["starts_at"]) == (300.0, "2030-01-01T00:00:00+00:00")


def test_one_task_may_have_several_schedules_with_names_and_arguments(app: windlass.App) -> None:
    @app.every("1h", name="digest.hourly", args=["you"], kwargs={"top": 1})
    @app.cron("@daily", args=["all"])
    @app.task
    def digest(to: str, top: int = 3) -> None: ...

    assert app.schedules.keys() == {"digest", "digest.hourly"}
    job = app.schedules["digest.hourly"].body("shop")["job"]
    assert job["input"] == {"task": "digest", "args": ["you"], "kwargs": {"top": 1}}


def test_workflows_and_durable_functions_are_started_by_their_input(app: windlass.App) -> None:
    @app.task
    def count(what: str) -> None: ...

    @app.every("1d", kwargs={"what": "tea"})
    @app.workflow("stocktaking")
    def stocktaking(what: str) -> Any:
        return count.step(what)

    @app.cron("@monthly", args=["mugs"])
    @app.durable
    async def audit(what: str) -> None: ...

    started = [schedule.body("shop")["workflow"] for schedule in app.schedules.values()]
    assert started == [
        {"name": "stocktaking", "version": None, "input": {"what": "tea"}},
        {"name": "audit", "version": None, "input": {"what": "mugs"}},
    ]
    assert stocktaking.definition()["name"] == "stocktaking"
    assert audit.name == "audit"


def test_a_rule_that_cannot_be_is_refused_where_it_is_written(app: windlass.App) -> None:
    def task() -> None: ...

    with pytest.raises(InvalidInput, match="/cron"):
        app.cron("0 25 * * *")(app.task(task))
    with pytest.raises(InvalidInput, match="February"):
        app.cron("0 0 30 2 *")(app.tasks["task"])
    with pytest.raises(InvalidInput, match="/timezone"):
        app.cron("@daily", timezone="Berlin")(app.tasks["task"])
    with pytest.raises(InvalidInput, match="/every"):
        app.every("10ms")(app.tasks["task"])
    with pytest.raises(ValueError, match="say in which time zone"):
        app.every("1h", starts_at=datetime(2030, 1, 1))
    with pytest.raises(TypeError, match="takes no jiter"):
        app.every("1h", jiter="1s")  # type: ignore[call-arg]


def test_names_are_told_apart_and_arguments_must_fit(app: windlass.App) -> None:
    @app.cron("@daily")
    @app.task
    def digest(to: str = "all") -> None: ...

    with pytest.raises(ValueError, match="there is a schedule 'digest' already; give this one na"):
        app.cron("@hourly")(digest)
    with pytest.raises(InvalidInput, match="/name"):
        app.cron("@hourly", name="every hour")(digest)
    with pytest.raises(TypeError, match=r"got an unexpected keyword .*; give it by args= or kw"):
        app.cron("@hourly", name="other", kwargs={"from": "me"})(digest)
    app.cron("@hourly", name="typed", args=[3])(digest)
    with pytest.raises(windlass.InvalidArguments, match="'to'"):
        app.schedules["typed"].body("shop")


def test_a_schedule_tells_what_it_runs_for_which_instant(app: windlass.App) -> None:
    @app.cron("@daily", kwargs={"day": windlass.INSTANT, "title": "on ${schedule.instant}"})
    @app.task
    def close_books(day: datetime, title: str) -> None: ...

    @app.durable
    async def audit(since: datetime) -> None: ...

    app.cron("@monthly", args=[windlass.INSTANT])(audit)
    word = "${schedule.instant}"
    job = app.schedules["close_books"].body("shop")["job"]
    assert job["input"]["kwargs"] == {"day": word, "title": f"on {word}"}
    assert app.schedules["audit"].body("shop")["workflow"]["input"] == {"since": word}
