"""`ETag`, `If-Match`, `If-None-Match`: of changes made of the same sight of a thing one is made."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import asyncpg
import pytest
from aiohttp import ClientResponse

from tests.api.acting_node import ActingNode
from tests.api.served import Served, insist, serve
from tests.engine.executions.flow import noop
from windlass import ids
from windlass.clock import monotonic
from windlass.config import Settings
from windlass.limits import ASKED_LOCK_SECONDS, DATABASE_CALL_SECONDS
from windlass.testing.servers import PrivateServers

WRITERS: Final = 20
STALE: Final = '"0123"'
# PUTs and PATCHes without If-Match, and what stands for it.
EXEMPT: Final = {
    ("PUT", "/v1/locks/{name}"): "a hold is renewed by its token, which nobody else has",
    ("PATCH", "/v1/keys/{key_id}"): "what it does not name stays as it is; nothing hangs on it",
    ("PATCH", "/v1/cluster"): "it changes whatever nodes there are, and cannot be read",
    ("PUT", "/v1/session/password"): "it is changed by who knows the one before",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A thing that can be changed: how, and what is seen of the change."""

    method: str
    path: str
    body: Callable[[int], dict[str, Any]]  # another for each number
    seen: Callable[[dict[str, Any], int], bool]  # is it as the body of this number says?
    first: dict[str, Any] | None = None  # PUT before; None: what is not there is made

    @property
    def makes(self) -> bool:
        return self.first is None

    def fresh(self) -> Changed:
        """One of its sort that no other test has touched."""
        return replace(self, path=self.path.replace("NAME", f"thing{next(_NUMBERS)}"))


_NUMBERS: Final = itertools.count()


def _every(number: int) -> dict[str, Any]:
    return {"every": f"{number + 1}h", "job": {"kind": "noop"}}


def _steps(number: int) -> dict[str, Any]:
    return {"steps": [noop(f"step{number}")]}


def _step_of(document: dict[str, Any]) -> str:
    found: str = document["steps"][0]["id"]
    return found


THINGS: Final = {
    "queue": Changed(
        method="PUT",
        path="/v1/queues/NAME",
        body=lambda n: {"max_jobs": n, "rate": 1.5},
        seen=lambda queue, n: queue["max_jobs"] == n,
    ),
    "target": Changed(
        method="PUT",
        path="/v1/targets/NAME.example",
        body=lambda n: {"max_running": n + 1, "rate": 0.1},
        seen=lambda target, n: target["max_running"] == n + 1,
    ),
    "lock": Changed(
        method="PATCH",
        path="/v1/locks/NAME",
        body=lambda n: {"capacity": n + 1},
        seen=lambda lock, n: lock["capacity"] == n + 1,
    ),
    "secret": Changed(
        method="PUT",
        path="/v1/secrets/NAME",
        body=lambda n: {"value": f"value {n}"},
        seen=lambda _secret, _n: True,  # nobody can see its value
    ),
    "secret's hosts": Changed(
        method="PUT",
        path="/v1/secrets/NAME",
        body=lambda n: {"hosts": [f"shop{n}.example"]},
        seen=lambda secret, n: secret["hosts"] == [f"shop{n}.example"],
        first={"value": "value"},
    ),
    "schedule": Changed(
        method="PUT",
        path="/v1/schedules/NAME",
        body=_every,
        seen=lambda schedule, n: schedule["every"] == f"{n + 1}h",
    ),
    "schedule's fields": Changed(
        method="PATCH",
        path="/v1/schedules/NAME",
        body=lambda n: {"every": f"{n + 1}h"},
        seen=lambda schedule, n: schedule["every"] == f"{n + 1}h",
        first={"every": "99h", "job": {"kind": "noop"}},
    ),
    "workflow": Changed(
        method="PUT",
        path="/v1/workflows/NAME",
        body=_steps,
        seen=lambda flow, n: _step_of(flow["definition"]) == f"step{n}",
    ),
    "draft": Changed(
        method="PUT",
        path="/v1/workflows/NAME/draft",
        body=_steps,
        seen=lambda kept, n: _step_of(kept["draft"]) == f"step{n}",
    ),
}
MADE: Final = [name for name, thing in THINGS.items() if thing.makes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    status: int
    etag: str | None
    body: Any
    length: int


@pytest.fixture(scope="module")
async def keyed(servers: PrivateServers, template_url: str) -> AsyncIterator[Served]:
    """One API for all tests here, that can keep secrets: each has things of its own."""
    url = await servers.create_database(template_url)
    async with serve(url, servers.redis_of(url), Settings(secret_key="0f" * 32)) as served:
        yield served


async def say(api: Served, method: str, path: str, json: Any = None, **headers: str) -> Said:
    """If_Match='…' is the header If-Match."""
    return await _said(api, method, path, json, headers, tries=1)


async def say_again(api: Served, method: str, path: str, json: Any = None, **headers: str) -> Said:
    """And again, while others have the row for longer than anybody waits for one."""
    return await _said(api, method, path, json, headers)


async def _said(
    api: Served, method: str, path: str, json: Any, headers: Mapping[str, str], tries: int = 1_000
) -> Said:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}

    def ask() -> AbstractAsyncContextManager[ClientResponse]:
        return api.client.request(method, api.url + path, json=json, headers=sent)

    async with insist(ask, tries) as answer:
        raw = await answer.read()
        body = await answer.json(content_type=None) if raw else None
        return Said(
            status=answer.status, etag=answer.headers.get("ETag"), body=body, length=len(raw)
        )


