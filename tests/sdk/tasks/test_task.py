"""Tasks as their writer sees them: plain functions, with names and options. No server is asked."""

from __future__ import annotations

import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import windlass
from windlass.errors import InvalidInput


def make(name: str) -> Any:
    def made(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    made.__name__ = name
    return made


async def test_a_task_stays_a_plain_function() -> None:
    app = windlass.App("shop")

    @app.task
    def add(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    @app.task(name="mail.send", isolate="process")
    async def send(to: str) -> str:
        return to

    assert add(2, b=3) == 5
    assert await send("ada") == "ada"
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert list(inspect.signature(add).parameters) == ["a", "b"]
    assert app.tasks == {"add": add, "mail.send": send}
    assert (send.name, send.isolate, send.is_async) == ("mail.send", "process", True)
    assert (add.isolate, add.is_async) == (None, False)
    assert isinstance(send, windlass.AsyncTask)


def test_two_tasks_of_one_name_are_refused() -> None:
    app = windlass.App("shop")
    app.task(make("pack"))
    with pytest.raises(ValueError, match="there is a task 'pack' already; give this one another"):
        app.task(make("pack"))
    with pytest.raises(ValueError, match="'pack' already"):
        app.task(name="pack")(make("other"))
    assert app.task(name="pack2")(make("pack")).name == "pack2"


def test_options_become_fields_of_its_jobs() -> None:
    app = windlass.App("shop")
    task = app.task(
        queue="mail",
        retry=windlass.Retry(7, initial="2s", max=timedelta(hours=1)),
        timeout="30s",
        priority="high",
        tags=["a", "b"],
    )(make("pack"))
    assert task.options == {
        "queue": "mail",
        "retry": {"max_attempts": 7, "initial": "2s", "factor": 2.0, "max": 3600.0, "jitter": True},
        "timeout": 30.0,
        "priority": "high",
        "tags": ["a", "b"],
    }
    assert app.task(make("plain")).options == {}
    assert app.task(max_attempts=3)(make("thrice")).options == {"retry": {"max_attempts": 3}}
    assert app.task(retry=2)(make("twice")).options == {"retry": {"max_attempts": 2}}


def test_using_adds_to_what_the_task_says_and_leaves_the_task_alone() -> None:
    app = windlass.App("shop")
    task = app.task(queue="mail", timeout=30)(make("pack"))
    first = windlass.Handle(app, "job_1", int)
    bound = task.using(run_after="10m", key="order-42", queue=None).using(
        depends_on=[first, "job_2"], locks="press", timeout="1m", correlation_id="c"
    )
    assert bound.fields == {
        "queue": "mail",
        "timeout": 60.0,
        "delay": 600.0,
        "key": "order-42",
        "depends_on": ["job_1", "job_2"],
        "locks": ["press"],
        "correlation_id": "c",
    }
    at = datetime(2030, 1, 31, tzinfo=UTC)
    assert task.using(run_at=at, deadline=at).fields["run_at"] == "2030-01-31T00:00:00+00:00"
    # An instant is an instant, whichever of the two says it.
    assert task.using(run_after=at).fields == task.using(run_at=at).fields
    assert task.using(run_after=timedelta(minutes=1)).fields["delay"] == 60.0
    assert task.using(depends_on=first).fields["depends_on"] == ["job_1"]
    assert task.options == {"queue": "mail", "timeout": 30.0}


@pytest.mark.parametrize(
    ("options", "pointer", "why"),
    [
        ({"run_after": "soon"}, "/run_after", "is not a duration"),
        ({"run_after": -1}, "/run_after", "of 0 or more"),
        ({"run_at": datetime(2030, 1, 1)}, "/run_at", "does not know its time zone"),
        ({"run_at": timedelta(1)}, "/run_at", "so long from now is said by run_after"),
        ({"run_after": datetime(2030, 1, 1)}, "/run_after", "does not know its time zone"),
        ({"run_at": "2030-01-01"}, "/run_at", "must be a datetime"),
        ({"deadline": 5}, "/deadline", "must be a datetime"),
        ({"timeout": "x"}, "/timeout", "is not a duration"),
        ({"retry": "often"}, "/retry", "windlass.Retry"),
        ({"retry": True}, "/retry", "windlass.Retry"),
        ({"tags": 5}, "/tags", "must be a list"),
        ({"depends_on": [5]}, "/depends_on", "int is neither a handle nor a job id"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(
    options: dict[str, Any], pointer: str, why: str
) -> None:
    task = windlass.App("shop").task(make("pack"))
    with pytest.raises(InvalidInput, match=why) as refused:
        task.using(**options)
    assert refused.value.problems[0].pointer == pointer


def test_an_option_that_is_none_is_refused() -> None:
    app = windlass.App("shop")
    with pytest.raises(TypeError, match="there is no option 'colour'; known are queue"):
        app.task(make("pack")).using(colour="red")
    with pytest.raises(TypeError, match="there is no option 'colour'"):
        app.task(colour="red")  # type: ignore[call-overload]


def test_a_policy_that_cannot_be_is_refused_where_it_is_written() -> None:
    given: list[dict[str, Any]] = [{"max_attempts": 0}, {"initial": "soon"}, {"factor": 0.5}]
    for wrong in given:
        with pytest.raises(InvalidInput, match=f"/retry/{next(iter(wrong))}"):
            windlass.Retry(**wrong)


def test_a_key_is_not_for_many() -> None:
    task = windlass.App("shop").task(make("pack"))
    with pytest.raises(InvalidInput, match="belongs to one job"):
        task.using(key="k").map([1, 2])


def test_wrong_arguments_are_refused_before_anybody_is_asked() -> None:
    app = windlass.App("shop", url="http://127.0.0.1:1")
    task = app.task(make("pack"))
    with pytest.raises(windlass.InvalidArguments, match="task 'pack', parameter 'a': is missing"):
        task.enqueue()
    with pytest.raises(windlass.InvalidArguments, match="parameter 'c'"):
        task.map([1, 2], c=3)


def test_every_name_of_the_front_door_opens() -> None:
    for name in windlass.__all__:
        assert getattr(windlass, name) is not None
        assert name in dir(windlass)
    with pytest.raises(AttributeError, match="has no attribute 'Workflow5'"):
        windlass.Workflow5  # type: ignore[attr-defined]  # noqa: B018


def test_importing_windlass_brings_no_server_and_no_event_loop() -> None:
    heavy = "{'aiohttp', 'asyncio', 'asyncpg', 'cyclopts', 'starlette', 'uvicorn'}"
    program = f"""
import sys, windlass
app = windlass.App("shop")
@app.task(retry=windlass.Retry(3))
def add(a: int) -> int:
    return a
add(1)
print(*sorted({heavy} & set(sys.modules)))
"""
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert told.stdout.split() == []
