"""Tasks by name: what a node told of those it has, and what becomes of their jobs."""

from __future__ import annotations

import pytest

from tests.sdk.sample_app import add, fail
from windlass.errors import NotFound
from windlass.sdk.http.client import Client

pytestmark = pytest.mark.usefixtures("sample")


def test_a_node_tells_what_its_tasks_take_and_what_their_jobs_get(client: Client) -> None:
    tasks = {task["name"]: task for task in client.tasks.list()}
    assert tasks["add"]["app"] == "sample"
    assert tasks["add"]["parameters"]["properties"]["left"] == {"type": "integer"}
    assert (tasks["add"]["result"], tasks["add"]["options"]) == ({"type": "integer"}, {})
    assert tasks["reduced"]["options"]["queue"] == "orders"
    assert tasks["reduced"]["options"]["retry"]["max_attempts"] == 2
    assert tasks["forgetful"]["doc"] == "Says that it returns text, and forgets to."
    [node] = tasks["add"]["nodes"]
    assert client.tasks.get("add")["nodes"] == [node]
    assert tasks["add"]["node_count"] == 1


def test_its_jobs_are_counted_and_found_by_its_name(client: Client) -> None:
    before = client.tasks.get("add")["queued"]
    handle = add.using(run_after="1h").enqueue(1, 2)
    assert client.tasks.get("add")["queued"] == before + 1
    assert handle.id in {job["id"] for job in client.jobs.list(task="add", state="queued")}
    assert {job["task"] for job in client.jobs.list(task="add", limit=100)} == {"add"}
    handle.cancel()
    died = fail.using(retry=None, queue="named").enqueue("on purpose")
    assert client.jobs.wait(died.id)["task"] == "fail"
    groups = [group for group in client.dead_letters.groups() if group["queue"] == "named"]
    assert [(group["task"], group["target"]) for group in groups] == [("fail", None)]
    dead = list(client.dead_letters.list(task="fail", queue="named"))
    assert [job["id"] for job in dead] == [died.id]
    assert client.dead_letters.discard(task="fail", queue="named")["discarded"] == 1
    names = {event["name"] for event in client.jobs.events(handle.id)}
    assert names == {"add"}


def test_a_task_that_nobody_told_of_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        client.tasks.get("nowhere")
