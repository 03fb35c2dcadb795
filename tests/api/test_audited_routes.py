"""Every route that changes something leaves one entry in the audit log, or is known not to."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.api.acting_node import ActingNode
from tests.api.executions.flows import bring_up_to_date, by_hand, publish, start
from tests.api.served import Served
from tests.engine.executions.flow import FAILS, noop
from windlass import ids
from windlass.engine.secrets.secrets import ensure_default_secret
from windlass.model.job.outcome import Succeeded

Given = dict[str, Any]
REQUEST: Final = "asked-by-the-test"
CANARY: Final = "canary-value-that-nobody-may-see"
PASSWORD: Final = "correct horse battery staple"


async def entries(api: Served, query: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await api.get(f"/v1/audit?{query}"))["data"]
    return listed


async def nothing(_api: Served, _node: ActingNode) -> Given:
    return {}


async def a_queue(api: Served, _node: ActingNode) -> Given:
    await api.call("PUT", "/v1/queues/mail", 200, json={"max_running": 1})
    return {"name": "mail"}


async def a_target(api: Served, _node: ActingNode) -> Given:
    await api.call("PUT", "/v1/targets/shop.example", 200, json={"rate": 2})
    await ensure_default_secret(api.database, api.parts.sealer)
    return {"host": "shop.example"}


async def a_lock_of_another(api: Served, _node: ActingNode) -> Given:
    made = await api.post("/v1/keys", {"name": "other", "role": "operator"}, 201)
    other = {"Authorization": f"Bearer {made['token']}"}
    held = await api.post("/v1/locks/deploy", {"ttl": 60}, 201, headers=other)
    return {"name": "deploy", "token": held["token"]}


async def a_secret(api: Served, _node: ActingNode) -> Given:
    await api.call("PUT", "/v1/secrets/card", 200, json={"value": CANARY})
    return {"name": "card"}


async def a_workflow(api: Served, _node: ActingNode) -> Given:
    await publish(api, [noop("a")])
    return {"name": "flow"}


async def a_draft(api: Served, _node: ActingNode) -> Given:
    document = {"name": "flow", "steps": [noop("a")]}
    await api.call("PUT", "/v1/workflows/flow/draft", 200, json=document)
    return {"name": "flow"}


async def an_execution(api: Served, _node: ActingNode) -> Given:
    await publish(api, [noop("a")])
    return {"execution_id": (await start(api))["id"]}


async def a_paused_execution(api: Served, node: ActingNode) -> Given:
    given = await an_execution(api, node)
    await api.post(f"/v1/executions/{given['execution_id']}/pause")
    return given


async def a_failed_execution(api: Served, _node: ActingNode) -> Given:
    await publish(api, [noop("a")])
    execution = await start(api)
    await (await by_hand(api, execution)).run(a=FAILS)
    assert (await bring_up_to_date(api, execution))["state"] == "failed"
    return {"execution_id": execution["id"]}


async def an_approval(api: Served, _node: ActingNode) -> Given:
    await publish(api, [{"id": "ok", "kind": "approval", "input": {"title": "May I?"}}])
    execution = await start(api)
    [found] = (await api.get(f"/v1/approvals?execution_id={execution['id']}"))["data"]
    return {"approval_id": found["id"]}


NIGHTLY: Final = {"name": "nightly", "cron": "0 3 * * *", "job": {"kind": "noop"}}


async def a_schedule(api: Served, _node: ActingNode) -> Given:
    await api.post("/v1/schedules", NIGHTLY, 201)
    return {"schedule": "nightly"}


async def a_paused_schedule(api: Served, node: ActingNode) -> Given:
    given = await a_schedule(api, node)
    await api.post("/v1/schedules/nightly/pause", {})
    return given


async def a_job(api: Served, _node: ActingNode) -> Given:
    return {"job_id": (await api.submit())["id"]}


async def a_job_of_later(api: Served, _node: ActingNode) -> Given:
    return {"job_id": (await api.submit(delay="1h"))["id"]}


async def an_ended_job(api: Served, node: ActingNode) -> Given:
    job = await api.submit()
    await node.run(Succeeded(b"1"))
    return {"job_id": job["id"]}


async def a_dead_job(api: Served, node: ActingNode) -> Given:
    job = await api.submit()
    await node.bury()
    return {"job_id": job["id"]}


async def a_user(api: Served, _node: ActingNode) -> Given:
    made = await api.post("/v1/users", {"name": "ann", "role": "viewer"}, 201)
    return {"user": made["id"], "password": made["one_time_password"]}


async def a_session_of_another(api: Served, _node: ActingNode) -> Given:
    body = {"name": "ann", "role": "viewer", "password": PASSWORD}
    await api.post("/v1/users", body, 201)
    login = {"user": "ann", "password": PASSWORD, "wants_token": True}
    begun = await api.post("/v1/session", login, 201, headers={"Authorization": ""})
    return {"session_id": begun["session_id"], "token": begun["token"], "user": begun["user_id"]}


async def a_key(api: Served, _node: ActingNode) -> Given:
    made = await api.post("/v1/keys", {"name": "ci", "role": "viewer"}, 201)
    return {"key_id": made["id"]}


async def a_node(_api: Served, node: ActingNode) -> Given:
    return {"node_id": ids.show("node", node.node_id)}


async def an_operation(api: Served, node: ActingNode) -> Given:
    given = await a_node(api, node)
    asked = await api.call("PATCH", f"/v1/nodes/{given['node_id']}", 202, json={"workers": 1})
    return {"operation_id": asked["id"]}


async def a_bulk_operation(api: Served, _node: ActingNode) -> Given:
    await api.submit()
    body = {"verb": "cancel", "filter": {"queue": "default"}}
    return {"operation_id": (await api.post("/v1/jobs/bulk", body, 202))["id"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call of a route, and the one entry that it leaves."""

    route: str
    action: str
    object: str  # what it is named or identified by; `{x}`: as it was prepared
    prepare: Callable[[Served, ActingNode], Awaitable[Given]] = nothing
    body: Any = None
    query: str = ""
    status: int = 200
    as_session: bool = False  # by the session that was prepared, not by the key
    before: Mapping[str, Any] = field(default_factory=dict)  # some of what it shows
    after: Mapping[str, Any] = field(default_factory=dict)


