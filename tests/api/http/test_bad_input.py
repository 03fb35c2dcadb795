"""What cannot be taken is refused with the place of the mistake, and never by a 5xx."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from yarl import URL

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from windlass.api.http import paging
from windlass.limits import BODY_BYTES_MAX, INPUT_BYTES_MAX

JSON = {"Content-Type": "application/json"}
GHOST = "job_" + "0" * 32
YEAR = 366 * 24 * 3600
DEEP = "[" * 100_000 + "]" * 100_000  # deeper than any Python reads

# A field of POST /v1/jobs, what is wrong with it, and where the answer must point.
FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"unknown": 1}, "/unknown"),
    ({"kind": None}, "/kind"),
    ({"kind": 5}, "/kind"),
    ({"kind": "sorcery"}, "/kind"),
    ({"input": None}, "/input"),
    ({"input": []}, "/input"),
    ({"input": ["x"]}, "/input"),
    ({"input": "text"}, "/input"),
    ({"input": {"a": "\x00"}}, "/input"),
    ({"input": {"\x00": 1}}, "/input"),
    ({"input": {"a": "\ud800"}}, "/input"),
    ({"input": {"a": "x" * INPUT_BYTES_MAX}}, "/input"),
    ({"queue": ""}, "/queue"),
    ({"queue": "a b"}, "/queue"),
    ({"queue": "x" * 129}, "/queue"),
    ({"queue": "\x00"}, "/queue"),
    ({"queue": 1}, "/queue"),
    ({"priority": "urgent"}, "/priority"),
    ({"priority": 1}, "/priority"),
    ({"priority": []}, "/priority"),
    ({"run_at": "tomorrow"}, "/run_at"),
    ({"run_at": "2030-01-01T00:00:00"}, "/run_at"),
    ({"run_at": "9999-12-31T23:59:59Z"}, "/run_at"),
    ({"run_at": 5}, "/run_at"),
    ({"delay": -1}, "/delay"),
    ({"delay": "-5s"}, "/delay"),
    ({"delay": YEAR + 1}, "/delay"),
    ({"delay": 10**400}, "/delay"),
    ({"delay": "1 fortnight"}, "/delay"),
    ({"delay": True}, "/delay"),
    ({"delay": "1s", "run_at": "2030-01-01T00:00:00Z"}, "/delay"),
    ({"timeout": 0}, "/timeout"),
    ({"timeout": "8d"}, "/timeout"),
    ({"timeout": {}}, "/timeout"),
    ({"deadline": "2001-01-01T00:00:00Z"}, "/deadline"),
    ({"deadline": "0001-01-01T00:00:00+14:00"}, "/deadline"),
    ({"retry": 5}, "/retry"),
    ({"retry": {"max_attempts": 0}}, "/retry/max_attempts"),
    ({"retry": {"max_attempts": 1.5}}, "/retry/max_attempts"),
    ({"retry": {"initial": -1}}, "/retry/initial"),
    ({"retry": {"factor": 0.5}}, "/retry/factor"),
    ({"retry": {"jitter": "yes"}}, "/retry/jitter"),
    ({"retry": {"often": True}}, "/retry/often"),
    ({"depends_on": "job"}, "/depends_on"),
    ({"depends_on": [5]}, "/depends_on/0"),
    ({"depends_on": ["exe_" + "0" * 32]}, "/depends_on/0"),
    ({"depends_on": [GHOST]}, "/depends_on/0"),
    ({"depends_on": ["#0"]}, "/depends_on"),
    ({"depends_on": [GHOST] * 1001}, "/depends_on"),
    ({"on_parent_failure": "run"}, "/on_parent_failure"),
    ({"depends_on": [GHOST], "on_parent_failure": "weep"}, "/on_parent_failure"),
    ({"key": ""}, "/key"),
    ({"key": "x" * 257}, "/key"),
    ({"key": "a\nb"}, "/key"),
    ({"tags": "a"}, "/tags"),
    ({"tags": [""]}, "/tags/0"),
    ({"tags": ["x"] * 33}, "/tags"),
    ({"tags": ["\ud800"]}, "/tags/0"),
    ({"correlation_id": 7}, "/correlation_id"),
    ({"locks": "a"}, "/locks"),
    ({"locks": ["a"] * 17}, "/locks"),
    ({"locks": ["a", "b/c"]}, "/locks/1"),
    ({"locks": [{"name": "a", "capacity": 0}]}, "/locks/0"),
    ({"kind": "http", "input": {}}, "/input/url"),
    ({"kind": "http", "input": ["x"]}, "/input"),
    ({"kind": "http", "input": {"url": "file:///etc/passwd"}}, "/input/url"),
    ({"kind": "http", "input": {"url": "http://a/", "verb": "GET"}}, "/input/verb"),
    ({"kind": "wait", "input": {"seconds": -1}}, "/input/seconds"),
    ({"kind": "python", "input": {"task": 1}}, "/input/task"),
]


def pointers(problem: dict[str, Any]) -> list[str]:
    return [error["pointer"] for error in problem["errors"]]


@pytest.mark.parametrize(("field", "pointer"), FIELDS, ids=lambda value: str(value)[:40])
async def test_a_field_that_cannot_be_taken_is_named(
    door: Served, field: dict[str, Any], pointer: str
) -> None:
    body = json.dumps({"kind": "noop", **field})
    problem = await door.call("POST", "/v1/jobs", 422, data=BytesIO(body.encode()), headers=JSON)
    assert pointer in pointers(problem)
    assert problem["code"] == "invalid_input"
    in_batch = json.dumps({"jobs": [{"kind": "noop"}, {"kind": "noop", **field}]})
    if pointer != "/depends_on" or field["depends_on"] != ["#0"]:  # which a batch may say
        problem = await door.call(
            "POST", "/v1/jobs/batch", 422, data=BytesIO(in_batch.encode()), headers=JSON
        )
        assert f"/jobs/1{pointer}" in pointers(problem)
    assert (await door.get("/v1/stats"))["totals"]["queued"] == 0


async def test_every_mistake_is_named_at_once(door: Served) -> None:
    body = {"kind": "noop", "queue": "", "priority": 9, "nonsense": True, "delay": -1}
    problem = await door.post("/v1/jobs", body, 422)
    assert set(pointers(problem)) == {"/queue", "/priority", "/nonsense", "/delay"}


BODIES: list[tuple[bytes, int, str]] = [
    (b"", 400, "malformed_body"),
    (b"{", 400, "malformed_body"),
    (b"\xff\xfe", 400, "malformed_body"),
    (b'{"kind":"noop","kind":"wait"}', 400, "malformed_body"),
    (b'{"kind":"noop","input":{"n":NaN}}', 400, "malformed_body"),
    (b'{"kind":"noop","input":{"n":Infinity}}', 400, "malformed_body"),
    (b'{"kind":"noop","input":{"n":1e999}}', 400, "malformed_body"),
    (b'{"kind":"noop","input":{"n":%s}}' % (b"9" * 5000), 400, "malformed_body"),
    (b"\xef\xbb\xbf{}", 400, "malformed_body"),
    (b'{"kind":"noop","input":{"n":%s}}' % DEEP.encode(), 400, "malformed_body"),
    (b'{"kind":"noop","input":{"n":%s}}' % (b"[" * 70 + b"]" * 70), 422, "invalid_input"),
    (b"[]", 422, "invalid_input"),
    (b"null", 422, "invalid_input"),
    (b'"job"', 422, "invalid_input"),
    (b'{"\\ud800":1,"kind":"noop"}', 422, "invalid_input"),
    (b" " * (BODY_BYTES_MAX + 1), 413, "body_too_large"),
    (b'{"kind":"noop","input":{"a":"' + b"x" * 10_000_000 + b'"}}', 413, "body_too_large"),
]


@pytest.mark.parametrize(("body", "status", "code"), BODIES, ids=lambda value: str(value)[:40])
async def test_a_body_that_cannot_be_taken_is_refused(
    door: Served, body: bytes, status: int, code: str
) -> None:
    problem = await door.call("POST", "/v1/jobs", status, data=BytesIO(body), headers=JSON)
    assert problem["code"] == code
    assert problem["status"] == status
    assert problem["request_id"]


async def test_a_body_without_a_declared_length_is_cut_off_at_the_limit(door: Served) -> None:
    async def pieces() -> Any:
        for _ in range(BODY_BYTES_MAX // 65536 + 2):
            yield b" " * 65536

    problem = await door.call("POST", "/v1/jobs", 413, data=pieces(), headers=JSON)
    assert (problem["limit"], problem["unit"]) == (BODY_BYTES_MAX, "bytes")


@pytest.mark.parametrize(
    "type_",
    ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"],
)
async def test_a_body_that_is_not_json_by_its_own_word_is_refused(door: Served, type_: str) -> None:
    headers = {"Content-Type": type_}
    problem = await door.call("POST", "/v1/jobs", 415, data=b'{"kind":"noop"}', headers=headers)
    assert problem["code"] == "unsupported_media_type"


BATCHES: list[tuple[Any, str]] = [
    ({}, "/jobs"),
    ([], "/jobs"),
    ({"jobs": []}, "/jobs"),
    ({"jobs": {}}, "/jobs"),
    ({"jobs": [{"kind": "noop"}], "extra": 1}, "/extra"),
    ({"jobs": [{"kind": "noop"}] * 10_001}, "/jobs"),
    ({"jobs": [5]}, "/jobs/0"),
    ({"jobs": [{"kind": "noop", "depends_on": ["#0"]}]}, "/jobs/0/depends_on"),
    ({"jobs": [{"kind": "noop", "depends_on": ["#7"]}]}, "/jobs/0/depends_on"),
    (
        {
            "jobs": [
                {"kind": "noop", "depends_on": ["#2"]},
                {"kind": "noop", "depends_on": ["#0"]},
                {"kind": "noop", "depends_on": ["#1"]},
            ]
        },
        "/jobs/0/depends_on",
    ),
]


@pytest.mark.parametrize(("body", "pointer"), BATCHES, ids=lambda value: str(value)[:40])
async def test_a_batch_that_cannot_be_taken_leaves_nothing_behind(
    door: Served, body: Any, pointer: str
) -> None:
    problem = await door.post("/v1/jobs/batch", body, 422)
    assert pointer in pointers(problem)
    assert (await door.get("/v1/stats"))["totals"]["queued"] == 0


QUERIES: list[tuple[str, str]] = [
    ("/v1/jobs?stat=dead", "?stat"),
    ("/v1/jobs?state=undead", "?state"),
    ("/v1/jobs?state=", "?state"),
    ("/v1/jobs?limit=0", "?limit"),
    ("/v1/jobs?limit=501", "?limit"),
    ("/v1/jobs?limit=ten", "?limit"),
    ("/v1/jobs?limit=%D9%A1", "?limit"),
    ("/v1/jobs?limit=5&limit=6", "?limit"),
    ("/v1/jobs?cursor=abc", "?cursor"),
    ("/v1/jobs?cursor=", "?cursor"),
    ("/v1/jobs?cursor=j_00", "?cursor"),
    ("/v1/jobs?cursor=%F0%9F%92%A9", "?cursor"),
    ("/v1/jobs?queue=%00", "?queue"),
    ("/v1/jobs?tag=%00", "?tag"),
    ("/v1/jobs?key=", "?key"),
    ("/v1/jobs?execution_id=job_" + "0" * 32, "?execution_id"),
    ("/v1/jobs?created_after=yesterday", "?created_after"),
    ("/v1/jobs?queue=%FF", "?"),
    ("/v1/jobs?" + "&".join(["queue=a"] * 200), "?"),
    (f"/v1/jobs/{GHOST}?wait=2h", "?wait"),
    (f"/v1/jobs/{GHOST}?wait=-1", "?wait"),
    (f"/v1/jobs/{GHOST}?at=noon", "?at"),
    (f"/v1/jobs/{GHOST}?at=1969-12-31T00:00:00Z", "?at"),
    ("/v1/jobs/exe_" + "0" * 32, "{job_id}"),
    ("/v1/jobs/job_123", "{job_id}"),
    ("/v1/jobs/job_" + "G" * 32, "{job_id}"),
    ("/v1/jobs/%00/why", "{job_id}"),
    ("/v1/dead-letters?state=dead", "?state"),
    ("/v1/dead-letters?cursor=x", "?cursor"),
    ("/v1/queues?cursor=q_%00", "?cursor"),
    ("/v1/queues/a%20b", "{name}"),
    ("/v1/events?cursor=x", "?cursor"),
    ("/v1/events?type=%00", "?type"),
    ("/v1/events?job_id=5", "?job_id"),
    ("/v1/events/stream?kind=a", "?kind"),
    ("/v1/nodes/job_" + "0" * 32, "{node_id}"),
    ("/health/live?deep=1", "?deep"),
]


@pytest.mark.parametrize(("path", "pointer"), QUERIES)
async def test_a_parameter_that_cannot_be_taken_is_named(
    door: Served, path: str, pointer: str
) -> None:
    async with door.client.get(URL(door.url + path, encoded=True)) as answer:
        assert answer.status == 422, await answer.text()
        assert answer.content_type == "application/problem+json"
        assert pointer in pointers(await answer.json(content_type=None))


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ("/v1/jobs", "since", "finished_after or created_after"),
        ("/v1/executions", "until", "finished_before or created_before"),
        ("/v1/dead-letters", "since", "finished_after"),
        ("/v1/dead-letters", "until", "finished_before"),
        ("/v1/events", "since", "created_after"),
    ],
)
async def test_another_word_for_a_range_of_time_is_refused_with_ours(
    door: Served, path: str, wrong: str, right: str
) -> None:
    problem = await door.get(f"{path}?{wrong}=2026-01-01T00:00:00Z", 422)
    assert f"say {right}; " in problem["errors"][0]["detail"]
    if path == "/v1/dead-letters":
        body = {"filter": {wrong: "2026-01-01T00:00:00Z"}}
        problem = await door.post("/v1/dead-letters/discard", body, 422)
        assert f"say {right}; " in problem["errors"][0]["detail"]


async def test_a_cursor_of_another_list_is_refused(api: Served, node: ActingNode) -> None:
    await api.submit()
    await api.submit()
    await node.bury()
    jobs = (await api.get("/v1/jobs?limit=1"))["next_cursor"]
    dead = (await api.get("/v1/dead-letters?limit=1"))["next_cursor"]
    for path, cursor in (("jobs", jobs), ("dead-letters", dead)):
        assert len((await api.get(f"/v1/{path}?cursor={cursor}"))["data"]) == 1
    for path, cursor in (("queues", jobs), ("dead-letters", jobs), ("jobs", dead)):
        assert pointers(await api.get(f"/v1/{path}?cursor={cursor}", 422)) == ["?cursor"]


def test_no_two_lists_have_the_same_cursors() -> None:
    marks = [one.mark for one in vars(paging).values() if isinstance(one, paging.Cursors)]
    assert len(marks) > 10
    assert len(set(marks)) == len(marks)


LIMITS: list[tuple[Any, str]] = [
    ({"max_jobs": -1}, "/max_jobs"),
    ({"max_jobs": 1.5}, "/max_jobs"),
    ({"max_jobs": True}, "/max_jobs"),
    ({"max_jobs": 2**70}, "/max_jobs"),
    ({"max_running": 2**31}, "/max_running"),
    ({"rate": 0}, "/rate"),
    ({"rate": "fast"}, "/rate"),
    ({"rate": 10**400}, "/rate"),
    ({"speed": 1}, "/speed"),
    ([], ""),
]


@pytest.mark.parametrize(("body", "pointer"), LIMITS, ids=lambda value: str(value)[:40])
async def test_a_limit_that_cannot_be_set_is_named(door: Served, body: Any, pointer: str) -> None:
    problem = await door.call("PUT", "/v1/queues/q", 422, json=body)
    assert pointer in pointers(problem)


CHOICES: list[tuple[Any, str]] = [
    ({}, ""),
    ([], ""),
    ({"ids": []}, "/ids"),
    ({"ids": [5]}, "/ids/0"),
    ({"ids": ["exe_" + "0" * 32]}, "/ids/0"),
    ({"ids": [GHOST], "filter": {}}, ""),
    ({"filter": None}, "/filter"),
    ({"filter": {"state": "dead"}}, "/filter/state"),
    ({"filter": {"finished_after": "noon"}}, "/filter/finished_after"),
    ({"filter": {"since": "2026-01-01T00:00:00Z"}}, "/filter/since"),
    ({"filter": {"cause": "\x00"}}, "/filter/cause"),
]


@pytest.mark.parametrize("verb", ["replay", "discard"])
@pytest.mark.parametrize(("body", "pointer"), CHOICES, ids=lambda value: str(value)[:40])
async def test_a_choice_of_dead_letters_that_cannot_be_read_is_refused(
    door: Served, verb: str, body: Any, pointer: str
) -> None:
    problem = await door.post(f"/v1/dead-letters/{verb}", body, 422)
    assert pointer in pointers(problem)


async def test_a_verb_that_takes_no_words_refuses_them(api: Served) -> None:
    made = await api.submit()
    problem = await api.post(f"/v1/jobs/{made['id']}/cancel", {"force": True}, 422)
    assert pointers(problem) == ["/force"]
    assert (await api.post(f"/v1/jobs/{made['id']}/cancel", {}))["state"] == "cancelled"


@pytest.mark.parametrize("key", ["", "x" * 257, "\u00e9".encode().decode("latin-1") * 200])
async def test_an_idempotency_key_that_cannot_be_kept_is_refused(door: Served, key: str) -> None:
    problem = await door.post("/v1/jobs", {"kind": "noop"}, 422, headers={"Idempotency-Key": key})
    assert pointers(problem) == ["Idempotency-Key"]


async def test_what_is_not_there_and_what_is_not_offered_are_problems_too(door: Served) -> None:
    problem = await door.get("/v1/nothing", 404)
    assert (problem["code"], problem["status"]) == ("not_found", 404)
    async with door.client.delete(door.url + "/v1/jobs") as answer:
        assert answer.status == 405
        assert {word.strip() for word in answer.headers["Allow"].split(",")} >= {"GET", "POST"}
        problem = await answer.json(content_type="application/problem+json")
        assert problem["request_id"] == answer.headers["X-Request-ID"]


async def test_a_request_id_is_taken_over_when_it_is_sane(door: Served) -> None:
    for given, is_taken in (("abc-1", True), ("x" * 200, False), ("a b", False)):
        async with door.client.get(
            door.url + "/health/live", headers={"X-Request-ID": given}
        ) as answer:
            assert (answer.headers["X-Request-ID"] == given) == is_taken
            assert answer.headers["X-Request-ID"]
