"""Handles on a real node."""

from __future__ import annotations

import pytest

import windlass
from tests.sdk.sample_app import add, await_other, fail, linger, report, wait_for_other
from windlass.sdk.tasks.app import App

pytestmark = pytest.mark.usefixtures("sample")


def test_a_failure_brings_the_traceback_of_the_other_side() -> None:
    handle = fail.using(max_attempts=1).enqueue("no more tea")
    with pytest.raises(windlass.JobFailed) as failed:
        handle.result(timeout=30)
    found = failed.value
    assert (found.job_id, found.state, found.cause) == (handle.id, "dead", "ValueError")
    assert found.message == "no more tea"
    assert found.remote_traceback is not None
    assert "raise ValueError(message)" in found.remote_traceback
    assert "sample_app.py" in str(found)


def test_one_does_not_wait_longer_than_one_wants_to() -> None:
    handle = add.using(run_after="1h").enqueue(1, 2)
    for timeout in (0, "10ms", 0.05):
        with pytest.raises(windlass.ResultTimeout, match="has not ended within"):
            handle.result(timeout=timeout)
    handle.cancel()


def test_what_was_cancelled_says_so() -> None:
    handle = add.using(run_after="1h").enqueue(1, 2)
    assert handle.state() == "queued"
    assert "summary" in handle.why()
    handle.cancel()
    with pytest.raises(windlass.JobFailed, match="is cancelled: cancelled"):
        handle.result(timeout=30)


async def test_a_running_job_can_be_cancelled() -> None:
    handle = await linger.aenqueue(600.0)
    while await handle.astate() != "running":
        await windlass.await_all([handle], timeout="20ms")
    await handle.acancel()
    with pytest.raises(windlass.JobFailed, match="cancelled"):
        await handle.aresult(timeout=30)


def test_a_job_that_failed_can_be_tried_again() -> None:
    handle = fail.using(max_attempts=1).enqueue("again and again")
    windlass.wait([handle], timeout=30)
    assert handle.state() == "dead"
    handle.retry()
    with pytest.raises(windlass.JobFailed, match="again and again"):
        handle.result(timeout=30)


def test_a_task_tells_how_far_it_is_and_what_it_does() -> None:
    quiet = add.enqueue(1, 2)
    assert quiet.result(30) == 3
    assert (quiet.progress(), quiet.logs()) == (None, [])
    handle = report.enqueue(3)
    assert handle.result(30) is None
    progress = handle.progress()
    assert progress is not None
    assert (progress["done"], progress["total"], progress["message"]) == (3, 3, "step 3")
    assert [(line["message"], line["fields"]) for line in handle.logs()] == [
        ("packed", {"box": box}) for box in (1, 2, 3)
    ]


@pytest.mark.parametrize("task", [wait_for_other, await_other])
def test_a_task_may_not_wait_for_another_job(sample: App, task: windlass.Task[[str], str]) -> None:
    other = add.using(run_after="1h").enqueue(1, 2)
    with pytest.raises(windlass.JobFailed, match="its slot would wait for a slot") as failed:
        task.using(max_attempts=1).enqueue(other.id).result(timeout=30)
    assert failed.value.cause == "WouldDeadlock"
    other.cancel()


def test_a_job_that_is_not_there_is_said_so(sample: App) -> None:
    from windlass.errors import NotFound

    handle = windlass.Handle(sample, "job_" + "0" * 32, int)
    with pytest.raises(NotFound, match="there is no job"):
        handle.result()


def test_handles_of_one_job_are_the_same(sample: App) -> None:
    one, other = windlass.Handle(sample, "job_1", int), windlass.Handle(sample, "job_1", int)
    assert one == other
    assert len({one, other}) == 1
    assert repr(one) == "<Handle job_1>"
    assert one != "job_1"
