"""Quotas over HTTP: set, shown, kept to, and told in headers and problem documents."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from tests.api.conftest import Serve
from tests.api.served import Served
from tests.until import until
from windlass.config import Settings

pytestmark = pytest.mark.usefixtures("patient_lane")

SLOW = {"requests_per_second": 0.01}


@dataclass(slots=True, kw_only=True)
class Person:
    """Somebody else than the admin, by a token."""

    api: Served
    token: str
    id: str

    async def ask(self, method: str, path: str, **given: Any) -> aiohttp.ClientResponse:
        headers = {"Authorization": f"Bearer {self.token}", **given.pop("headers", {})}
        call = self.api.client.request(method, self.api.url + path, headers=headers, **given)
        async with call as answer:
            await answer.read()
            return answer

    async def submit(self, status: int = 201, **job: Any) -> Any:
        answer = await self.ask("POST", "/v1/jobs", json={"kind": "noop", **job})
        found = await answer.json()
        assert answer.status == status, found
        return found


@pytest.fixture
async def api(serve_with: Serve) -> Served:
    return await connected(serve_with, Settings())


async def connected(serve_with: Serve, settings: Settings) -> Served:
    """Its node asks Redis from the first request on."""
    served = await serve_with(settings)
    await until(lambda: served.parts.lane.is_up)
    return served


async def key_of(api: Served, **fields: Any) -> Person:
    may = {} if "scopes" in fields else {"role": "operator"}
    made = await api.post("/v1/keys", {"name": "it", "is_personal": False, **may, **fields}, 201)
    return Person(api=api, token=made["token"], id=made["id"])


async def user(api: Served, name: str = "ann", role: str = "operator") -> Person:
    """One who has logged in."""
    password = "correct horse battery"
    made = await api.post("/v1/users", {"name": name, "role": role, "password": password}, 201)
    async with aiohttp.ClientSession() as client:
        body = {"user": name, "password": password, "wants_token": True}
        async with client.post(f"{api.url}/v1/session", json=body) as answer:
            assert answer.status == 201, await answer.text()
            token = (await answer.json())["token"]
    return Person(api=api, token=token, id=made["id"])


async def set_quota(api: Served, person: Person, **quota: Any) -> Any:
    noun = "users" if person.id.startswith("user_") else "keys"
    return await api.call("PATCH", f"/v1/{noun}/{person.id}", 200, json={"quota": quota})


# -- set and shown ---------------------------------------------------------------------------------


async def test_quotas_are_set_and_shown_and_taken_away(api: Served) -> None:
    ann = await user(api)
    nothing = dict.fromkeys(
        ("requests_per_second", "requests_burst", "jobs_per_day", "bytes_waiting")
    )
    assert (await api.get(f"/v1/users/{ann.id}"))["quota"] == nothing
    shown = await set_quota(api, ann, jobs_per_day=5, requests_per_second=2)
    assert shown["quota"] == {**nothing, "jobs_per_day": 5, "requests_per_second": 2.0}
    shown = await set_quota(api, ann, jobs_per_day=None, bytes_waiting=9)
    assert shown["quota"] == {**nothing, "bytes_waiting": 9, "requests_per_second": 2.0}
    assert (await api.get("/v1/users/ann"))["quota"] == shown["quota"]
    key = await key_of(api, quota={"jobs_per_day": 7})
    assert (await api.get(f"/v1/keys/{key.id}"))["quota"] == {**nothing, "jobs_per_day": 7}
    changed = await api.call(
        "PATCH", f"/v1/keys/{key.id}", 200, json={"name": "else", "quota": {"jobs_per_day": 8}}
    )
    assert (changed["name"], changed["quota"]["jobs_per_day"]) == ("else", 8)
    assert (await key.ask("GET", "/v1/queues")).status == 200, "a change ends nothing"


async def test_another_quota_ends_no_session_and_has_an_etag(api: Served) -> None:
    ann = await user(api)
    async with api.client.get(f"{api.url}/v1/users/ann") as answer:
        etag = answer.headers["ETag"]
    await set_quota(api, ann, jobs_per_day=5)
    assert (await ann.ask("GET", "/v1/session")).status == 200
    stale = {"If-Match": etag}
    path = "/v1/users/ann"
    await api.call("PATCH", path, 412, json={"quota": {"jobs_per_day": 6}}, headers=stale)


@pytest.mark.parametrize(
    ("quota", "pointer"),
    [
        ({"requests_per_second": -1}, "/quota/requests_per_second"),
        ({"requests_per_second": 1e9}, "/quota/requests_per_second"),
        ({"requests_burst": 3}, "/quota/requests_burst"),
        ({"jobs_per_day": 1.5}, "/quota/jobs_per_day"),
        ({"jobs_per_day": 10**30}, "/quota/jobs_per_day"),
        ({"bytes_waiting": "1"}, "/quota/bytes_waiting"),
        ({"jobs_per_hour": 1}, "/quota/jobs_per_hour"),
        ([], "/quota"),
    ],
)
async def test_what_is_no_quota_is_refused_by_its_name(
    api: Served, quota: Any, pointer: str
) -> None:
    key = await key_of(api)
    ann = await user(api)
    calls = [
        ("PATCH", f"/v1/keys/{key.id}", {}),
        ("PATCH", f"/v1/users/{ann.id}", {}),
        ("POST", "/v1/keys", {"name": "a", "role": "viewer"}),
    ]
    for method, path, fields in calls:
        refused = await api.call(method, path, 422, json={**fields, "quota": quota})
        assert [error["pointer"] for error in refused["errors"]] == [pointer]


async def test_nobody_lifts_his_own_quota(api: Served) -> None:
    ann = await user(api, role="editor")
    own = await ann.ask(
        "POST", "/v1/keys", json={"name": "own", "role": "editor", "quota": {"jobs_per_day": 1}}
    )
    made = await own.json()
    assert own.status == 201
    assert made["quota"]["jobs_per_day"] == 1, "less for his key he may say himself"
    path = f"/v1/keys/{made['id']}"
    answer = await ann.ask("PATCH", path, json={"quota": {"jobs_per_day": None}})
    assert (answer.status, (await answer.json())["needs"]) == (403, "keys:edit")
    assert (await ann.ask("PATCH", path, json={"name": "mine"})).status == 200
    key = Person(api=api, token=made["token"], id=made["id"])
    answer = await key.ask("POST", "/v1/keys", json={"name": "b", "role": "viewer"})
    assert (answer.status, (await answer.json())["code"]) == (403, "key_has_quota")
    answer = await ann.ask("PATCH", "/v1/users/ann", json={"quota": {}})
    assert answer.status == 403


async def test_a_key_with_a_quota_gets_no_token_of_another_key(api: Served) -> None:
    ann = await user(api)
    free, more, held = [
        await (
            await ann.ask("POST", "/v1/keys", json={"name": name, "role": "operator", **given})
        ).json()
        for name, given in (
            ("free", {}),
            ("more", {"quota": {"jobs_per_day": 9}}),
            ("held", {"quota": {"jobs_per_day": 1}}),
        )
    ]
    key = Person(api=api, token=held["token"], id=held["id"])
    for other in (free, more):
        path = f"/v1/keys/{other['id']}/rotate"
        refused = await key.ask("POST", path)
        problem = await refused.json()
        assert (refused.status, problem["code"]) == (403, "key_has_quota"), problem
        still = Person(api=api, token=other["token"], id=other["id"])
        assert (await still.ask("GET", "/v1/queues")).status == 200, "nothing was rotated"
        assert (await ann.ask("POST", path)).status == 200, "its user may"
    rotated = await key.ask("POST", f"/v1/keys/{key.id}/rotate")
    found = await rotated.json()
    assert (rotated.status, found["quota"]["jobs_per_day"]) == (200, 1)
    fresh = Person(api=api, token=found["token"], id=key.id)
    await fresh.submit()
    await fresh.submit(429)


async def test_the_first_quota_of_a_key_is_in_the_audit_log_and_so_is_its_end(api: Served) -> None:
    key = await key_of(api)
    await set_quota(api, key, jobs_per_day=5)
    await set_quota(api, key, jobs_per_day=None)
    gone, first = (await api.get(f"/v1/audit?action=key.change&object={key.id}"))["data"]
    assert (first["before"], first["after"]) == ({"quota": {}}, {"quota": {"jobs_per_day": 5}})
    assert (gone["before"], gone["after"]) == ({"quota": {"jobs_per_day": 5}}, {"quota": {}})


async def test_a_key_of_somebody_else_or_of_nobody_cannot_be_renamed(api: Served) -> None:
    ann, key = await user(api), await key_of(api)
    assert (await ann.ask("PATCH", f"/v1/keys/{key.id}", json={"name": "x"})).status == 404
    assert (await ann.ask("PATCH", f"/v1/keys/key_{'0' * 32}", json={"name": "x"})).status == 404


# -- requests a second -----------------------------------------------------------------------------


async def test_requests_beyond_the_rate_are_refused_before_they_are_read(api: Served) -> None:
    key = await key_of(api, quota={**SLOW, "requests_burst": 3})
    answers = [await key.ask("GET", "/v1/queues") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert answers[0].headers["RateLimit-Policy"] == '"key";q=3;w=300'
    assert re.fullmatch(r'"key";r=2;t=(99|100)', answers[0].headers["RateLimit"])
    assert re.fullmatch(r'"key";r=0;t=(299|300)', answers[2].headers["RateLimit"])
    refused = await key.ask("POST", "/v1/jobs", data=b"no JSON at all")
    assert refused.status == 429
    assert refused.content_type == "application/problem+json"
    problem = await refused.json()
    assert problem["code"] == "rate_limited"
    facts = {name: problem[name] for name in ("subject", "limit", "burst", "remaining", "unit")}
    assert facts == {
        "subject": key.id,
        "limit": 0.01,
        "burst": 3,
        "remaining": 0,
        "unit": "requests/s",
    }
    assert 90 <= int(refused.headers["Retry-After"]) <= 100
    assert 290 <= problem["reset"] <= 300
    assert refused.headers["RateLimit"].startswith('"key";r=0;t=')
    assert refused.headers["X-Request-ID"]


async def test_fifty_at_once_are_let_in_as_often_as_it_says(api: Served) -> None:
    key = await key_of(api, quota={**SLOW, "requests_burst": 7})
    answers = await asyncio.gather(*[key.ask("GET", "/v1/queues") for _ in range(50)])
    assert sorted(answer.status for answer in answers) == [200] * 7 + [429] * 43


async def test_who_has_no_quota_hears_of_none(api: Served) -> None:
    key = await key_of(api)
    for person in (key, await user(api)):
        answer = await person.ask("GET", "/v1/queues")
        assert not {"RateLimit", "RateLimit-Policy"} & set(answer.headers)


async def test_health_and_metrics_are_not_counted(api: Served) -> None:
    key = await key_of(api, scopes=["metrics:read", "queues:read"], quota=SLOW)
    for path in ("/health", "/health/live", "/metrics", "/openapi.json", "/metrics"):
        answer = await key.ask("GET", path)
        assert (answer.status, "RateLimit" in answer.headers) == (200, False)
    assert (await key.ask("GET", "/v1/queues")).status == 200
    assert (await key.ask("GET", "/v1/queues")).status == 429
    metrics = await (await key.ask("GET", "/metrics")).text()
    assert 'windlass_requests_limited_total{subject="key"} 1.0' in metrics


async def test_a_key_s_quota_and_its_user_s_hold_both_and_the_key_s_is_asked_first(
    api: Served,
) -> None:
    ann = await user(api)
    made = await ann.ask(
        "POST",
        "/v1/keys",
        json={"name": "k", "role": "viewer", "quota": {**SLOW, "requests_burst": 2}},
    )
    found = await made.json()
    key = Person(api=api, token=found["token"], id=found["id"])
    await set_quota(api, ann, **SLOW, requests_burst=3)
    answer = await key.ask("GET", "/v1/queues")
    assert answer.headers["RateLimit-Policy"] == '"key";q=2;w=200, "user";q=3;w=300'
    statuses = [(await key.ask("GET", "/v1/queues")).status for _ in range(4)]
    assert statuses == [200, 429, 429, 429]
    statuses = [(await ann.ask("GET", "/v1/queues")).status for _ in range(3)]
    assert statuses == [200, 429, 429], "what the key was refused cost the user nothing"


async def test_a_quota_holds_at_once_and_is_gone_at_once(api: Served) -> None:
    ann = await user(api)
    for _ in range(3):
        assert (await ann.ask("GET", "/v1/queues")).status == 200
    await set_quota(api, ann, **SLOW)
    statuses = [(await ann.ask("GET", "/v1/queues")).status for _ in range(2)]
    assert statuses == [200, 429]
    await set_quota(api, ann, requests_per_second=None)
    assert (await ann.ask("GET", "/v1/queues")).status == 200


async def test_two_nodes_share_one_limit_and_hear_of_another(serve_with: Serve) -> None:
    here = await connected(serve_with, Settings())
    there = await connected(serve_with, Settings())
    ann = await user(here)
    elsewhere = Person(api=there, token=ann.token, id=ann.id)
    assert (await elsewhere.ask("GET", "/v1/queues")).status == 200
    await set_quota(here, ann, **SLOW, requests_burst=5)

    async def is_told() -> bool:
        return "RateLimit" in (await elsewhere.ask("GET", "/v1/queues")).headers

    await until(is_told, within_seconds=10)
    asked = [who.ask("GET", "/v1/queues") for who in (ann, elsewhere) * 10]
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    assert statuses.count(200) == 4, "one was taken by whoever found out"


# -- jobs ------------------------------------------------------------------------------------------


async def test_jobs_beyond_a_day_s_are_refused_and_counted_by_the_metrics(api: Served) -> None:
    key = await key_of(api, quota={"jobs_per_day": 2}, scopes=["jobs:submit", "metrics:read"])
    await key.submit()
    answer = await key.ask("POST", "/v1/jobs/batch", json={"jobs": [{"kind": "noop"}] * 2})
    problem = await answer.json()
    assert (answer.status, problem["code"]) == (429, "quota_exceeded")
    assert (problem["quota"], problem["limit"], problem["current"]) == ("jobs_per_day", 2, 1)
    assert (problem["requested"], problem["unit"]) == (2, "jobs")
    assert 1 <= int(answer.headers["Retry-After"]) <= 86400
    await key.submit()
    await key.submit(429)
    metrics = await (await key.ask("GET", "/metrics")).text()
    line = 'windlass_jobs_rejected_total{queue="default",reason="jobs_per_day"} 2.0'
    assert line in metrics


async def test_a_repetition_is_answered_although_the_day_is_spent(api: Served) -> None:
    key = await key_of(api, quota={"jobs_per_day": 1})
    given = {"headers": {"Idempotency-Key": "k"}, "json": {"kind": "noop"}}
    first = await key.ask("POST", "/v1/jobs", **given)
    again = await key.ask("POST", "/v1/jobs", headers={"Idempotency-Key": "k"}, json=given["json"])
    assert (first.status, again.status) == (201, 200)
    assert again.headers["Idempotent-Replayed"] == "true"


async def test_a_start_of_an_execution_counts_as_one_job(api: Served) -> None:
    definition = {"steps": [{"id": "a", "kind": "noop"}, {"id": "b", "kind": "noop"}]}
    await api.call("PUT", "/v1/workflows/two", 201, json=definition)
    key = await key_of(api, quota={"jobs_per_day": 3})
    path = "/v1/workflows/two/executions"
    keyed = {"headers": {"Idempotency-Key": "x"}}
    assert (await key.ask("POST", path, json={})).status == 201
    assert (await key.ask("POST", path, json={}, **keyed)).status == 201
    again = await key.ask("POST", path, json={}, headers={"Idempotency-Key": "x"})
    assert again.status == 200
    await key.submit()
    refused = await key.ask("POST", path, json={}, headers={"Idempotency-Key": "y"})
    assert (refused.status, (await refused.json())["code"]) == (429, "quota_exceeded")
    await set_quota(api, key, jobs_per_day=4)
    after = await key.ask("POST", path, json={}, headers={"Idempotency-Key": "y"})
    assert after.status == 201, "what was refused took no key"
    at_once = [key.ask("POST", path, json={}) for _ in range(5)]
    assert [answer.status for answer in await asyncio.gather(*at_once)] == [429] * 5


async def test_the_session_shows_what_is_left(api: Served) -> None:
    ann = await user(api)
    nothing = {"requests_per_second": None, "jobs_per_day": None, "bytes_waiting": None}
    assert (await (await ann.ask("GET", "/v1/session")).json())["quota"] == nothing
    await set_quota(api, ann, jobs_per_day=5, bytes_waiting=100, requests_per_second=50)
    left = (await (await ann.ask("GET", "/v1/session")).json())["quota"]
    assert left["jobs_per_day"]["remaining"] == 5
    assert left["bytes_waiting"]["current"] is None, "nobody has looked yet"
    await ann.submit(input={"a": 1234})
    left = (await (await ann.ask("GET", "/v1/session")).json())["quota"]
    assert left["jobs_per_day"].pop("day_ends_at").endswith("T00:00:00Z")
    assert left["jobs_per_day"] == {"subject": ann.id, "limit": 5, "current": 1, "remaining": 4}
    size = left["bytes_waiting"]["current"]
    assert (size, left["bytes_waiting"]["remaining"]) == (10, 90)
    assert left["requests_per_second"]["limit"] == 50
    assert left["requests_per_second"]["remaining"] < 50


async def test_defaults_are_for_whoever_has_none_of_his_own(serve_with: Serve) -> None:
    api = await connected(serve_with, Settings(quota_jobs_per_day=1))
    ann, key = await user(api), await key_of(api)
    for person in (ann, key):
        await person.submit()
        await person.submit(429)
    await set_quota(api, ann, jobs_per_day=2)
    await ann.submit()
    await ann.submit(429)


async def test_a_queue_that_takes_jobs_slowly_says_so(api: Served) -> None:
    shown = await api.call("PUT", "/v1/queues/slow", 200, json={"submit_rate": 0.01})
    assert (shown["submit_rate"], shown["rate"]) == (0.01, None)
    await api.submit(queue="slow")
    async with api.client.post(f"{api.url}/v1/jobs", json={"kind": "noop", "queue": "slow"}) as got:
        problem = await got.json()
        assert (got.status, problem["code"], problem["unit"]) == (429, "queue_rate", "jobs/s")
        assert (problem["limit"], problem["current"], problem["requested"]) == (0.01, 1, 1)
        assert 90 <= int(got.headers["Retry-After"]) <= 100
    for bad in (0, -1, "1", True, 1e9):
        await api.call("PUT", "/v1/queues/slow", 422, json={"submit_rate": bad})