A_WEEK: Final = {"from": "2024-01-01T00:00:00Z", "to": "2024-01-08T00:00:00Z"}
CASES: Final = (
    Case(
        route="PUT /v1/queues/{name}",
        action="queue.put",
        object="mail",
        prepare=a_queue,
        body={"max_running": 3},
        before={"max_running": 1},
        after={"max_running": 3, "rate": None},
    ),
    Case(
        route="POST /v1/queues/{name}/pause", action="queue.pause", object="mail", prepare=a_queue
    ),
    Case(
        route="POST /v1/queues/{name}/resume", action="queue.resume", object="mail", prepare=a_queue
    ),
    Case(
        route="PUT /v1/targets/{host}",
        action="target.put",
        object="shop.example",
        prepare=a_target,
        body={"rate": 5},
        before={"rate": 2},
        after={"rate": 5},
    ),
    *(
        Case(
            route=f"POST /v1/targets/{{host}}/{verb}",
            action=f"target.{verb}",
            object="shop.example",
            prepare=a_target,
            body={} if verb == "disable" else None,
        )
        for verb in ("reset", "enable", "disable")
    ),
    Case(
        route="GET /v1/targets/{host}/secret",
        action="target.read_secret",
        object="shop.example",
        prepare=a_target,
    ),
    Case(
        route="PATCH /v1/locks/{name}",
        action="lock.resize",
        object="gpu",
        body={"capacity": 4},
        prepare=lambda *_: given(name="gpu"),
        after={"capacity": 4},
    ),
    Case(
        route="DELETE /v1/locks/{name}",
        action="lock.release",
        object="deploy",
        prepare=a_lock_of_another,
        query="token={token}",
        status=204,
    ),
    Case(
        route="PUT /v1/secrets/{name}",
        action="secret.put",
        object="card",
        prepare=a_secret,
        body={"value": CANARY + "2"},
        before={"version": 1},
        after={"version": 2},
    ),
    Case(
        route="DELETE /v1/secrets/{name}",
        action="secret.delete",
        object="card",
        prepare=a_secret,
        status=204,
    ),
    Case(
        route="POST /v1/workflows",
        action="workflow.publish",
        object="flow",
        body={"name": "flow", "steps": [noop("a")]},
        status=201,
        after={"version": 1},
    ),
    Case(
        route="PUT /v1/workflows/{name}",
        action="workflow.publish",
        object="flow",
        prepare=a_workflow,
        body={"steps": [noop("a"), noop("b")]},
        before={"version": 1},
        after={"version": 2},
        status=201,
    ),
    Case(
        route="DELETE /v1/workflows/{name}",
        action="workflow.delete",
        object="flow",
        prepare=a_workflow,
        status=204,
    ),
    Case(
        route="POST /v1/workflows/{name}/draft/publish",
        action="workflow.publish",
        object="flow",
        prepare=a_draft,
        status=201,
    ),
    Case(
        route="POST /v1/workflows/{name}/draft/discard",
        action="workflow.discard_draft",
        object="flow",
        prepare=a_draft,
        status=204,
    ),
    Case(
        route="POST /v1/executions/{execution_id}/cancel",
        action="execution.cancel",
        object="{execution_id}",
        prepare=an_execution,
        status=202,
    ),
    Case(
        route="POST /v1/executions/{execution_id}/pause",
        action="execution.pause",
        object="{execution_id}",
        prepare=an_execution,
    ),
    Case(
        route="POST /v1/executions/{execution_id}/resume",
        action="execution.resume",
        object="{execution_id}",
        prepare=a_paused_execution,
    ),
    Case(
        route="POST /v1/executions/{execution_id}/rerun",
        action="execution.rerun",
        object="{execution_id}",
        prepare=a_failed_execution,
        body={},
        before={"state": "failed"},
    ),
    Case(
        route="POST /v1/executions/{execution_id}/signals/{name}",
        action="execution.signal",
        object="{execution_id}",
        prepare=lambda api, node: with_more(an_execution(api, node), name="go"),
        body={"payload": {"card": CANARY}},
        status=201,
        after={"signal": "go"},
    ),
    *(
        Case(
            route=f"POST /v1/approvals/{{approval_id}}/{verb}",
            action=f"approval.{verb}",
            object="{approval_id}",
            prepare=an_approval,
            body={},
        )
        for verb in ("approve", "reject")
    ),
    Case(
        route="POST /v1/schedules",
        action="schedule.add",
        object="nightly",
        body=NIGHTLY,
        status=201,
        after={"overlap": "allow"},
    ),
    Case(
        route="PUT /v1/schedules/{schedule}",
        action="schedule.change",
        object="nightly",
        prepare=a_schedule,
        body={**NIGHTLY, "overlap": "skip"},
        before={"overlap": "allow"},
        after={"overlap": "skip"},
    ),
    Case(
        route="PATCH /v1/schedules/{schedule}",
        action="schedule.change",
        object="nightly",
        prepare=a_schedule,
        body={"tags": ["a"]},
        before={"tags": []},
        after={"tags": ["a"]},
    ),
    Case(
        route="DELETE /v1/schedules/{schedule}",
        action="schedule.delete",
        object="nightly",
        prepare=a_schedule,
        status=204,
        before={"overlap": "allow"},
    ),
    Case(
        route="POST /v1/schedules/pause",
        action="schedule.pause",
        object="nightly",
        prepare=a_schedule,
        body={"filter": {}},
    ),
    Case(
        route="POST /v1/schedules/resume",
        action="schedule.resume",
        object="nightly",
        prepare=a_paused_schedule,
        body={"filter": {}},
    ),
    Case(
        route="POST /v1/schedules/{schedule}/pause",
        action="schedule.pause",
        object="nightly",
        prepare=a_schedule,
        body={},
    ),
    Case(
        route="POST /v1/schedules/{schedule}/resume",
        action="schedule.resume",
        object="nightly",
        prepare=a_paused_schedule,
    ),
    Case(
        route="POST /v1/schedules/{schedule}/trigger",
        action="schedule.trigger",
        object="nightly",
        prepare=a_schedule,
        status=201,
    ),
    Case(
        route="POST /v1/schedules/{schedule}/backfill",
        action="schedule.backfill",
        object="nightly",
        prepare=a_schedule,
        body=A_WEEK,
    ),
    Case(
        route="POST /v1/jobs/{job_id}/cancel", action="job.cancel", object="{job_id}", prepare=a_job
    ),
    Case(
        route="POST /v1/jobs/{job_id}/retry",
        action="job.replay",
        object="{job_id}",
        prepare=a_dead_job,
    ),
    Case(
        route="POST /v1/jobs/{job_id}/promote",
        action="job.promote",
        object="{job_id}",
        prepare=a_job_of_later,
    ),
    Case(
        route="DELETE /v1/jobs/{job_id}",
        action="job.delete",
        object="{job_id}",
        prepare=an_ended_job,
        status=204,
    ),
    Case(
        route="POST /v1/jobs/bulk",
        action="bulk.ask",
        object="cancel",
        prepare=a_job,
        body={"verb": "cancel", "filter": {"queue": "default"}},
        status=202,
    ),
    Case(
        route="POST /v1/dead-letters/replay",
        action="job.replay",
        object="{job_id}",
        prepare=a_dead_job,
        body={"filter": {"cause": "boom"}},
        after={"filter": {"cause": "boom"}},
    ),
    Case(
        route="POST /v1/dead-letters/discard",
        action="job.delete",
        object="{job_id}",
        prepare=a_dead_job,
        body={"filter": {}},
    ),
    Case(
        route="DELETE /v1/session",
        action="session.end",
        object="{session_id}",
        prepare=a_session_of_another,
        as_session=True,
        status=204,
    ),
    Case(
        route="PUT /v1/session/password",
        action="user.choose_password",
        object="ann",
        prepare=a_session_of_another,
        as_session=True,
        body={"old": PASSWORD, "new": CANARY},
    ),
    Case(
        route="DELETE /v1/sessions",
        action="session.end",
        object="ann",
        prepare=a_session_of_another,
        query="user=ann",
    ),
    Case(
        route="DELETE /v1/sessions/{session_id}",
        action="session.end",
        object="{session_id}",
        prepare=a_session_of_another,
        status=204,
    ),
    Case(
        route="POST /v1/users",
        action="user.add",
        object="ann",
        body={"name": "ann", "role": "viewer", "password": CANARY},
        status=201,
        after={"role": "viewer"},
    ),
    Case(
        route="PATCH /v1/users/{user}",
        action="user.change",
        object="{user}",
        prepare=a_user,
        body={"role": "editor", "is_disabled": True},
        before={"role": "viewer", "is_disabled": False},
        after={"role": "editor", "is_disabled": True},
    ),
    Case(
        route="DELETE /v1/users/{user}",
        action="user.delete",
        object="{user}",
        prepare=a_user,
        status=204,
        before={"role": "viewer"},
    ),
    Case(
        route="POST /v1/users/{user}/reset-password",
        action="user.reset_password",
        object="{user}",
        prepare=a_user,
    ),
    Case(
        route="POST /v1/keys",
        action="key.add",
        object="ci",
        body={"name": "ci", "scopes": ["jobs:submit"], "queues": ["mail"]},
        status=201,
        after={"scopes": ["jobs:submit"], "queues": ["mail"]},
    ),
    Case(
        route="PATCH /v1/keys/{key_id}",
        action="key.change",
        object="{key_id}",
        prepare=a_key,
        body={"name": "deploy", "quota": {"jobs_per_day": 3}},
        before={"name": "ci", "quota": {}},
        after={"name": "deploy", "quota": {"jobs_per_day": 3}},
    ),
    Case(
        route="DELETE /v1/keys/{key_id}",
        action="key.revoke",
        object="{key_id}",
        prepare=a_key,
        status=204,
    ),
    Case(
        route="POST /v1/keys/{key_id}/rotate",
        action="key.rotate",
        object="{key_id}",
        prepare=a_key,
        body={"overlap": "1h"},
        after={"overlap_seconds": 3600},
    ),
    Case(
        route="PATCH /v1/nodes/{node_id}",
        action="node.resize",
        object="{node_id}",
        prepare=a_node,
        body={"workers": 2},
        status=202,
        before={"workers": 4},
        after={"workers": 2},
    ),
    *(
        Case(
            route=f"POST /v1/nodes/{{node_id}}/{verb}",
            action=f"node.{verb}",
            object="{node_id}",
            prepare=a_node,
            body={} if verb == "drain" else None,
            status=202,
        )
        for verb in ("pause", "resume", "drain")
    ),
    Case(
        route="PATCH /v1/cluster",
        action="cluster.resize",
        object="",
        body={"workers": 2},
        status=202,
        after={"workers": 2},
    ),
    Case(
        route="POST /v1/operations/{operation_id}/abort",
        action="operation.abort",
        object="{operation_id}",
        prepare=an_operation,
    ),
    Case(
        route="POST /v1/operations/{operation_id}/abort",
        action="bulk.abort",
        object="{operation_id}",
        prepare=a_bulk_operation,
    ),
    Case(
        route="POST /v1/signals",
        action="node.signal",
        object="ping",
        body={"targets": "all", "name": "ping", "payload": {"token": CANARY}, "wait": 0},
    ),
    Case(route="POST /v1/system/sweep", action="cluster.sweep", object="", body={}),
    Case(
        route="POST /v1/system/cache/invalidate",
        action="cache.invalidate",
        object="definition",
        body={"cache": "definition", "all": True},
    ),
    Case(route="GET /v1/audit/export", action="audit.export", object=""),
)
EVENTS_TELL: Final = "it is what the cluster does all day: events tell of it"
# Who may change something, and leaves no entry.
UNAUDITED: Final = {
    "POST /v1/jobs": EVENTS_TELL,
    "POST /v1/jobs/batch": EVENTS_TELL,
    "POST /v1/jobs/hint": "it says that something was committed, and changes nothing",
    "POST /v1/jobs/{job_id}/complete": EVENTS_TELL,
    "POST /v1/workflows/{name}/executions": EVENTS_TELL,
    "POST /v1/locks/{name}": "a hold shows who has it; only its release by another is recorded",
    "PUT /v1/locks/{name}": "it renews what is held",
    "PUT /v1/workflows/{name}/draft": "nothing runs of a draft, and an editor saves all the time",
    "POST /v1/workflows/validate": "it changes nothing",
    "POST /v1/schedules/preview": "it changes nothing",
    "POST /v1/session": "it has tests of its own: success, failure, throttled",
}