async def make(api: Served, thing: Changed, number: int = 99) -> Said:
    if not thing.makes:
        await say(api, "PUT", thing.path, thing.first)
    made = await say(api, thing.method, thing.path, thing.body(number))
    assert made.status in (200, 201), made
    return made


async def at_once(count: int, call: Callable[[int], Awaitable[Said]]) -> list[Said]:
    return await asyncio.gather(*(call(number) for number in range(count)))


@pytest.mark.parametrize("name", THINGS)
async def test_what_is_read_and_what_is_changed_have_the_same_etag(
    keyed: Served, name: str
) -> None:
    thing = THINGS[name].fresh()
    made = await make(keyed, thing)
    assert made.etag is not None
    assert re.fullmatch(r'"[!#-~]+"', made.etag), "a strong one"
    read = await say(keyed, "GET", thing.path)
    assert read.etag == made.etag
    head = await say(keyed, "HEAD", thing.path)
    assert (head.status, head.etag, head.length) == (200, made.etag, 0)
    changed = await say(keyed, thing.method, thing.path, thing.body(1), If_Match=made.etag)
    assert changed.status in (200, 201)
    assert changed.etag not in (None, made.etag)
    assert (await say(keyed, "GET", thing.path)).etag == changed.etag


@pytest.mark.parametrize("name", THINGS)
async def test_of_twenty_who_change_what_they_read_one_does_and_nineteen_hear_of_it(
    keyed: Served, name: str
) -> None:
    thing = THINGS[name].fresh()
    tag = (await make(keyed, thing)).etag or ""

    async def change(number: int) -> Said:
        return await say_again(keyed, thing.method, thing.path, thing.body(number), If_Match=tag)

    said = await at_once(WRITERS, change)
    [won] = [number for number, one in enumerate(said) if one.status < 300]
    kept = await say(keyed, "GET", thing.path)
    assert thing.seen(kept.body, won), "nothing of the others is left"
    assert kept.etag == said[won].etag, "whoever changed it knows what it is now"
    for one in said[:won] + said[won + 1 :]:
        assert one.status == 412
        assert one.body["code"] == "precondition_failed"
        assert one.body["errors"][0]["pointer"] == "If-Match"
        assert "read it again" in one.body["detail"]
        assert one.etag == one.body["etag"] == kept.etag


@pytest.mark.parametrize("name", [name for name in THINGS if name != "secret"])
async def test_no_change_is_lost_by_those_who_read_again_when_they_are_refused(
    keyed: Served, name: str
) -> None:
    """Each takes the next number that it sees; without the check two would take the same one."""
    thing = THINGS[name].fresh()
    await make(keyed, thing, 0)

    async def add_one(_number: int) -> Said:
        while True:
            read = await say(keyed, "GET", thing.path)
            [number] = [n for n in range(WRITERS) if thing.seen(read.body, n)]
            body = thing.body(number + 1)
            said = await say_again(keyed, thing.method, thing.path, body, If_Match=read.etag or "")
            if said.status != 412:
                return said

    said = await at_once(5, add_one)
    assert all(one.status < 300 for one in said)
    assert thing.seen((await say(keyed, "GET", thing.path)).body, 5)


