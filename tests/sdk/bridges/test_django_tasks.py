"""Django's tasks on Windlass: the project enqueues, a node in this process performs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from datetime import timedelta
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from windlass.sdk.bridges.asgi import lifespan
from windlass.testing.servers import PrivateServers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.sdk.bridges.django_shop.settings")


@pytest.fixture(scope="module")
async def shop(servers: PrivateServers, template_url: str) -> AsyncIterator[ModuleType]:
    """The project's tasks, and a node that performs them."""
    from windlass.sdk.bridges import django_node  # sets Django up

    url = await servers.create_database(template_url)
    _tell_django(url)
    live = lifespan(django_node.app, database_url=url, redis_url=servers.redis_of(url), workers=2)
    async with live(None):
        from tests.sdk.bridges.django_shop import tasks

        yield tasks
    from django.db import connections

    connections.close_all()


def _tell_django(url: str) -> None:
    from django.db import connections

    parts = urlsplit(url)
    server = dict(parse_qsl(parts.query))
    connections.databases["default"].update(
        NAME=parts.path[1:],
        USER=parts.username,
        PASSWORD=parts.password,
        HOST=server["host"],
        PORT=server["port"],
    )


def ended(result: Any) -> Any:
    """The result, once its job has ended."""
    result.task.get_backend().app.blocking.jobs.wait(result.id, 30)
    result.refresh()
    return result


def job_of(result: Any) -> dict[str, Any]:
    job: dict[str, Any] = result.task.get_backend().app.blocking.jobs.get(result.id)
    return job


def test_a_task_is_enqueued_and_its_value_comes_back(shop: ModuleType) -> None:
    result = shop.send_mail.enqueue("ada@example.com", subject="hi")
    assert result.status == "READY"
    done = ended(result)
    assert (done.status, done.return_value) == (
        "SUCCESSFUL",
        {"to": "ada@example.com", "subject": "hi"},
    )
    assert done.started_at is not None
    assert done.enqueued_at <= done.started_at <= done.finished_at
    assert done.attempts == 1
    job = job_of(done)
    assert (job["queue"], job["priority"]) == ("mail", "high")
    assert job["tags"] == ["tests.sdk.bridges.django_shop.tasks.send_mail"]


async def test_an_async_task_is_enqueued_from_async_code(shop: ModuleType) -> None:
    result = await shop.add.aenqueue(20, 22)
    await shop.add.get_backend().app.client.jobs.wait(result.id, 30)
    assert (await shop.add.aget_result(result.id)).return_value == 42


def test_in_a_transaction_a_task_is_enqueued_if_that_commits(shop: ModuleType) -> None:
    from django.db import transaction

    from windlass.sdk.bridges.django_names import TaskResultDoesNotExist

    with transaction.atomic():
        kept = shop.reserve.enqueue("chair")
    with transaction.atomic():
        given_up = shop.reserve.enqueue("table")
        transaction.set_rollback(True)
    assert ended(kept).return_value == "chair"
    with pytest.raises(TaskResultDoesNotExist):
        shop.reserve.get_result(given_up.id)


def test_a_failure_names_its_class_and_has_the_traceback(shop: ModuleType) -> None:
    done = ended(shop.fail.enqueue())
    assert done.status == "FAILED"
    [error] = done.errors
    assert error.exception_class is shop.OutOfStamps
    assert "none left" in error.traceback


def test_attempts_are_counted_where_a_backend_allows_several(shop: ModuleType) -> None:
    result = shop.fail_once.enqueue()
    done = ended(result)
    assert (done.status, done.return_value, done.attempts) == ("SUCCESSFUL", 2, 2)
    assert [error.exception_class for error in done.errors] == [ValueError]


def test_a_task_is_told_its_context(shop: ModuleType) -> None:
    result = shop.who_am_i.enqueue()
    assert ended(result).return_value == [result.id, 1]


def test_a_task_for_later_waits(shop: ModuleType) -> None:
    from django.utils import timezone

    later = timezone.now() + timedelta(hours=1)
    result = shop.add.using(run_after=later, priority=-5).enqueue(1, 1)
    job = job_of(result)
    assert (job["state"], job["priority"]) == ("queued", "low")
    assert job["run_at"].startswith(later.strftime("%Y-%m-%dT%H:"))


def test_a_task_enqueues_another_from_a_node(shop: ModuleType) -> None:
    inner = shop.add.get_result(ended(shop.chain.enqueue()).return_value)
    assert ended(inner).return_value == 3


def test_signals_tell_of_the_life_of_a_task(shop: ModuleType) -> None:
    from windlass.sdk.bridges.django_names import task_enqueued, task_finished, task_started

    heard: list[tuple[str, str]] = []

    def hear(name: str) -> Any:
        def listen(sender: Any, task_result: Any, **_: Any) -> None:
            heard.append((name, str(task_result.status)))

        return listen

    listeners = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
    kept = {name: hear(name) for name in listeners}
    for name, signal in listeners.items():
        signal.connect(kept[name])
    try:
        ended(shop.add.enqueue(1, 2))
    finally:
        for name, signal in listeners.items():
            signal.disconnect(kept[name])
    assert sorted(heard) == [
        ("enqueued", "READY"),
        ("finished", "SUCCESSFUL"),
        ("started", "RUNNING"),
    ]


@pytest.mark.parametrize("unknown", ["job_0190a1b2c3d4e5f60718293a4b5c6d7e", "nonsense", ""])
def test_a_result_that_is_not_there_is_said_not_to_be(shop: ModuleType, unknown: str) -> None:
    from windlass.sdk.bridges.django_names import TaskResultDoesNotExist

    with pytest.raises(TaskResultDoesNotExist):
        shop.add.get_result(unknown)


def test_unknown_options_are_refused(shop: ModuleType) -> None:
    from windlass.sdk.bridges.django_tasks import WindlassBackend

    with pytest.raises(ValueError, match="unknown OPTIONS \\['dtabase'\\]"):
        WindlassBackend("default", {"OPTIONS": {"dtabase": "default"}})


def test_priorities_become_words() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.sdk.bridges.django_shop.settings")
    from windlass.sdk.bridges.django_tasks import priority_of

    words = [priority_of(number) for number in (-100, -1, 0, 1, 50, 51, 100)]
    assert words == ["low", "low", "normal", "high", "high", "critical", "critical"]