async def given(**values: Any) -> Given:
    return values


async def with_more(before: Awaitable[Given], **values: Any) -> Given:
    return {**await before, **values}


async def test_every_route_that_changes_something_is_audited_or_says_why_not(door: Served) -> None:
    document = await door.get("/openapi.json")
    changing = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
        if method != "get"
    }
    audited = {case.route for case in CASES}
    assert changing - audited - UNAUDITED.keys() == set()
    assert audited & UNAUDITED.keys() == set()
    assert {route for route in audited if not route.startswith("GET ")} <= changing
    assert UNAUDITED.keys() <= changing


@pytest.mark.parametrize("case", CASES, ids=[f"{case.route} {case.action}" for case in CASES])
async def test_a_change_leaves_exactly_one_entry(api: Served, node: ActingNode, case: Case) -> None:
    prepared = await case.prepare(api, node)
    method, path = case.route.split()
    path = path.format(**prepared) + (f"?{case.query.format(**prepared)}" if case.query else "")
    headers = {"X-Request-Id": REQUEST}
    if case.as_session:
        headers["Authorization"] = f"Bearer {prepared['token']}"
    body = {} if case.body is None else {"json": case.body}
    async with api.client.request(method, api.url + path, headers=headers, **body) as answer:
        assert answer.status == case.status, await answer.text()
    [entry] = await entries(api, f"request_id={REQUEST}")
    assert entry["action"] == case.action
    wanted = case.object.format(**prepared)
    assert wanted in (entry["object_id"] or "", entry["object_name"] or "")
    assert entry["address"] == "127.0.0.1"
    assert entry["node_id"] == ids.show("node", api.facts.node_id)
    if case.as_session:
        assert (entry["actor_kind"], entry["actor_name"]) == ("user", "ann")
        assert entry["actor_id"] == prepared["user"]
        assert entry["credential_id"] == prepared["session_id"]
    else:
        assert (entry["actor_kind"], entry["actor_name"]) == ("key", "admin")
        assert entry["credential_id"] == entry["actor_id"]
    assert case.before.items() <= (entry["before"] or {}).items() or not case.before
    assert {name: (entry["after"] or {}).get(name) for name in case.after} == case.after
    assert CANARY not in json.dumps(await entries(api, "limit=500"))
