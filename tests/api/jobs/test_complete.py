"""POST /v1/jobs/{id}/complete: a token, and no key, opens it for one attempt of one job."""

from __future__ import annotations

import asyncio
import io
import json
from hashlib import sha256
from typing import Any

import pytest

from tests.api.acting_node import ActingNode, later
from tests.api.served import Served
from windlass import ids
from windlass.limits import CALLBACK_SECONDS_MAX, KEY_CHARS_MAX, RESULT_BYTES_MAX
from windlass.model.job.outcome import Awaited, Succeeded
from windlass.model.job.submission import read_instant

TOKEN = "bNd0Nv1mF9xJ2qkP7aZ3sT5uW8yC4eH6iL0oR2tV4xB"
NO_KEY = {"Authorization": ""}
AWAITED = Awaited(sha256(TOKEN.encode()).digest(), 600)


async def hand_over(api: Served, node: ActingNode, **job: Any) -> str:
    """A job that its receiver has taken over."""
    made = await api.submit(**job)
    [attempt] = await node.claim()
    await node.settle(attempt, AWAITED)
    return str(made["id"])


async def say(api: Served, job: str, status: int = 200, head: str = "", **body: Any) -> Any:
    """As the receiver: without a key."""
    path, headers = f"/v1/jobs/{job}/complete", {"Authorization": head}
    return await api.post(path, body, status, headers=headers)


async def test_a_success_ends_the_job_and_wakes_whoever_waits_for_it(
    api: Served, node: ActingNode
) -> None:
    job = await hand_over(api, node)
    waiting = asyncio.create_task(api.get(f"/v1/jobs/{job}?wait=20s"))
    child = await api.submit(depends_on=[job])
    answer = await say(api, job, token=TOKEN, state="succeeded", result={"a": [1]})
    assert (answer["id"], answer["state"], answer["attempt"]) == (job, "succeeded", 1)
    assert answer.keys() == {"id", "state", "attempt", "run_at", "finished_at", "callback_until"}
    ended = await waiting
    assert (ended["state"], ended["result"]) == ("succeeded", {"a": [1]})
    assert (await api.get(f"/v1/jobs/{child['id']}"))["state"] == "queued"


async def test_the_token_may_stand_in_the_head_of_the_request(
    api: Served, node: ActingNode
) -> None:
    job = await hand_over(api, node)
    await say(api, job, 403, head=f"Basic {TOKEN}", state="succeeded")
    answer = await say(api, job, head=f"bearer {TOKEN}", state="succeeded")
    assert answer["state"] == "succeeded"


async def test_an_answer_is_repeated_to_whoever_shows_the_token_again(
    api: Served, node: ActingNode
) -> None:
    job = await hand_over(api, node)
    path, body = f"/v1/jobs/{job}/complete", {"state": "succeeded"}
    shown = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": "k"}
    first = await api.post(path, body, headers=shown)
    assert await api.post(path, body, headers=shown) == first
    for head in ("", "Bearer a guess"):
        others = {**shown, "Authorization": head}
        assert "state" not in await api.post(path, body, 422, headers=others)


async def test_a_failure_is_retried_and_says_when(api: Served, node: ActingNode) -> None:
    job = await hand_over(api, node, retry={"initial": "1h", "max": "1h", "jitter": False})
    answer = await say(
        api, job, token=TOKEN, state="failed", error={"message": "no room", "cause": "full"}
    )
    assert (answer["state"], answer["finished_at"]) == ("queued", None)
    assert read_instant(answer["run_at"]) > later(3500)
    error = (await api.get(f"/v1/jobs/{job}"))["error"]
    assert error == {"cause": "full", "message": "no room"}
    problem = await say(api, job, 409, token=TOKEN, state="failed")
    assert problem["code"] == "not_awaiting"


async def test_a_final_failure_without_a_word_is_dead(api: Served, node: ActingNode) -> None:
    job = await hand_over(api, node)
    answer = await say(api, job, token=TOKEN, state="failed", is_final=True)
    assert answer["state"] == "dead"
    assert (await api.get(f"/v1/jobs/{job}"))["cause"] == "receiver"


async def test_more_time_is_given_from_now_on(api: Served, node: ActingNode) -> None:
    job = await hand_over(api, node)
    answer = await say(api, job, token=TOKEN, extend="2h")
    assert answer["state"] == "running"
    assert later(7000) < read_instant(answer["callback_until"]) < later(7400)
    assert (await api.get(f"/v1/jobs/{job}/why"))["gates"][0]["until"] == answer["callback_until"]


async def test_said_twice_it_is_answered_twice_and_done_once(api: Served, node: ActingNode) -> None:
    job = await hand_over(api, node)
    first = await say(api, job, token=TOKEN, state="succeeded", result=1)
    assert await say(api, job, token=TOKEN, state="succeeded", result=1) == first
    problem = await say(api, job, 409, token=TOKEN, state="succeeded", result=2)
    assert problem["code"] == "not_awaiting"
    problem = await say(api, job, 409, token=TOKEN, extend=1)
    assert problem["code"] == "not_awaiting"