@pytest.mark.parametrize("name", MADE)
async def test_of_twenty_who_make_the_same_name_one_does(keyed: Served, name: str) -> None:
    thing = THINGS[name].fresh()

    async def create(number: int) -> Said:
        return await say_again(
            keyed, thing.method, thing.path, thing.body(number), If_None_Match="*"
        )

    said = await at_once(WRITERS, create)
    [won] = [number for number, one in enumerate(said) if one.status < 300]
    kept = await say(keyed, "GET", thing.path)
    assert thing.seen(kept.body, won)
    for one in said[:won] + said[won + 1 :]:
        assert (one.status, one.body["code"]) == (412, "precondition_failed")
        assert one.body["errors"][0]["pointer"] == "If-None-Match"
        assert one.etag == kept.etag


@pytest.mark.parametrize("name", THINGS)
async def test_a_condition_is_read_as_the_standard_has_it(keyed: Served, name: str) -> None:
    thing = THINGS[name].fresh()
    tag = (await make(keyed, thing)).etag or ""

    async def status(number: int, header: str, value: str) -> int:
        said = await say(keyed, thing.method, thing.path, thing.body(number), **{header: value})
        assert said.status in (200, 201, 400, 412), said
        return said.status

    assert await status(1, "If_Match", STALE) == 412
    assert await status(1, "If_Match", f"W/{tag}") == 412, "a weak tag never matches"
    for value in ("", tag.strip('"'), f"{tag},,{tag}", "*, *", f"{tag} {tag}", '"' + "a" * 2000):
        assert await status(1, "If_Match", value) == 400, value
    assert (await say(keyed, "GET", thing.path)).etag == tag, "nothing was changed so far"
    assert await status(1, "If_Match", f'{STALE} , W/"x",{tag}') < 300
    assert await status(2, "If_Match", "*") < 300
    if thing.makes:
        newer = (await say(keyed, "GET", thing.path)).etag or ""
        assert await status(3, "If_None_Match", newer) == 412
        assert await status(3, "If_None_Match", f"W/{newer}") == 412, "here weakly compared"
        assert await status(3, "If_None_Match", STALE) < 300


async def test_several_lines_of_if_match_are_one_list(keyed: Served) -> None:
    queue = THINGS["queue"].fresh()
    tag = (await make(keyed, queue)).etag or ""
    headers = [("If-Match", tag), ("If-Match", STALE)]
    async with keyed.client.put(keyed.url + queue.path, json={}, headers=headers) as said:
        assert said.status == 200


@pytest.mark.parametrize("name", MADE)
async def test_if_match_makes_nothing(keyed: Served, name: str) -> None:
    thing = THINGS[name].fresh()
    for value in ("*", STALE):
        said = await say(keyed, thing.method, thing.path, thing.body(1), If_Match=value)
        assert (said.status, said.etag) == (412, None)
        assert (await say(keyed, "GET", thing.path)).status == 404


@pytest.mark.parametrize("name", ["secret", "schedule", "workflow"])
async def test_what_was_deleted_and_made_anew_is_not_what_was_read(
    keyed: Served, name: str
) -> None:
    thing = THINGS[name].fresh()
    tag = (await make(keyed, thing, 1)).etag or ""
    assert (await say(keyed, "DELETE", thing.path)).status == 204
    gone = await say(keyed, thing.method, thing.path, thing.body(2), If_Match=tag)
    assert (gone.status, gone.etag) == (412, None)
    assert (
        await say(keyed, thing.method, thing.path, thing.body(3), If_None_Match="*")
    ).status < 300
    again = await say(keyed, thing.method, thing.path, thing.body(4), If_Match=tag)
    assert again.status == 412
    assert again.etag not in (None, tag)


