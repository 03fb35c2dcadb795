"""`windlass.current()` on a real node: what a task says can be read, what it writes is there."""

from __future__ import annotations

import asyncpg
import pytest

import windlass
from tests.sdk.conftest import Server
from tests.sdk.sample_app import again_at_once, app, book, book_too_slowly, narrate
from windlass.sdk.http.client import Client

pytestmark = pytest.mark.usefixtures("sample")


def test_what_a_task_said_is_there_when_its_result_is() -> None:
    handle = narrate.enqueue(60)
    assert handle.result(timeout=30) == handle.id
    progress = handle.progress()
    assert progress is not None
    assert (progress["done"], progress["total"], progress["message"]) == (60, 60, "packing")
    lines = handle.logs()
    assert [line["message"] for line in lines] == [f"packed {n}" for n in range(60)]
    assert [line["fields"] for line in lines] == [{"box": n} for n in range(60)]
    assert {(line["attempt"], line["level"]) for line in lines} == {(1, "info")}


def test_a_task_that_said_nothing_has_nothing_to_show() -> None:
    handle = app.tasks["add"].enqueue(1, 2)
    handle.result(timeout=30)
    assert (handle.progress(), handle.logs()) == (None, [])


def test_pages_of_a_log_follow_each_other(client: Client) -> None:
    handle = narrate.enqueue(7)
    handle.result(timeout=30)
    seen: list[str] = []
    path = f"/v1/jobs/{handle.id}/logs?limit=3"
    cursor: str | None = ""
    while cursor is not None:
        page = client.request("GET", path + (f"&cursor={cursor}" if cursor else ""))
        seen += [line["message"] for line in page["data"]]
        cursor = page["next_cursor"]
    assert seen == [f"packed {n}" for n in range(7)]


def test_a_log_is_read_from_an_instant_on_and_up_to_another(client: Client) -> None:
    handle = narrate.enqueue(4)
    handle.result(timeout=30)
    path = f"/v1/jobs/{handle.id}/logs"
    whole = client.request("GET", path)["data"]
    at = whole[2]["at"]
    after = client.request("GET", f"{path}?created_after={at}")["data"]
    before = client.request("GET", f"{path}?created_before={at}")["data"]
    assert after == [line for line in whole if line["at"] >= at]
    assert before == [line for line in whole if line["at"] < at]
    assert whole[2] in after


def test_a_task_decides_itself_when_it_is_tried_again() -> None:
    assert again_at_once.enqueue().result(timeout=30) == 2


async def test_what_a_task_writes_in_its_jobs_transaction_is_there_with_its_success(
    server: Server,
) -> None:
    assert await book.enqueue("till", 5).aresult(timeout=30) == 1
    assert await book.enqueue("till", 7).aresult(timeout=30) == 2
    connection = await asyncpg.connect(server.database_url)
    try:
        assert await connection.fetchval("SELECT sum(amount) FROM public.till") == 12
        with pytest.raises(windlass.JobFailed, match="stopped after"):
            await book_too_slowly.enqueue("slow").aresult(timeout=30)
        assert await connection.fetchval("SELECT to_regclass('public.slow')") is None
    finally:
        await connection.close()


def test_a_step_that_writes_in_its_own_transaction_brings_the_next_one_along(
    client: Client,
) -> None:
    steps = [
        {"id": "book", "kind": "python", "input": {"task": "book", "args": ["ledger", 3]}},
        {
            "id": "shout",
            "kind": "python",
            "needs": ["book"],
            "input": {"task": "shout", "args": ["${string(steps.book.output)} booked"]},
        },
    ]
    client.workflows.put({"name": "booking", "steps": steps})
    execution = client.executions.start("booking", {}, wait=30)
    assert execution["state"] == "succeeded"


def test_a_job_whose_task_nobody_has_says_so(client: Client) -> None:
    # Later: a node would take it at once, to find that it has no such task, and nothing held it.
    job = client.jobs.submit(kind="python", input={"task": "nowhere"}, delay="1h")
    why = client.jobs.why(job["id"])
    (gate,) = [gate for gate in why["gates"] if gate["gate"] == "unknown_task"]
    assert gate["reason"].startswith("no live node has the task 'nowhere'; nodes know: add, ")
    client.jobs.cancel(job["id"])
    job = client.jobs.submit(kind="python", input={"task": "add", "args": [1, 2]}, delay="1h")
    gates = [gate["gate"] for gate in client.jobs.why(job["id"])["gates"]]
    assert "unknown_task" not in gates


def test_the_schemas_of_tasks_are_told(client: Client) -> None:
    kinds = {kind["kind"]: kind for kind in client.request("GET", "/v1/strategies")}
    tasks = {task["task"]: task for task in kinds["python"]["tasks"]}
    assert tasks["add"]["parameters"]["properties"] == {
        "left": {"type": "integer"},
        "right": {"type": "integer"},
    }
    assert tasks["add"]["result"] == {"type": "integer"}
    assert tasks["doubled"]["result"]["$ref"].endswith("Order")
    assert "Order" in tasks["doubled"]["parameters"]["$defs"]