async def test_without_the_right_token_nothing_is_done(api: Served, node: ActingNode) -> None:
    job = await hand_over(api, node)
    for given in ({}, {"token": None}, {"token": "a guess"}, {"head": "Bearer a guess"}):
        problem = await say(api, job, 403, state="succeeded", **given)
        assert problem["code"] == "wrong_token"
    # A key opens everything else, but is no token.
    await say(api, job, 403, head=f"Bearer {api.key}", state="succeeded")
    assert (await api.get(f"/v1/jobs/{job}"))["state"] == "running"


async def test_a_job_that_does_not_wait_or_is_not_there_is_refused(
    api: Served, node: ActingNode
) -> None:
    nowhere = ids.show("job", ids.uuid7())
    await say(api, nowhere, 404, token=TOKEN, state="succeeded")
    made = await api.submit()
    problem = await say(api, made["id"], 409, token=TOKEN, state="succeeded")
    assert (problem["code"], made["id"] in problem["detail"]) == ("not_awaiting", True)
    await node.run(Succeeded())
    await say(api, made["id"], 409, token=TOKEN, state="succeeded")


async def test_a_receiver_that_calls_before_its_202_is_settled_is_heard(
    api: Served, node: ActingNode
) -> None:
    made = await api.submit()
    [attempt] = await node.claim()
    early = asyncio.create_task(say(api, made["id"], token=TOKEN, state="succeeded"))
    await node.settle(attempt, AWAITED)
    assert (await early)["state"] == "succeeded"


async def test_one_that_calls_long_before_its_202_is_settled_is_told_to_come_again(
    api: Served, node: ActingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.engine.jobs.complete.EARLY_SECONDS", 0.1)
    made = await api.submit()
    [attempt] = await node.claim()
    path, headers = f"/v1/jobs/{made['id']}/complete", {"Authorization": ""}
    body: dict[str, Any] = {"token": TOKEN, "state": "succeeded", "result": 1}
    async with api.client.post(api.url + path, json=body, headers=headers) as early:
        assert (early.status, early.headers["Retry-After"]) == (503, "1")
        assert (await early.json(content_type=None))["code"] == "not_settled_yet"
    await node.settle(attempt, AWAITED)
    assert (await say(api, made["id"], **body))["state"] == "succeeded"


async def test_cancelling_ends_it_at_once(api: Served, node: ActingNode) -> None:
    job = await hand_over(api, node)
    assert (await api.post(f"/v1/jobs/{job}/cancel"))["state"] == "cancelled"
    problem = await say(api, job, 409, token=TOKEN, state="succeeded")
    assert "cancelled" in problem["detail"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ([], ""),
        ({}, "/state"),
        ({"state": "dead"}, "/state"),
        ({"state": "extend"}, "/state"),
        ({"state": ["succeeded"]}, "/state"),
        ({"state": "succeeded", "extend": 5}, "/state"),
        ({"state": "succeeded", "error": {}}, "/error"),
        ({"state": "failed", "result": 1}, "/result"),
        ({"state": "succeeded", "resul/t": 1}, "/resul~1t"),
        ({"state": "succeeded", "token": 5}, "/token"),
        ({"state": "succeeded", "token": ""}, "/token"),
        ({"state": "succeeded", "token": "x" * (KEY_CHARS_MAX + 1)}, "/token"),
        ({"state": "succeeded", "result": "\0"}, "/result"),
        ({"state": "failed", "error": "no"}, "/error"),
        ({"state": "failed", "error": {"massage": "no"}}, "/error"),
        ({"state": "failed", "error": {"message": 5}}, "/error"),
        ({"state": "failed", "error": {"cause": ""}}, "/error"),
        ({"state": "failed", "is_final": 1}, "/is_final"),
        ({"extend": None}, "/extend"),
        ({"extend": "soon"}, "/extend"),
        ({"extend": CALLBACK_SECONDS_MAX + 1}, "/extend"),
    ],
    ids=lambda given: repr(given)[:60],
)
async def test_what_cannot_be_meant_is_refused_with_its_pointer(
    door: Served, body: Any, pointer: str
) -> None:
    path = f"/v1/jobs/{ids.show('job', ids.uuid7())}/complete"
    problem = await door.post(path, body, 422, headers=NO_KEY)
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


async def test_a_result_may_be_as_large_as_any_and_not_larger(
    api: Served, node: ActingNode
) -> None:
    path = f"/v1/jobs/{await hand_over(api, node)}/complete"
    head = {"Authorization": "", "Content-Type": "application/json"}
    for bytes_, status in (
        (3 * RESULT_BYTES_MAX, 413),
        (RESULT_BYTES_MAX + 1, 422),
        (RESULT_BYTES_MAX, 200),
    ):
        said = {"token": TOKEN, "state": "succeeded", "result": "x" * (bytes_ - len('""'))}
        body = io.BytesIO(json.dumps(said).encode())
        await api.call("POST", path, status, data=body, headers=head)


async def test_only_this_verb_is_open(door: Served) -> None:
    job = ids.show("job", ids.uuid7())
    for method, path in (
        ("GET", f"/v1/jobs/{job}/complete"),
        ("POST", f"/v1/jobs/{job}/cancel"),
        ("POST", f"/v1/jobs/{job}/complete/cancel"),
        ("POST", "/v1/jobs/a/b/complete"),
    ):
        await door.call(method, path, 401, headers=NO_KEY)
