"""What a call, a task and a result of Celery say is kept on Windlass, or refused in a sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import celery
import celery.exceptions
import pytest
from celery.schedules import crontab

from tests.sdk.bridges import celery_shop as shop
from tests.until import until
from windlass.cli.imports.celery import CeleryImport
from windlass.cli.imports.celery_source import read_beat
from windlass.cli.imports.report import Parity
from windlass.errors import JobFailed
from windlass.limits import TIMEOUT_SECONDS_MAX
from windlass.sdk.bridges.asgi import lifespan
from windlass.sdk.bridges.celery import bridge
from windlass.sdk.bridges.celery_run import Pace
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module", autouse=True)
async def node(servers: PrivateServers, template_url: str) -> AsyncIterator[None]:
    url = await servers.create_database(template_url)
    live = lifespan(shop.windlass, database_url=url, redis_url=servers.redis_of(url), workers=4)
    async with live(None):
        yield


@pytest.fixture(autouse=True)
def _forget_noted() -> Iterator[None]:
    shop.noted.clear()
    shop.gate.clear()
    yield
    shop.noted.clear()


@contextmanager
def eager() -> Iterator[None]:
    shop.celery.conf.task_always_eager = True
    try:
        yield
    finally:
        shop.celery.conf.task_always_eager = False


def job_of(result: Any) -> dict[str, Any]:
    return shop.windlass.blocking.jobs.get(result.job_id)


# -- options ---------------------------------------------------------------------------------------


def test_a_task_knows_of_itself_what_a_worker_tells_it() -> None:
    result = shop.about.apply_async(
        (1,), task_id="order-7", headers={"tenant": "ada"}, expires=600, soft_time_limit=60
    )
    told = result.get(timeout=30)
    assert (result.id, told["id"], told["task"]) == ("order-7", "order-7", "shop.about")
    assert (told["headers"], told["tenant"]) == ({"tenant": "ada"}, "ada")
    assert (told["is_eager"], told["retries"], told["queue"]) == (False, 0, "sums")
    assert (told["soft"], job_of(result)["deadline"] is not None) == (60, True)
    assert datetime.fromisoformat(told["expires"]) > datetime.now(UTC)


def test_a_task_id_of_the_callers_finds_its_result() -> None:
    shop.add.apply_async((1, 2), task_id="mine").get(timeout=30)
    found = shop.windlass.AsyncResult("mine")
    assert (found.id, found.get(timeout=30), found.state) == ("mine", 3, "SUCCESS")
    assert shop.windlass.AsyncResult("nobody's").state == "PENDING"


def test_a_shadow_is_the_name_that_is_shown() -> None:
    assert job_of(shop.add.apply_async((1,), shadow="sum of one"))["tags"] == ["sum of one"]


def test_a_task_without_a_limit_may_take_its_time_and_settings_of_all_tasks_count() -> None:
    assert job_of(shop.add.delay(1))["timeout"] == TIMEOUT_SECONDS_MAX
    assert job_of(shop.slow.apply_async(countdown=3600))["timeout"] == 30
    shop.celery.conf.task_time_limit = 90
    try:
        assert job_of(shop.add.delay(1))["timeout"] == 90
    finally:
        shop.celery.conf.task_time_limit = None


def test_a_call_by_name_has_what_its_task_says() -> None:
    assert job_of(shop.celery.send_task("shop.slow", countdown=3600))["timeout"] == 30


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"stamped_headers": ["x"], "x": 1}, "stamped_headers; give headers={…} instead"),
        ({"colour": "red"}, "knows no option 'colour'; leave it out"),
        ({"chord": {"task": "x"}}, "does not take Celery's chord"),
    ],
)
def test_an_option_that_windlass_has_no_word_for_is_refused(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        shop.celery.send_task("shop.add", (1,), **options)


def test_options_about_a_broker_mean_nothing_here() -> None:
    called = shop.add.apply_async(
        (1, 2), compression="gzip", delivery_mode=1, retry=True, retry_policy={"max_retries": 1}
    )
    assert called.get(timeout=30) == 3


def test_a_result_that_is_ignored_is_not_waited_for_and_not_kept() -> None:
    result = shop.quiet.delay(3)
    assert (result.ignored, result.get()) == (True, None)
    kept = shop.windlass.AsyncResult(result.id)
    assert kept.get(timeout=30) is None
    assert (shop.quiet.s(3) | shop.add.s(1)).apply_async().get(timeout=30) == 4


# -- values ----------------------------------------------------------------------------------------

VALUES = [
    datetime(2026, 11, 18, 9, 30, tzinfo=UTC),
    date(2026, 11, 18),
    Decimal("1.10"),
    UUID("12345678-1234-5678-1234-567812345678"),
    b"\x00\xff",
    [1, {"a": [Decimal(2), None]}],
    "ä\N{SNOWMAN}",
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_goes_and_comes_back_as_with_celerys_json(value: Any) -> None:
    told = shop.about.delay(value).get(timeout=30)
    assert told["args"] == [type(value).__name__]
    assert shop.same.delay(value).get(timeout=30) == value
    assert (shop.same.s(value) | shop.same.s()).apply_async().get(timeout=30) == value


def test_arguments_that_are_no_json_are_refused_where_they_are_given() -> None:
    with pytest.raises(ValueError, match=r"arguments of shop\.same cannot be written as JSON"):
        shop.same.delay(object())
    with pytest.raises(ValueError, match="a tuple becomes a list"):
        shop.same.apply_async(((1, 2),), serializer="pickle")
    assert shop.same.apply_async(([1, 2],), serializer="pickle").get(timeout=30) == [1, 2]


def test_a_result_that_is_no_json_is_a_failure_as_with_celery() -> None:
    with pytest.raises(JobFailed, match=r"what shop\.strange returned cannot be written as JSON"):
        shop.strange.delay().get(timeout=30)


# -- retries and ends ------------------------------------------------------------------------------


def test_a_retry_that_is_not_thrown_is_a_retry_too() -> None:
    assert shop.again_quietly.delay().get(timeout=30) == 1


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("args", "with other arguments: a job keeps its input"),
        ("queue", "with another queue: a job keeps its queue"),
        ("more", "more tries than the job's 4: say max_retries on the task"),
    ],
)
def test_a_retry_that_a_job_cannot_make_fails_with_a_sentence(how: str, sentence: str) -> None:
    with pytest.raises(JobFailed, match=sentence):
        shop.again_otherwise.delay(1, how).get(timeout=30)


async def test_retry_backoff_is_kept_and_ends_where_retry_kwargs_say() -> None:
    result = shop.backs_off.delay()
    await until(lambda: result.state == "RETRY")
    # retry_backoff is an hour, and retry_backoff_max ten minutes unless it is said.
    rests = datetime.fromisoformat(job_of(result)["run_at"]) - datetime.now(UTC)
    assert timedelta(minutes=5) < rests <= timedelta(minutes=10)
    shop.windlass.blocking.jobs.promote(result.id)
    with pytest.raises(JobFailed, match="OSError: busy 1"):
        result.get(timeout=30)


def test_a_task_that_rejects_is_tried_again_or_dead() -> None:
    assert shop.rejects.delay(True).get(timeout=30) == "taken after 0 retries"
    shop.noted.clear()
    with pytest.raises(JobFailed, match="the task rejected it: not mine"):
        shop.rejects.delay(False).get(timeout=30)


def test_a_task_that_ignores_has_no_result() -> None:
    assert shop.ignores.delay().get(timeout=30) is None


def test_replacing_a_task_is_refused_in_a_sentence() -> None:
    with pytest.raises(JobFailed, match=r"does not take Celery's self\.replace"):
        shop.replaces.delay().get(timeout=30)


def test_a_soft_time_limit_is_raised_inside_the_task() -> None:
    assert shop.slow.delay().get(timeout=30) == "cleaned up"
    with pytest.raises(JobFailed, match="SoftTimeLimitExceeded"):
        shop.slower.delay().get(timeout=30)


def test_a_rate_limit_holds_on_the_node_and_spends_no_retry() -> None:
    results = [shop.paced.delay() for _ in range(5)]
    assert [result.get(timeout=60) for result in results] == [0] * 5
    jobs = [job_of(result) for result in results]
    assert sum(job["snoozes"] for job in jobs) >= 1
    assert [result.retries for result in results] == [0] * 5


def test_a_pace_lets_one_begin_and_sends_the_others_away_one_behind_the_other() -> None:
    pace = Pace()
    assert [pace.rest_seconds("a", 2.0, 100.0) for _ in range(4)] == [0.0, 0.5, 1.0, 1.5]
    assert pace.rest_seconds("b", 2.0, 100.0) == 0.0
    assert pace.rest_seconds("a", 2.0, 100.5) == 0.0
    assert pace.rest_seconds("a", 2.0, 100.5) == 1.5


# -- results ---------------------------------------------------------------------------------------


async def test_what_a_task_says_of_its_state_is_seen() -> None:
    result = shop.tells.delay()
    await until(lambda: result.state == "PROGRESS")
    assert result.info == {"current": 3, "total": 4}
    shop.gate.set()
    assert result.get(timeout=30) == "told"
    assert (result.state, result.info) == ("SUCCESS", "told")


def test_a_wait_that_is_too_long_and_a_revoked_task_raise_celerys_exceptions() -> None:
    result = shop.add.apply_async((1,), countdown=3600)
    with pytest.raises(celery.exceptions.TimeoutError):
        result.get(timeout=0.05)
    result.revoke(terminate=True)
    with pytest.raises(celery.exceptions.TaskRevokedError):
        result.get(timeout=30)


def test_a_result_tells_of_its_call() -> None:
    result = shop.add.apply_async((1, 2))
    assert result.get(timeout=30) == 3
    assert (result.name, result.args, result.kwargs) == ("shop.add", [1, 2], {})
    assert (result.queue, result.retries) == ("sums", 0)
    assert result.date_done is not None
    assert {result, shop.windlass.AsyncResult(result.id)} == {result}


@pytest.mark.parametrize("name", ["children", "collect", "then", "backend"])
def test_what_a_result_has_not_is_said(name: str) -> None:
    with pytest.raises(AttributeError, match=f"a result on Windlass has no '{name}'; "):
        getattr(shop.add.apply_async((1,), countdown=3600), name)


# -- names -----------------------------------------------------------------------------------------


def test_names_are_kept_exactly() -> None:
    module = "tests.sdk.bridges.celery_shop"
    shop.celery.conf.task_routes = {
        **shop.celery.conf.task_routes,
        f"{module}.*": {"queue": "sums"},
    }
    shop.celery.set_current()
    for task, name, args, value in [
        (shop.named_by_module, f"{module}.named_by_module", (), "module"),
        (shop.shared_by_all, f"{module}.shared_by_all", (), "shared"),
        (shop.counting, "shop.counting", (1,), 2),
    ]:
        result = task.apply_async(args, queue="sums")
        assert result.get(timeout=30) == value
        assert (task.name, result.name, job_of(result)["tags"]) == (name, name, [name])


async def test_an_application_that_names_its_tasks_itself_keeps_its_names(
    servers: PrivateServers, template_url: str
) -> None:
    class Naming(celery.Celery):  # type: ignore[misc]  # Celery has no types
        def gen_task_name(self, name: str, module: str) -> str:
            return f"warehouse.{name}"

    app = Naming("warehouse", broker="memory://", set_as_current=False)
    pick = app.task(_pick)
    moved = bridge(app, queues=None)
    url = await servers.create_database(template_url)
    live = lifespan(moved, database_url=url, redis_url=servers.redis_of(url), workers=1)
    async with live(None):
        result = pick.delay("tea")
        assert result.get(timeout=30) == "picked tea"
        assert (pick.name, result.name, result.queue) == ("warehouse._pick", pick.name, "celery")
        assert app.AsyncResult(result.id).get(timeout=30) == "picked tea"


def _pick(what: str) -> str:
    return f"picked {what}"


def test_eager_calls_stay_with_celery() -> None:
    with eager():
        assert isinstance(shop.add.delay(1, 2), celery.result.EagerResult)


# -- beat ------------------------------------------------------------------------------------------

BEAT: dict[str, Any] = {
    "plain": {"task": "shop.add", "schedule": 3600.0, "args": (1, 2)},
    "mail": {"task": "shop.send_mail", "schedule": crontab(minute=0), "kwargs": {"to": "ada"}},
    "limits": {
        "task": "shop.about",
        "schedule": timedelta(hours=1),
        "args": (Decimal("1.5"),),
        "options": {"priority": 9, "time_limit": 5, "headers": {"tenant": "ada"}},
    },
    "quiet": {"task": "shop.quiet", "schedule": 3600.0, "args": (3,)},
    "slow": {"task": "shop.slow", "schedule": 3600.0},
}
# Of a job; what is not of the call itself is left out.
SAME = ("queue", "priority", "timeout", "max_attempts", "tags", "input", "result")


def imported(schedule: dict[str, Any]) -> dict[str, Parity]:
    """As `windlass schedule import celery module:app` reads them."""
    shop.celery.conf.beat_schedule = schedule
    beat = read_beat("tests.sdk.bridges.celery_shop:celery")
    lines = CeleryImport(zone="UTC", prefix="beat.", moved=beat.moved, app=beat.app).entries(beat)
    return {line.where: line for line in lines}


@pytest.mark.parametrize("name", BEAT)
def test_an_imported_entry_makes_the_job_that_the_bridge_makes(name: str) -> None:
    line = imported(BEAT)[name]
    assert line.body is not None, line.notes
    entry = BEAT[name]
    called = shop.celery.tasks[entry["task"]].apply_async(
        entry.get("args"), entry.get("kwargs"), **entry.get("options", {})
    )
    schedules = shop.windlass.blocking.schedules
    schedules.put(f"beat.{name}", line.body)
    fired = schedules.trigger(f"beat.{name}")["job_id"]
    for one in (called.job_id, fired):
        shop.windlass.AsyncResult(one).get(timeout=30)
    ours, beats = (shop.windlass.blocking.jobs.get(one) for one in (called.job_id, fired))
    if name == "limits":
        # Each is told its own id.
        assert ours.pop("result").pop("id") != beats.pop("result").pop("id")
    assert {f: beats.get(f) for f in SAME} == {f: ours.get(f) for f in SAME}


def test_what_cannot_be_imported_is_listed_with_its_reason() -> None:
    found = imported(
        {
            "link": {"task": "shop.add", "schedule": 60.0, "options": {"link": shop.add.s(1)}},
            "stays": {"task": "shop.stay", "schedule": 60.0},
            "expires": {"task": "shop.add", "schedule": 60.0, "options": {"expires": 5}},
            "object": {"task": "shop.same", "schedule": 60.0, "args": (object(),)},
        }
    )
    said = {name: (line.verdict, "; ".join(line.notes)) for name, line in found.items()}
    assert "its option link has no place in a schedule" in said["link"][1]
    assert "still with Celery: leave it to beat" in said["stays"][1]
    assert "expires is left out" in said["expires"][1]
    assert "cannot be written as JSON" in said["object"][1]
    assert [said[name][0] for name in ("link", "stays", "object")] == ["refused"] * 3
    assert said["expires"][0] != "refused"
