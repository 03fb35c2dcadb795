"""The audit log over HTTP: logins, refusals, filters, pages and the export."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import pytest
from starlette.types import Message

from tests.api.acting_node import ActingNode
from tests.api.conftest import Serve
from tests.api.executions.flows import publish, start
from tests.api.served import Served
from tests.engine.executions.flow import noop
from windlass.api.audit import routes
from windlass.api.http.route import Call
from windlass.api.http.security_headers import ANSWER
from windlass.config import Settings
from windlass.engine.audit.record import Entry, record
from windlass.engine.identity.first import ensure_first_login
from windlass.errors import Unavailable
from windlass.limits import AUDIT_EXPORTS_MAX, AUDIT_REFUSED_BURST, PAGE_MAX

CANARY: Final = "canary-value-that-nobody-may-see"
PASSWORD: Final = "correct horse battery staple"


async def entries(api: Served, query: str = "") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await api.get(f"/v1/audit?{query}"))["data"]
    return listed


async def of_noun(api: Served, noun: str) -> list[dict[str, Any]]:
    """Without what the start of a test brings along."""
    return await entries(api, f"noun={noun}")


async def a_queue(api: Served) -> None:
    await api.call("PUT", "/v1/queues/mail", 200, json={"max_running": 1})


async def a_user(api: Served) -> dict[str, Any]:
    made: dict[str, Any] = await api.post("/v1/users", {"name": "ann", "role": "viewer"}, 201)
    return made


# -- logging in ---------------------------------------------------------------------------------


async def log_in(api: Served, user: str, password: str, status: int) -> Any:
    body = {"user": user, "password": password, "wants_token": True}
    return await api.post("/v1/session", body, status, headers={"Authorization": ""})


async def test_a_login_is_of_the_user_who_has_logged_in(api: Served) -> None:
    made = await a_user(api)
    begun = await log_in(api, "ann", made["one_time_password"], 201)
    [entry] = await entries(api, "action=session.login")
    assert (entry["actor_kind"], entry["actor_id"]) == ("user", made["id"])
    assert (entry["object_id"], entry["object_name"]) == (begun["session_id"], "ann")
    assert entry["credential_id"] == begun["session_id"]


async def test_a_failed_login_names_the_user_but_not_what_was_typed(api: Served) -> None:
    made = await a_user(api)
    await log_in(api, "ann", CANARY, 401)
    await log_in(api, CANARY, "whatever it is", 401)
    unknown, known = await entries(api, "action=session.login_failed")
    assert (known["object_id"], known["object_name"]) == (made["id"], "ann")
    assert known["note"] == "wrong password"
    assert (unknown["object_id"], unknown["object_name"]) == (None, None)
    assert (unknown["actor_kind"], unknown["address"]) == ("anonymous", "127.0.0.1")
    assert CANARY not in json.dumps(await entries(api, "limit=500"))


async def test_a_throttled_login_is_recorded_too(api: Served) -> None:
    await a_user(api)
    for _ in range(5):
        await log_in(api, "ann", "not the password", 401)
    await log_in(api, "ann", "not the password", 429)
    [entry] = await entries(api, "action=session.login_throttled")
    assert entry["object_name"] == "ann"


async def test_strangers_do_not_fill_the_log(api: Served) -> None:
    viewer = await api.post("/v1/keys", {"name": "reader", "role": "viewer"}, 201)
    headers = {"Authorization": f"Bearer {viewer['token']}"}
    more = 20
    for _ in range(AUDIT_REFUSED_BURST + more):
        await api.get("/v1/users", 403, headers=headers)
    denied = await entries(api, "action=access.denied&limit=500")
    stood_for = sum(entry["count"] or 1 for entry in denied)
    assert AUDIT_REFUSED_BURST <= len(denied) < AUDIT_REFUSED_BURST + more
    assert stood_for <= AUDIT_REFUSED_BURST + more
    assert denied[-1]["actor_name"] == "reader"
    assert denied[-1]["after"] == {"method": "GET", "path": "/v1/users", "needs": "users:edit"}


async def test_who_logs_in_where_he_is_logged_in_ends_his_own_session(api: Served) -> None:
    await api.post("/v1/users", {"name": "ann", "role": "viewer", "password": PASSWORD}, 201)
    first = await log_in(api, "ann", PASSWORD, 201)
    cookie = {"Cookie": f"__Host-windlass={first['token']}", "Authorization": ""}
    body = {"user": "ann", "password": PASSWORD}
    await api.post("/v1/session", body, 201, headers=cookie)
    [ended] = await entries(api, "action=session.end")
    assert (ended["object_id"], ended["actor_name"]) == (first["session_id"], "ann")


async def test_what_is_made_at_the_first_start_is_recorded(api: Served) -> None:
    await ensure_first_login(api.database, api.parts.passwords)
    [key] = await of_noun(api, "key")
    [user] = await of_noun(api, "user")
    assert (key["actor_kind"], key["note"]) == ("node", "the first key")
    assert (user["object_name"], user["after"]) == ("admin", {"role": "admin"})


async def test_without_authentication_everybody_is_anonymous(serve_with: Serve) -> None:
    api = await serve_with(Settings(auth="off"))
    await api.call("PUT", "/v1/queues/mail", 200, json={})
    [entry] = await of_noun(api, "queue")
    assert (entry["actor_kind"], entry["actor_id"]) == ("anonymous", "anonymous")


# -- what leaves none -----------------------------------------------------------------------------


async def test_what_was_refused_leaves_no_entry(api: Served) -> None:
    await a_queue(api)
    wrong = {"If-Match": '"another"'}
    await api.call("PUT", "/v1/queues/mail", 412, json={"rate": 1}, headers=wrong)
    await api.post("/v1/queues/nowhere/pause", status=404)
    await api.post("/v1/users", {"name": "ann", "role": "king"}, 422)
    await a_user(api)
    await api.post("/v1/users", {"name": "ann", "role": "viewer"}, 409)
    await api.call("PATCH", "/v1/users/ann", 200, json={"role": "viewer"})  # as it was
    assert len(await of_noun(api, "queue")) == 1
    assert [entry["action"] for entry in await of_noun(api, "user")] == ["user.add"]


async def test_submitting_and_reading_leave_none(api: Served, node: ActingNode) -> None:
    before = await entries(api, "limit=500")
    await api.submit()
    await node.run()
    await api.get("/v1/jobs")
    await publish(api, [noop("a")])
    await start(api)
    assert [entry["action"] for entry in await entries(api, "limit=500")][:1] == [
        "workflow.publish"
    ]
    assert len(await entries(api, "limit=500")) == len(before) + 1


async def test_what_was_repeated_is_recorded_once(api: Served) -> None:
    key = {"Idempotency-Key": "twice"}
    body = {"name": "flow", "steps": [noop("a")]}
    await api.post("/v1/workflows", body, 201, headers=key)
    await api.post("/v1/workflows", body, 200, headers=key)
    assert len(await of_noun(api, "workflow")) == 1


# -- reading it -----------------------------------------------------------------------------------


async def test_each_filter_finds_its_entries_and_no_others(api: Served) -> None:
    await a_queue(api)
    made = await a_user(api)
    await api.post("/v1/queues/mail/pause", headers={"X-Request-Id": "r-1"})
    everything = await entries(api, "limit=500")
    assert [entry["at"] for entry in everything] == sorted(
        (entry["at"] for entry in everything), reverse=True
    )
    paused = everything[0]
    for query, found in {
        "action=queue.pause": 1,
        "action=queue.pause,queue.put": 2,
        "action=queue.resume": 0,
        "noun=queue": 2,
        "object=mail": 2,
        "object=ann": 1,
        f"object={made['id']}": 1,
        "request_id=r-1": 1,
        "address=127.0.0.1&noun=queue": 2,
        "address=10.0.0.1": 0,
        "actor=admin&noun=queue": 2,
        f"actor={paused['actor_id']}&noun=queue": 2,
        f"actor={made['id']}": 0,
        "actor_kind=key&noun=queue": 2,
        "actor_kind=leader,sweep": 0,
        f"created_after={paused['at']}": 1,
        f"created_before={paused['at']}&noun=queue": 1,
        f"created_after={paused['at']}&created_before={paused['at']}": 0,
    }.items():
        query = query.replace("+", "%2B")
        assert len(await entries(api, query)) == found, query


@pytest.mark.parametrize(
    "query",
    [
        *("actor=", "actor=" + "x" * 257, "actor_kind=king", "action=queue", "action=queue.eat"),
        *("noun=cow", "object=", "object=a%00b", "address=" + "1" * 65, "request_id=a%20b"),
        *("created_after=yesterday", "limit=0", f"limit={PAGE_MAX + 1}", "cursor=b_xyz"),
        *("since=2026-01-01T00:00:00Z", "cursor=j_" + "0" * 32, "unknown=1"),
    ],
)
async def test_a_filter_that_means_nothing_is_refused(door: Served, query: str) -> None:
    refused = await door.get(f"/v1/audit?{query}", 422)
    assert refused["errors"][0]["pointer"] == "?" + query.partition("=")[0]


async def test_pages_follow_one_another_and_lack_nothing(api: Served) -> None:
    for number in range(7):
        await api.call("PUT", f"/v1/queues/q{number}", 200, json={})
    found: list[str] = []
    path = "/v1/audit?noun=queue&limit=3"
    while path:
        page = await api.get(path)
        found += [entry["object_name"] for entry in page["data"]]
        cursor = page["next_cursor"]
        path = f"/v1/audit?noun=queue&limit=3&cursor={cursor}" if cursor else ""
    assert found == [f"q{number}" for number in reversed(range(7))]


async def test_only_admins_read_it(api: Served) -> None:
    for role in ("viewer", "operator", "editor"):
        made = await api.post("/v1/keys", {"name": role, "role": role}, 201)
        headers = {"Authorization": f"Bearer {made['token']}"}
        for path in ("/v1/audit", "/v1/audit/export"):
            assert (await api.get(path, 403, headers=headers))["needs"] == "audit:read"
    made = await api.post("/v1/keys", {"name": "auditor", "scopes": ["audit:read"]}, 201)
    await api.get("/v1/audit", headers={"Authorization": f"Bearer {made['token']}"})


async def exported(api: Served, query: str = "") -> list[dict[str, Any]]:
    async with api.client.get(f"{api.url}/v1/audit/export?{query}") as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        for name, value in ANSWER:
            assert answer.headers.getall(name.decode()) == [value.decode()]
        return [json.loads(line) for line in (await answer.text()).splitlines()]


async def test_an_export_has_every_entry_of_every_page(api: Served) -> None:
    count = 2 * PAGE_MAX + 7
    async with api.database.side(readonly=False) as connection:
        for start_at in range(0, count, 100):
            many = range(start_at, min(start_at + 100, count))
            await record(connection, *(Entry(action="queue.put", name=f"q{n}") for n in many))
    lines = await exported(api, "noun=queue")
    assert [line["object_name"] for line in lines] == [f"q{n}" for n in reversed(range(count))]
    assert lines[0] == (await entries(api, f"object=q{count - 1}"))[0]
    assert await exported(api, "object=nobody") == []


async def test_a_node_sends_a_few_exports_at_once_and_refuses_more(api: Served) -> None:
    [route] = [one for one in routes(api.parts) if one.path == "/v1/audit/export"]
    go_on, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def receive() -> Message:
        await go_on.wait()
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        begun.release()
        await go_on.wait()

    scope = {"type": "http", "method": "GET", "path": route.path, "headers": []}
    call = Call(scope, receive, send)
    replies = [await route.handle(call, {}) for _ in range(AUDIT_EXPORTS_MAX + 1)]
    sending = [asyncio.ensure_future(one(scope, receive, send)) for one in replies[1:]]
    for _ in sending:
        await begun.acquire()
    with pytest.raises(Unavailable, match="try another node"):
        await replies[0](scope, receive, send)
    with pytest.raises(Unavailable, match="try another node"):
        await route.handle(call, {})
    go_on.set()
    await asyncio.gather(*sending)
    await route.handle(call, {})


async def test_an_export_is_recorded_with_what_it_was_of(api: Served) -> None:
    await exported(api, "noun=queue")
    [entry] = await of_noun(api, "audit")
    assert (entry["action"], entry["after"]) == ("audit.export", {"noun": ["queue"]})


async def test_hostile_text_in_a_name_stays_text(api: Served) -> None:
    name = "\u202egnp.exe <script>alert(1)</script> '; DROP TABLE windlass.audit_entry; --"
    await api.post("/v1/keys", {"name": name[1:], "role": "viewer"}, 201)
    [entry, *_] = await of_noun(api, "key")
    assert entry["object_name"] == name[1:]
    lines = await exported(api, "noun=key")
    assert lines[0]["object_name"] == name[1:]


async def test_numbers_that_take_much_room_in_the_log_stand_in_nobody_s_way(api: Served) -> None:
    """PostgreSQL writes 1e-300 with all its digits."""
    tiny = {f"a{n}": [1e-300] * 50 for n in range(20)}
    schedule = {"name": "odd", "every": "1h", "job": {"kind": "noop", "input": tiny}}
    made = await api.post("/v1/schedules", schedule, 201)
    [entry] = await entries(api, "action=schedule.add")
    assert entry["object_id"] == made["id"]
    await api.post("/v1/signals", {"targets": "all", "name": "ping", "payload": tiny}, 200)
