"""Celery's tasks on Windlass, queue by queue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import celery.canvas
import pytest

from tests.sdk.bridges import celery_shop as shop
from windlass.errors import JobFailed, ResultTimeout
from windlass.sdk.bridges.asgi import lifespan
from windlass.sdk.bridges.celery import bridge, chain, chord, group
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module", autouse=True)
async def node(servers: PrivateServers, template_url: str) -> AsyncIterator[None]:
    url = await servers.create_database(template_url)
    live = lifespan(shop.windlass, database_url=url, redis_url=servers.redis_of(url), workers=4)
    async with live(None):
        yield


@pytest.fixture(autouse=True)
def _forget_handled() -> Iterator[None]:
    shop.handled.clear()
    yield
    shop.handled.clear()


def job_of(result: Any) -> dict[str, Any]:
    return shop.windlass.blocking.jobs.get(result.id)


def waiting_in_celery() -> list[Any]:
    """What the memory broker holds for Celery's own workers."""
    with shop.celery.connection_for_read() as connection:
        channel = connection.default_channel
        found = []
        while (message := channel.basic_get("reports", no_ack=True)) is not None:
            found.append(message.headers["task"])
        return found


def test_a_task_of_a_moved_queue_runs_on_windlass() -> None:
    result = shop.send_mail.delay("ada", subject="hi")
    assert result.get(timeout=30) == "hi ada"
    assert (result.state, result.ready(), result.successful()) == ("SUCCESS", True, True)
    assert not result.failed()
    assert (job_of(result)["queue"], job_of(result)["tags"]) == ("mail", ["shop.send_mail"])
    assert shop.windlass.AsyncResult(result.id).result == "hi ada"


def test_a_task_of_another_queue_stays_with_celery() -> None:
    waiting_in_celery()
    result = shop.stay.delay()
    assert isinstance(result, celery.result.AsyncResult)
    assert waiting_in_celery() == ["shop.stay"]


def test_a_call_by_name_and_a_call_to_another_queue_are_routed_too() -> None:
    assert shop.celery.send_task("shop.add", [1, 2]).get(timeout=30) == 3
    assert isinstance(shop.add.apply_async((1,), queue="reports"), celery.result.AsyncResult)
    assert waiting_in_celery() == ["shop.add"]


def test_options_of_a_call_become_the_jobs() -> None:
    later = datetime.now(UTC) + timedelta(hours=2)
    job = job_of(shop.add.apply_async((1,), countdown=3600, expires=7200, priority=9, time_limit=5))
    assert (job["state"], job["priority"], job["timeout"]) == ("queued", "critical", 5)
    assert job["deadline"] is not None
    at = job_of(shop.add.apply_async(args=[1], eta=later.replace(tzinfo=None), priority=0))
    assert datetime.fromisoformat(at["run_at"]) == later
    assert at["priority"] == "low"


def test_retry_of_a_bound_task_counts_and_returns() -> None:
    result = shop.flaky.delay(2)
    assert result.get(timeout=30) == [2, result.id, "shop.flaky"]
    assert [name for name, _ in shop.handled] == ["retry", "retry", "success"]


def test_retries_end_where_the_task_says() -> None:
    result = shop.flaky.delay(99)
    with pytest.raises(JobFailed, match="ValueError: not yet"):
        result.get(timeout=30)
    assert job_of(result)["attempt"] == 4
    assert shop.handled[-1] == ("failure", "not yet")


def test_autoretry_is_a_retry() -> None:
    assert shop.again.delay().get(timeout=30) == 1


def test_what_does_not_ask_for_a_retry_fails_at_once() -> None:
    result = shop.broken.delay()
    with pytest.raises(JobFailed, match="stamps") as failure:
        result.get(timeout=30)
    assert failure.value.cause == "KeyError"
    assert (result.state, result.failed(), job_of(result)["attempt"]) == ("FAILURE", True, 1)
    assert "KeyError: 'stamps'" in str(result.traceback)
    assert isinstance(result.get(propagate=False), JobFailed)


def test_a_task_that_is_not_known_says_so() -> None:
    with pytest.raises(JobFailed, match=r"no task 'shop\.nobody'"):
        shop.celery.send_task("shop.nobody").get(timeout=30)