async def test_what_the_engine_does_beside_it_moves_no_etag(keyed: Served) -> None:
    queue, flow = THINGS["queue"].fresh(), THINGS["workflow"].fresh()
    tag, flow_tag = (await make(keyed, queue)).etag, (await make(keyed, flow)).etag
    await keyed.submit(queue=queue.path.rpartition("/")[2])
    paused = await say(keyed, "POST", f"{queue.path}/pause")
    assert paused.etag == tag
    await say(keyed, "PUT", f"{flow.path}/draft", {})
    assert (await say(keyed, "GET", flow.path)).etag == flow_tag


async def test_a_draft_that_the_reader_has_is_not_sent_again(keyed: Served) -> None:
    draft = THINGS["draft"].fresh()
    tag = (await make(keyed, draft)).etag or ""
    for value in (tag, f"W/{tag}", f"{STALE}, {tag}", "*"):
        same = await say(keyed, "GET", draft.path, If_None_Match=value)
        assert (same.status, same.etag, same.length) == (304, tag, 0)
    assert (await say(keyed, "HEAD", draft.path, If_None_Match=tag)).status == 304
    assert (await say(keyed, "GET", draft.path, If_None_Match=STALE)).status == 200
    assert (await say(keyed, "GET", draft.path, If_None_Match="tag")).status == 400
    await say(keyed, "PUT", draft.path.removesuffix("/draft"), _steps(5))
    assert (await say(keyed, "GET", draft.path, If_None_Match=tag)).status == 200, (
        "its version moved"
    )


async def test_a_node_is_resized_by_one_of_those_who_saw_the_same_size(
    api: Served, node: ActingNode
) -> None:
    path = f"/v1/nodes/{ids.show('node', node.node_id)}"
    tag = (await say(api, "GET", path)).etag or ""

    async def resize(number: int) -> Said:
        return await say_again(api, "PATCH", path, {"workers": 50 + number}, If_Match=tag)

    said = await at_once(WRITERS, resize)
    assert sorted(one.status for one in said) == [202, *[409] * (WRITERS - 1)]
    assert {one.body.get("code") for one in said if one.status == 409} == {"node_busy"}
    [asked] = [one.body for one in said if one.status == 202]
    await node.database.run(
        "operation_step", ids.parse("operation", asked["id"]), node.node_id, *_APPLY
    )
    await node.database.run(
        "operation_end", ids.parse("operation", asked["id"]), node.node_id, *_DONE
    )
    late = await say(api, "PATCH", path, {"workers": 7}, If_Match=tag)
    assert (late.status, late.body["code"]) == (412, "precondition_failed")
    now = await say(api, "GET", path)
    assert now.etag == late.etag != tag
    for is_dry in (True, False):
        body = {"workers": 7, "dry_run": is_dry}
        assert (await say(api, "PATCH", path, body, If_Match=tag)).status == 412
    assert (await say(api, "PATCH", path, {"workers": 7}, If_Match=now.etag or "")).status == 202


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What a user's transaction holds of a thing, and what else can be asked of it."""

    rows: tuple[str, ...]  # table and column of its name
    verbs: tuple[str, ...] = ()  # POSTs behind its path
    can_be_deleted: bool = False


_WORKFLOW: Final = ("workflow.name",)
HOLDS: Final = {
    "queue": Hold(rows=("queue.name",), verbs=("pause", "resume")),
    "target": Hold(rows=("target.host",), verbs=("disable", "enable", "reset")),
    "lock": Hold(rows=("lock.name",)),
    "secret": Hold(rows=("secret.name",), can_be_deleted=True),
    "secret's hosts": Hold(rows=("secret_binding.name",)),
    "schedule": Hold(rows=("schedule.name",), verbs=("pause",), can_be_deleted=True),
    "schedule's fields": Hold(rows=("schedule.name",)),
    "workflow": Hold(rows=_WORKFLOW, can_be_deleted=True),
    "draft": Hold(rows=_WORKFLOW, verbs=("publish", "discard")),
}
# Far from the half minute that a statement may take, and slack for a busy machine.
ANSWER_SECONDS: Final = ASKED_LOCK_SECONDS + 8.0
assert ANSWER_SECONDS < DATABASE_CALL_SECONDS / 2


