"""Enqueueing over HTTP, on a real node that performs the sample App."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from functools import partial
from uuid import uuid4

import pytest

import windlass
from tests.sdk.sample_app import (
    Order,
    add,
    doubled,
    fail,
    forgetful,
    forgetful_apart,
    forgetful_later,
    impossible,
    pass_on,
    pass_on_async,
    reduced,
    shout,
)
from windlass.clock import monotonic
from windlass.errors import InvalidInput, QueueFull
from windlass.limits import BATCH_JOBS_MAX
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.tasks.app import App
from windlass.sdk.tasks.job_body import batches_of, job_of
from windlass.sdk.tasks.task import Task

pytestmark = pytest.mark.usefixtures("sample")
ORDER = Order(42, Decimal("9.90"))


def test_a_result_is_what_the_function_returned() -> None:
    assert add.enqueue(2, right=3).result(timeout=30) == 5
    assert shout.enqueue("ahoy").result(timeout=30) == "AHOY"


async def test_the_same_can_be_awaited() -> None:
    handle = await add.aenqueue(2, 3)
    assert await handle == 5
    assert await (await shout.aenqueue("ahoy")).aresult(timeout="30s") == "AHOY"


def test_arguments_and_results_keep_their_types() -> None:
    assert reduced.enqueue(ORDER, Decimal("0.40")).result(30) == Order(42, Decimal("9.50"))
    assert doubled.enqueue(ORDER).result(30) == Order(42, Decimal("19.80")), "in a process too"


def test_the_job_has_what_the_task_and_its_caller_said(sample: App) -> None:
    handle = reduced.using(priority="high", key="order-42", run_after="1h").enqueue(ORDER, by=1)  # type: ignore[arg-type]
    job = sample.blocking.jobs.get(handle.id)
    assert (job["queue"], job["tags"], job["timeout"]) == ("orders", ["sale"], 20.0)
    assert (job["priority"], job["key"], job["max_attempts"]) == ("high", "order-42", 2)
    assert job["input"] == {
        "task": "reduced",
        "args": [{"number": 42, "total": "9.90"}],
        "kwargs": {"by": 1},
    }
    again = reduced.using(key="order-42").enqueue(ORDER, by=Decimal(2))
    assert again == handle, "a key is one job"
    handle.cancel()


def test_a_map_is_one_job_for_each_item_in_their_order() -> None:
    handles = add.map(range(50), right=100)
    assert len(handles) == 50
    assert handles.results(timeout=30) == list(range(100, 150))
    assert handles[3].result() == 103
    assert [handle.id for handle in handles[:2]] == handles.ids[:2]
    assert add.map([]).results() == []
    assert add.map([(1, 2)]).results(30) == [3]


def test_a_map_fails_with_the_first_that_does_and_is_late_as_a_whole() -> None:
    with pytest.raises(windlass.JobFailed, match="no tea"):
        fail.using(max_attempts=1).map(["no tea", "no tea"]).results(30)
    late = add.using(run_after="1h").map([1, 2], right=3)
    with pytest.raises(windlass.ResultTimeout, match=r"has not ended within 0\.05 seconds"):
        late.results("50ms")
    for handle in late:
        handle.cancel()


async def test_a_map_can_be_awaited() -> None:
    handles = await shout.using(queue="loud").amap(["a", "b"])
    assert await handles.aresults(timeout=30) == ["A", "B"]


def test_a_map_takes_as_few_requests_as_it_can() -> None:
    inputs = [b'{"task":"add","args":[1],"kwargs":{}}'] * (2 * BATCH_JOBS_MAX + 1)
    plain = partial(job_of, fields={})
    found = [len(batch) for batch in batches_of(inputs, plain)]
    assert found == [BATCH_JOBS_MAX, BATCH_JOBS_MAX, 1]
    large = [b'"%b"' % (b"x" * 1_000_000)] * 100
    queued = partial(job_of, fields={"queue": "q"})
    assert [len(batch) for batch in batches_of(large, queued)] == [67, 33]
    assert list(batches_of([], plain)) == []


def test_what_depends_on_another_waits_for_it() -> None:
    first = add.using(run_after="1h").enqueue(1, 1)
    second = add.using(depends_on=first).enqueue(2, 2)
    assert second.state() == "blocked"
    first.cancel()
    assert windlass.wait([first, second], timeout=30) == ([first, second], [])
    assert second.state() == "skipped"


def test_what_the_server_refuses_is_said_in_its_words() -> None:
    with pytest.raises(InvalidInput, match="/queue: must be 1 to 128 letters"):
        add.using(queue="no queue!").enqueue(1, 2)
    with pytest.raises(InvalidInput, match="/jobs/0/queue"):
        add.using(queue="no queue!").map([1, 2], right=1)


def test_a_result_that_is_not_what_the_task_promised_fails_it() -> None:
    with pytest.raises(windlass.JobFailed, match="Expected `int`, got `str`") as failed:
        impossible.enqueue().result(30)
    assert failed.value.state == "dead"


@pytest.mark.parametrize("task", [forgetful, forgetful_later, forgetful_apart], ids=repr)
def test_a_task_that_promised_a_result_and_gives_none_fails(task: Task[[], str]) -> None:
    with pytest.raises(windlass.JobFailed, match="Expected `str`, got `null`") as failed:
        task.enqueue().result(60)
    assert (failed.value.state, failed.value.cause) == ("dead", "result_unusable")
    assert "parameter" not in failed.value.message


async def test_a_full_queue_is_told_at_once_and_waited_for_on_request(
    async_client: AsyncClient,
) -> None:
    queue = f"full-{uuid4().hex}"
    await async_client.queues.put(queue, max_jobs=1)
    await add.using(queue=queue, run_after="1h").aenqueue(1, 2)
    begun = monotonic()
    with pytest.raises(QueueFull):
        await add.using(queue=queue).aenqueue(1, 2)
    with pytest.raises(QueueFull):
        await add.using(queue=queue).amap([1, 2], right=3)
    assert monotonic() - begun < 20
    waiting = asyncio.create_task(
        add.using(queue=queue, wait_for_room="1m", run_after="1h").aenqueue(3, 4)
    )
    await async_client.queues.put(queue, max_jobs=2)
    assert (await waiting).id
    with pytest.raises(InvalidInput, match="a transaction cannot wait for room"):
        add.using(connection=object(), wait_for_room=3)
    with pytest.raises(InvalidInput, match="/wait_for_room"):
        add.using(wait_for_room="soon")


def test_why_says_that_no_node_has_the_task(sample: App) -> None:
    task = App("elsewhere").task(name="unknown.to.all")(lambda: None)
    task.home = sample
    handle = task.using(run_after="1h").enqueue()
    reasons = {gate["gate"]: gate["reason"] for gate in handle.why()["gates"]}
    assert "no live node has the task 'unknown.to.all'" in reasons["unknown_task"]
    handle.cancel()


def test_a_task_may_make_jobs_in_its_own_transaction(sample: App) -> None:
    for task in (pass_on, pass_on_async):
        made = windlass.Handle(sample, task.enqueue(1000).result(30), int)
        assert made.result(30) == 1001
    with pytest.raises(windlass.JobFailed, match="after all"):
        pass_on.enqueue(2000, then_fail=True).result(30)
    assert list(sample.blocking.jobs.list(key="passed-2000")) == [], "it went with its maker"


def test_nobody_listening_is_said_with_the_address() -> None:
    app = App("lost", url="http://127.0.0.1:1")
    task = app.task(name="it")(lambda: None)
    with pytest.raises(windlass.Unreachable, match=r"http://127\.0\.0\.1:1.*windlass up"):
        task.enqueue()
    app.blocking.close()