def test_a_task_calls_another_from_a_node() -> None:
    inner = shop.calls_another.delay().get(timeout=30)
    assert shop.windlass.AsyncResult(inner).get(timeout=30) == 3


def test_a_result_that_takes_too_long_times_out_and_can_be_revoked() -> None:
    result = shop.add.apply_async((1,), countdown=3600)
    with pytest.raises(ResultTimeout):
        result.get(timeout=0.05)
    assert (result.state, result.ready()) == ("PENDING", False)
    result.revoke()
    assert result.state == "REVOKED"


def test_a_chain_hands_each_result_to_the_next() -> None:
    result = chain(shop.add.s(1, 2), shop.add.s(10), shop.add.s(100)).apply_async()
    assert result.get(timeout=30) == 113
    assert result.parent.get(timeout=30) == 13
    assert chain(shop.add.s(1) | shop.add.s(2))(5).get(timeout=30) == 8


def test_an_immutable_signature_only_waits() -> None:
    assert chain(shop.add.s(1, 2), shop.add.si(10)).delay().get(timeout=30) == 10


def test_a_group_gives_all_results_in_order() -> None:
    made = group(shop.add.s(n, n) for n in range(5)).apply_async()
    assert made.get(timeout=30) == [0, 2, 4, 6, 8]
    assert (made.ready(), made.successful(), made.completed_count()) == (True, True, 5)
    assert group([]).apply_async().get() == []


def test_a_chord_gives_its_body_all_results_in_order() -> None:
    assert chord(shop.add.s(n, n) for n in range(5))(shop.total.s()).get(timeout=30) == 20
    header = [shop.add.s(n) for n in range(20)]
    assert chord(header, shop.order.s()).apply_async().get(timeout=30) == list(range(20))


def test_a_chain_may_hold_groups_and_celerys_own_canvases() -> None:
    ours = chain(shop.add.s(1), group(shop.add.s(10), shop.add.s(20)), shop.total.s())
    assert ours.delay().get(timeout=30) == 32
    theirs = celery.canvas.group(shop.add.s(1), shop.add.s(2)) | shop.total.s()
    assert chain(theirs, shop.add.s(100)).delay().get(timeout=30) == 103


def test_a_link_is_called_with_the_result() -> None:
    first = shop.add.apply_async((1, 2), link=shop.send_mail.si("ada"))
    assert first.get(timeout=30) == 3
    linked = [
        job
        for job in shop.windlass.blocking.jobs.list(queue="mail")
        if first.id in shop.windlass.blocking.jobs.get(job["id"])["depends_on"]
    ]
    assert len(linked) == 1


def test_a_map_goes_where_its_task_goes() -> None:
    mapped = shop.add.map([1, 2, 3]).delay()
    assert mapped.get(timeout=30) == [1, 2, 3]
    assert job_of(mapped)["queue"] == "sums"
    starred = shop.add.starmap((n, n) for n in range(3)).apply_async(countdown=0)
    assert starred.get(timeout=30) == [0, 2, 4]
    mailed = shop.send_mail.map(["ada", "bob"]).delay()
    assert mailed.get(timeout=30) == ["hello ada", "hello bob"]
    assert job_of(mailed)["queue"] == "mail"


def test_a_map_of_a_task_that_has_not_moved_stays_with_celery() -> None:
    result = shop.stay.map([1]).delay()
    assert isinstance(result, celery.result.AsyncResult)


def test_a_failure_in_a_chain_is_the_failure_of_its_end() -> None:
    result = chain(shop.broken.s(), shop.add.si(1)).delay()
    with pytest.raises(JobFailed, match="stamps"):
        result.get(timeout=30)
    assert result.failed()


def test_a_canvas_that_spans_both_is_refused_before_anything_is_sent() -> None:
    before = len(list(shop.windlass.blocking.jobs.list()))
    with pytest.raises(ValueError, match="'reports', which is still with Celery"):
        chain(shop.add.s(1), shop.stay.si()).delay()
    assert len(list(shop.windlass.blocking.jobs.list())) == before


def test_an_application_is_bridged_once() -> None:
    with pytest.raises(ValueError, match="bridged already"):
        bridge(shop.celery, queues=["reports"])