@asynccontextmanager
async def users(api: Served, hold: Hold, path: str) -> AsyncIterator[None]:
    """A user's transaction that holds the thing of this path."""
    name = path.split("/")[3]
    connection = await asyncpg.connect(api.database.url)
    try:
        async with connection.transaction():
            for row in hold.rows:
                table, column = row.split(".")
                held = f"SELECT {column} FROM windlass.{table} WHERE {column} = $1 FOR UPDATE"
                assert await connection.fetch(held, name), row
            yield
    finally:
        await connection.close(timeout=5)


async def refused_soon(api: Served, method: str, path: str, json: Any, **headers: str) -> None:
    begun = monotonic()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with api.client.request(method, api.url + path, json=json, headers=sent) as answer:
        text = await answer.text()
        took = monotonic() - begun
        assert answer.status == 503, f"{method} {path} after {took:.1f} s: {text}"
        assert int(answer.headers["Retry-After"]) >= 1
    assert took < ANSWER_SECONDS, f"{method} {path}"


@pytest.mark.parametrize("name", THINGS)
async def test_who_changes_what_somebody_holds_is_told_to_come_again_after_seconds(
    keyed: Served, name: str
) -> None:
    thing, hold = THINGS[name].fresh(), HOLDS[name]
    tag = (await make(keyed, thing)).etag or ""
    async with users(keyed, hold, thing.path):
        calls = [
            refused_soon(keyed, thing.method, thing.path, thing.body(1), If_Match=tag),
            refused_soon(keyed, thing.method, thing.path, thing.body(1)),
            *(refused_soon(keyed, "POST", f"{thing.path}/{verb}", {}) for verb in hold.verbs),
        ]
        if hold.can_be_deleted:
            calls.append(refused_soon(keyed, "DELETE", thing.path, None))
        for call in calls:
            await call
        assert (await say(keyed, "GET", thing.path)).etag == tag, "nothing was changed"
    changed = await say(keyed, thing.method, thing.path, thing.body(1), If_Match=tag)
    assert changed.status < 300


async def test_who_resizes_a_node_that_somebody_holds_is_told_to_come_again_after_seconds(
    api: Served, node: ActingNode
) -> None:
    path = f"/v1/nodes/{ids.show('node', node.node_id)}"
    tag = (await say(api, "GET", path)).etag or ""
    async with api.database.side() as holder, holder.transaction():
        await holder.execute("SELECT FROM windlass.node FOR UPDATE")
        await refused_soon(api, "PATCH", path, {"workers": 7}, If_Match=tag)
    assert (await say(api, "PATCH", path, {"workers": 7}, If_Match=tag)).status == 202


_APPLY: Final = ("pending", "applying", "{}")
_DONE: Final = ("done", "{}", None)


async def test_every_put_and_patch_takes_if_match_or_says_why_not(door: Served) -> None:
    document = await door.get("/openapi.json")
    exempt = set()
    for path, methods in document["paths"].items():
        for method in methods.keys() & {"put", "patch"}:
            names = {param["name"] for param in methods[method].get("parameters", ())}
            if "If-Match" not in names:
                exempt.add((method.upper(), path))
                continue
            responses = methods[method]["responses"]
            assert "ETag" in responses["412"]["headers"], path
            shown = methods["get"]["responses"]["200"]
            assert "ETag" in shown["headers"], f"what is changed at {path} is read with its tag"
            if "202" not in responses:  # what is asked for has not happened yet
                assert "ETag" in responses["200"]["headers"], path
    assert exempt == EXEMPT.keys()


@pytest.mark.parametrize("header", ["If_Match", "If_None_Match"])
async def test_a_condition_that_is_not_heeded_is_refused(door: Served, header: str) -> None:
    document = await door.get("/openapi.json")
    asked = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            names = {param["name"] for param in operation.get("parameters", ())}
            if method == "get" or header.replace("_", "-") in names:
                continue
            where = re.sub(r"\{\w+\}", "1", path)
            said = await say(door, method.upper(), where, **{header: '"a"'})
            assert (said.status, said.body["code"]) == (400, "bad_header"), (method, path)
            assert said.body["errors"][0]["pointer"] == header.replace("_", "-")
            asked += 1
    assert asked > 40
