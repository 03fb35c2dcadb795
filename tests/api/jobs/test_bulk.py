"""Bulk operations over HTTP: looked at first, asked for, read, listed, aborted, and refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from windlass.engine.jobs.bulk_batch import BulkBatches

BULK = "/v1/jobs/bulk"


async def submit(api: Served, count: int, **fields: Any) -> list[str]:
    jobs = [{"kind": "noop", **fields}] * count
    made: list[str] = (await api.post("/v1/jobs/batch", {"jobs": jobs}, 201))["ids"]
    return made


async def work(api: Served) -> None:
    batches = BulkBatches(api.database, api.parts.follower.follow)
    while await batches.work():
        pass


async def test_a_dry_run_says_what_would_be_touched(api: Served) -> None:
    mail = await submit(api, 3, queue="mail")
    await submit(api, 2, queue="hooks")
    asked = {"verb": "cancel", "filter": {"queue": "mail"}, "dry_run": True, "rate": 2}
    seen = await api.post(BULK, asked)
    group = {"state": "queued", "queue": "mail", "kind": "noop", "task": None, "cause": None}
    assert seen == {
        "dry_run": True,
        "verb": "cancel",
        "matching": 3,
        "is_exact": True,
        "estimated_seconds": 1.5,
        "groups": [group | {"count": 3}],
        "sample_ids": mail,
    }
    assert (await api.get(BULK))["data"] == []


async def test_an_operation_is_asked_for_watched_and_listed(api: Served) -> None:
    told: list[bool] = []
    api.parts.announcer.on_bulk(lambda: told.append(True))
    await submit(api, 3, queue="mail")
    asked = {"verb": "cancel", "filter": {"queue": "mail", "state": ["queued"]}, "most": 2}
    made = await api.post(BULK, asked, 202)
    assert told == [True]
    expected = {"kind": "bulk", "verb": "cancel", "phase": "pending", "matching": 3, "most": 2}
    assert expected.items() <= made.items()
    assert made["filter"] == {"state": ["queued"], "queue": "mail"}
    assert await api.get(f"/v1/operations/{made['id']}") == made
    assert (await api.get(f"{BULK}?phase=pending&verb=cancel"))["data"] == [made]
    await work(api)
    ended = await api.get(f"/v1/operations/{made['id']}")
    assert (ended["phase"], ended["done"]) == ("done", 2)
    assert (await api.get(f"{BULK}?phase=pending"))["data"] == []
    refused = await api.post(f"/v1/operations/{made['id']}/abort", status=409)
    assert refused["code"] == "not_abortable"


async def test_an_abort_ends_it_at_once(api: Served) -> None:
    [job] = await submit(api, 1, queue="mail")
    made = await api.post(BULK, {"verb": "cancel", "filter": {"queue": "mail"}}, 202)
    aborted = await api.post(f"/v1/operations/{made['id']}/abort")
    assert (aborted["phase"], aborted["done"]) == ("aborted", 0)
    await work(api)
    assert (await api.get(f"/v1/jobs/{job}"))["state"] == "queued"


async def test_one_key_is_one_operation(api: Served) -> None:
    asked, key = {"verb": "cancel", "all": True}, {"Idempotency-Key": "once"}
    first = await api.call("POST", BULK, 202, json=asked, headers=key)
    assert await api.call("POST", BULK, 202, json=asked, headers=key) == first
    assert len((await api.get(BULK))["data"]) == 1


async def test_the_filter_is_that_of_the_list(api: Served) -> None:
    [tagged] = await submit(api, 1, tags=["a"], correlation_id="c", key="k")
    await submit(api, 1)
    for which in ({"tag": "a"}, {"correlation_id": "c"}, {"key": "k"}):
        seen = await api.post(BULK, {"verb": "cancel", "filter": which, "dry_run": True})
        assert seen["sample_ids"] == [tagged], which
        [(name, value)] = which.items()
        assert [job["id"] for job in (await api.get(f"/v1/jobs?{name}={value}"))["data"]] == [
            tagged
        ]


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        ([], "", 'must be {"verb"'),
        ({"filter": {"queue": "a"}}, "/verb", "say what is to be done"),
        ({"verb": "cancl", "all": True}, "/verb", "(did you mean cancel?)"),
        ({"verb": "cancel"}, "/filter", "is empty"),
        ({"verb": "cancel", "filter": {}}, "/filter", "is empty"),
        ({"verb": "cancel", "filter": {"queue": "a"}, "all": True}, "/all", "is for no filter"),
        ({"verb": "cancel", "all": "yes"}, "/all", "must be true or false"),
        ({"verb": "cancel", "filter": []}, "/filter", "must be an object"),
        ({"verb": "cancel", "filter": {"queu": "a"}}, "/filter/queu", "(did you mean queue?)"),
        ({"verb": "cancel", "filter": {"queue": 3}}, "/filter/queue", "must be a text"),
        ({"verb": "cancel", "filter": {"queue": "a b"}}, "/filter/queue", "must be 1 to 128"),
        ({"verb": "cancel", "filter": {"state": "queued"}}, "/filter/state", "must be a list"),
        ({"verb": "cancel", "filter": {"state": ["odd"]}}, "/filter/state", "is not one of"),
        ({"verb": "cancel", "filter": {"state": ["dead"]}}, "/filter/state", "cancel is for"),
        ({"verb": "cancel", "filter": {"cause": "a"}}, "/filter/cause", "only what has ended"),
        ({"verb": "retry", "filter": {"queue": "a"}}, "/filter/state", "say which"),
        ({"verb": "retry", "all": True}, "/filter/state", "say which"),
        ({"verb": "cancel", "filter": {"execution_id": "x"}}, "/filter/execution_id", "exe_"),
        ({"verb": "cancel", "filter": {"created_after": "x"}}, "/filter/created_after", "2030"),
        ({"verb": "cancel", "all": True, "rate": 0}, "/rate", "must be jobs a second"),
        ({"verb": "cancel", "all": True, "rate": True}, "/rate", "must be jobs a second"),
        ({"verb": "cancel", "all": True, "most": 0}, "/most", "must be a whole number"),
        ({"verb": "cancel", "all": True, "dry_run": 1}, "/dry_run", "must be true or false"),
        ({"verb": "cancel", "all": True, "dryrun": 1}, "/dryrun", "(did you mean dry_run?)"),
    ],
)
async def test_what_cannot_be_meant_is_refused_by_name(
    api: Served, body: Any, pointer: str, says: str
) -> None:
    refused = await api.post(BULK, body, 422)
    errors = {error["pointer"]: error["detail"] for error in refused["errors"]}
    assert says in errors.get(pointer, ""), errors
    assert (await api.get(BULK))["data"] == []


async def test_dead_letters_are_counted_first_and_replayed_at_a_rate(
    api: Served, node: ActingNode
) -> None:
    dead = await submit(api, 4, queue="mail")
    await node.bury("boom")
    for which in ({"filter": {"cause": "boom"}}, {"ids": dead}):
        seen = await api.post("/v1/dead-letters/replay", {**which, "dry_run": True})
        assert (seen["matching"], seen["verb"]) == (4, "replay")
        assert [(group["cause"], group["count"]) for group in seen["groups"]] == [("boom", 4)]
    made = await api.post("/v1/dead-letters/discard", {"ids": dead[:1], "rate": 50}, 202)
    assert (made["verb"], made["named"], made["rate"]) == ("discard", 1, 50)
    await work(api)
    await api.get(f"/v1/jobs/{dead[0]}", 404)
    made = await api.post("/v1/dead-letters/replay", {"filter": {}, "rate": 50}, 202)
    await work(api)
    assert (await api.get(f"/v1/operations/{made['id']}"))["done"] == 3
    for bad in ({"filter": {}, "rate": "fast"}, {"filter": {}, "dry_run": "yes"}, {"rate": 5}):
        await api.post("/v1/dead-letters/replay", bad, 422)
