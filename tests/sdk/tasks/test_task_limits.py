"""What a task says of all its jobs: concurrency, rate, uniqueness, debounce."""

from __future__ import annotations

import json
from typing import Any

import pytest

import windlass
from windlass.errors import InvalidInput
from windlass.sdk.tasks.task import Task

GIVEN = {"kind": "python"}


def task_of(**options: Any) -> Task[..., Any]:
    @windlass.App("shop").task(**options)
    def send_mail(to: str, subject: str = "hi", *more: str, bcc: str | None = None) -> str:
        return to

    return send_mail


def job(task: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """What would be sent."""
    bound = task if hasattr(task, "_job") else task.using()
    made: dict[str, Any] = bound._job(bound._input(args, kwargs))
    return {**made, "input": json.loads(bytes(made["input"]))}


def test_concurrency_and_rate_become_a_limit_of_each_job() -> None:
    task = task_of(concurrency=4, rate="90/m", queue="mail")
    limit = {"name": "send_mail", "max_running": 4, "rate": 1.5}
    assert job(task, "ada")["limits"] == [limit]
    assert task.options["limits"] == [limit], "also of steps, schedules and windlass task run"
    assert "limits" not in job(task_of(), "ada")


def test_per_points_at_the_parameter_however_it_is_given() -> None:
    [by_position] = job(task_of(concurrency=1, per="subject"), "ada")["limits"]
    assert by_position["per"] == ["/args/1", "/kwargs/subject"]
    [by_name] = job(task_of(rate=5, per="bcc"), "ada")["limits"]
    assert by_name["per"] == ["/kwargs/bcc"]


@pytest.mark.parametrize(
    ("rate", "starts"), [(5, 5.0), (0.5, 0.5), ("5/s", 5), ("90/m", 1.5), ("36 / h", 0.01)]
)
def test_a_rate_is_said_in_a_second_or_in_words(rate: Any, starts: float) -> None:
    assert job(task_of(rate=rate), "ada")["limits"][0]["rate"] == pytest.approx(starts)


def test_a_name_that_no_limit_can_have_is_hashed() -> None:
    odd = windlass.App("shop").task(name="a/b", concurrency=1)(lambda: None)
    assert odd.options["limits"][0]["name"].startswith("task-")


def test_the_same_arguments_have_the_same_key_however_they_are_given() -> None:
    task = task_of(unique_for="10m")
    one, two = job(task, "ada", "yes"), job(task, subject="yes", to="ada")
    assert one["key"] == two["key"]
    assert one["key"].startswith("send_mail:")
    assert one["unique_for"] == 600
    others = [job(task, "bob", "yes"), job(task, "ada"), job(task, "ada", "yes", "more")]
    assert len({one["key"], *(other["key"] for other in others)}) == 4


def test_unique_by_takes_some_of_the_arguments_only() -> None:
    task = task_of(unique_for="10m", unique_by=["to"])
    assert job(task, "ada", "a")["key"] == job(task, "ada", "b")["key"]
    assert job(task, "ada", "a")["key"] != job(task, "bob", "a")["key"]


def test_a_key_of_the_caller_s_own_wins() -> None:
    made = job(task_of(debounce="30s", debounce_max="5m").using(key="mine"), "ada")
    assert (made["key"], made["debounce"], made["debounce_max"]) == ("mine", 30, 300)
    assert job(task_of().using(key="mine", unique_for=5), "ada")["unique_for"] == 5


def test_each_item_of_a_map_has_its_key() -> None:
    bound = task_of(unique_for="10m").using()
    keys = [bound._job(given)["key"] for given in bound._inputs(["ada", "bob", "ada"], {})]
    assert keys[0] == keys[2] != keys[1]


def test_schedules_and_steps_carry_limits_and_no_key() -> None:
    app = windlass.App("shop")

    @app.cron("0 8 * * *")
    @app.task(concurrency=2, unique_for="10m")
    def report() -> None: ...

    @app.workflow("day")
    def day() -> Any:
        return report.step().out

    limit = {"name": "report", "max_running": 2}
    made = app.schedules["report"].body("shop")["job"]
    assert made["limits"] == [limit]
    assert "unique_for" not in made
    [step] = app.workflows["day"].definition()["steps"]
    assert step["limits"] == [limit]
    assert "unique_for" not in step


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"concurrency": 0}, "/concurrency"),
        ({"concurrency": "4"}, "/concurrency"),
        ({"rate": 0}, "/rate"),
        ({"rate": "5/w"}, "/rate"),
        ({"rate": "fast"}, "/rate"),
        ({"rate": 2000}, "/rate"),
        ({"per": "to"}, "/per"),
        ({"rate": 1, "per": "too"}, "/per"),
        ({"rate": 1, "per": "more"}, "/per"),
        ({"unique_for": "soon"}, "/unique_for"),
        ({"unique_by": "to"}, "/unique_by"),
        ({"unique_for": 5, "unique_by": ["too"]}, "/unique_by"),
        ({"unique_for": 5, "debounce": 5}, "/debounce"),
        ({"debounce_max": 5}, "/debounce_max"),
    ],
)
def test_what_makes_no_sense_is_said_where_the_task_stands(
    options: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        task_of(**options)
    assert [problem.pointer for problem in refused.value.problems] == [pointer]
