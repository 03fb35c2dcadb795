"""Every route against every sort of caller: the table of rights, and nothing else, lets one in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import aiohttp
import pytest

from tests.api.conftest import Serve
from tests.api.http.raw import wire
from tests.api.identity.callers import a_key, a_token, a_user, bearer, raw, say
from tests.api.served import Served
from windlass.api.app import build_app
from windlass.api.http.route import Route
from windlass.api.http.router import Router, RoutesOfPath
from windlass.config import Settings
from windlass.limits import BODY_BYTES_MAX
from windlass.model.identity.rights import ANYBODY, NOBODY, RIGHTS, ROLES, roles_with

# What a path is asked with: of the right form, and of nothing that is there.
STRANGER: Final = {
    "job_id": "job_" + "0" * 32,
    "execution_id": "exe_" + "0" * 32,
    "key_id": "key_" + "0" * 32,
    "session_id": "ses_" + "0" * 32,
    "name": "theirs",
    "user": "nobody-here",
}
# Its key is a job's own (see api.jobs.complete), and who logs in has none yet.
OWN_DOOR: Final = {"POST /v1/jobs/{job_id}/complete", "POST /v1/session"}
# A body that no route takes: nothing is done, whoever is let in.
NONSENSE: Final = b'{"no such field": 1'


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    name: str
    headers: dict[str, str]
    rights: frozenset[str]
    is_confined: bool = False
    has_own_password: bool = True

    def expected(self, route: Route) -> int | None:
        """401 or 403; None: it is let in, and whatever is said then."""
        if route.needs == NOBODY:
            return None
        if self.name == "nobody":
            return 401
        if route.needs == ANYBODY:
            return None
        if not self.has_own_password or route.needs not in self.rights:
            return 403
        if self.is_confined and route.confined_by in (None, "queue", "workflow"):
            return 403
        return None


def routes_of(api: Served) -> list[Route]:
    """All that it serves, of the very table that it looks them up in."""
    app = build_app(api.parts)
    router = app._app
    assert isinstance(router, Router)
    found: list[Route] = []
    for of_path in _paths(router._table):
        found += of_path.by_method.values()
    return found


def _paths(table: Any) -> Iterator[RoutesOfPath]:
    yield from table._fixed.values()
    rest = [table._first]
    while rest:
        segment = rest.pop()
        rest += [*segment.words.values(), *([segment.parameter] if segment.parameter else [])]
        if segment.routes is not None:
            yield segment.routes


def name_of(route: Route) -> str:
    return f"{route.method} {re.sub(r':str', '', route.path)}"


async def answer(client: aiohttp.ClientSession, api: Served, route: Route, caller: Caller) -> Any:
    """Status and problem."""
    path = re.sub(r"\{(\w+):str\}", lambda found: STRANGER.get(found[1], "x"), route.path)
    body = None if route.method in ("GET", "DELETE") else NONSENSE
    kind = {"Content-Type": "application/json"} if body else {}
    async with client.request(
        route.method, api.url + path, data=body, headers={**caller.headers, **kind}
    ) as said:
        if said.status < 400:
            return said.status, {}
        return said.status, await said.json(content_type=None)


def mistakes(route: Route, caller: Caller, status: int, problem: Any) -> str | None:
    """None: it is as the table says."""
    wanted = caller.expected(route)
    where = f"{name_of(route)} as {caller.name}: {status} {problem.get('code')}"
    if wanted is None:
        if name_of(route) in OWN_DOOR or (caller.is_confined and route.confined_by == "asked"):
            return None if status < 500 else where
        is_kept_out = status == 401 or problem.get("code") in (
            *("forbidden", "confined", "password_change_needed", "cross_site"),
        )
        is_own = (
            problem.get("code") == "forbidden"
            and "needs" in problem
            and route.needs.endswith(":own")
        )
        return where if (is_kept_out and not is_own) or status == 500 else None
    if status != wanted:
        return f"{where}, not {wanted}"
    if status == 401:
        return None
    if not caller.has_own_password:
        return None if problem["code"] == "password_change_needed" else where
    if route.needs not in caller.rights:
        is_told = problem["needs"] == route.needs and problem["roles"] == roles_with(route.needs)
        return None if is_told and problem["code"] == "forbidden" else where
    return None if problem["code"] == "confined" else where


async def compare(api: Served, caller: Caller, routes: list[Route]) -> tuple[int, list[str]]:
    wrong: list[str] = []
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        for route in routes:
            # The stream answers without end to whoever is let in: to be asked apart.
            is_endless = route.path == "/v1/events/stream" and caller.expected(route) is None
            if not is_endless and (
                found := mistakes(route, caller, *(await answer(client, api, route, caller)))
            ):
                wrong.append(found)
    return len(routes), wrong


@pytest.fixture
async def api(serve_with: Serve) -> Served:
    return await serve_with(Settings(secret_key="0f" * 32))


async def a_caller(api: Served, name: str, **key: Any) -> Caller:
    made = await a_key(api, name=name, **key)
    role, scopes = key.get("role"), key.get("scopes", ())
    rights = frozenset(right for right in RIGHTS if role in roles_with(right) or right in scopes)
    is_confined = "queues" in key or "workflows" in key
    return Caller(name=name, headers=bearer(made["token"]), rights=rights, is_confined=is_confined)


@pytest.mark.timeout(300)
async def test_every_route_lets_in_whom_the_table_names_and_nobody_else(api: Served) -> None:
    routes = routes_of(api)
    callers = [Caller(name="nobody", headers={}, rights=frozenset())]
    for role in ROLES:
        callers.append(await a_caller(api, f"key of a {role}", role=role))
        await a_user(api, role, role)
        rights = frozenset(right for right in RIGHTS if role in roles_with(right))
        token = await a_token(api, role)
        callers.append(Caller(name=f"a {role}", headers=bearer(token), rights=rights))
    await a_user(api, "new")
    reset = await api.post("/v1/users/new/reset-password")
    one_time = await a_token(api, "new", reset["one_time_password"])
    callers.append(
        Caller(
            name="with a one-time password",
            headers=bearer(one_time),
            rights=frozenset(right for right in RIGHTS if "operator" in roles_with(right)),
            has_own_password=False,
        )
    )
    callers.append(
        await a_caller(api, "confined", scopes=list(RIGHTS), queues=["mine"], workflows=["mine"])
    )
    asked = 0
    wrong: list[str] = []
    # Whoever logs himself out is asked last.
    routes.sort(key=lambda route: (route.path == "/v1/session", route.path == "/v1/sessions"))
    for caller in callers:
        count, found = await compare(api, caller, routes)
        asked, wrong = asked + count, wrong + found
    print(f"{len(routes)} routes x {len(callers)} callers = {asked} requests")
    assert not wrong, "\n".join(wrong)
    assert len(routes) > 100


@pytest.mark.timeout(300)
async def test_a_scope_opens_its_routes_and_all_others_together_do_not(api: Served) -> None:
    by_right: dict[str, list[Route]] = {}
    for route in routes_of(api):
        by_right.setdefault(route.needs, []).append(route)
    # Whose keys one may know of is looked at by the routes of `keys:own` themselves.
    assert by_right.keys() | {"keys:edit"} == RIGHTS.keys() | {NOBODY, ANYBODY}
    wrong: list[str] = []
    for right in RIGHTS:
        just = await a_caller(api, f"just {right}", scopes=[right])
        others = [other for other in RIGHTS if other != right]
        without = await a_caller(api, f"all but {right}", scopes=others)
        for caller in (just, without):
            wrong += (await compare(api, caller, by_right.get(right, [])))[1]
        other = next(route for needs, rest in by_right.items() if needs in others for route in rest)
        wrong += (await compare(api, just, [other]))[1]
    assert not wrong, "\n".join(wrong)


async def test_a_route_without_a_right_is_none(door: Served) -> None:
    route = routes_of(door)[0]
    for needs in ("", "jobs", "jobs:fly"):
        with pytest.raises(AssertionError, match="is no right"):
            replace(route, needs=needs)
    given = {
        name: getattr(route, name)
        for name in ("method", "path", "handle", "summary", "tag", "answers")
    }
    with pytest.raises(TypeError, match="needs"):
        Route(**given)


async def test_a_route_that_says_too_little_is_found_out_by_this_very_comparison(
    api: Served,
) -> None:
    """A route that needs less than it should is one that the comparison tells."""
    [route] = [one for one in routes_of(api) if name_of(one) == "GET /v1/users"]
    viewer = await a_caller(api, "viewer", role="viewer")
    async with aiohttp.ClientSession() as client:
        status, problem = await answer(client, api, route, viewer)
        assert mistakes(route, viewer, status, problem) is None
        assert mistakes(replace(route, needs="jobs:read"), viewer, status, problem) is not None
        assert mistakes(route, viewer, 200, {}) is not None


async def test_the_document_says_of_every_route_what_it_needs_and_who_has_it(door: Served) -> None:
    document = await door.get("/openapi.json")
    shown: dict[str, Any] = {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    table = {name_of(route): route for route in routes_of(door)}
    assert shown.keys() == table.keys()
    for name, operation in shown.items():
        route = table[name]
        assert operation["x-needs"] == route.needs, name
        if route.needs == NOBODY:
            assert operation["security"] == [], name
        else:
            roles = list(ROLES) if route.needs == ANYBODY else roles_with(route.needs)
            assert operation["x-roles"] == roles, name
            assert operation["x-roles"], name
            assert operation["x-confined-by"] == route.confined_by, name


async def test_what_is_open_shows_nothing_of_anybody(door: Served) -> None:
    opened = {name_of(route) for route in routes_of(door) if route.needs == NOBODY}
    assert opened == {
        *("GET /health", "GET /health/live", "GET /health/ready"),
        *("GET /openapi.json", "GET /docs", "GET /problems", "GET /problems/{code}"),
        *("POST /v1/session", "POST /v1/jobs/{job_id}/complete"),
        *(f"GET /v1/session/{way}" for way in ("methods", "oidc", "oidc/callback")),
    }


@pytest.mark.parametrize(
    "path",
    [
        *("//v1/jobs", "/v1//jobs", "/v1/jobs/", "/v1/jobs//", "/./v1/jobs", "/health/../v1/jobs"),
        *(
            "/health/%2e%2e/v1/jobs",
            "/v1%2fjobs",
            "/V1/jobs",
            "/v1/jobs;x=/health",
            "/v1/jobs?/docs",
        ),
        *("/health//../v1/jobs", "/docs/../v1/jobs", "/problems/../v1/jobs", "/v1/session/../jobs"),
        "/v1/jobs/x/complete/../../../jobs",
    ],
)
async def test_no_way_of_writing_a_path_leads_around_the_door(door: Served, path: str) -> None:
    """As the bytes stand in the request, which clients would tidy up."""
    said = await raw(door, "GET", path)
    head, _, body = said.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    assert status in (401, 404), said
    assert b'"data"' not in body


async def test_a_stranger_who_may_do_nothing_costs_no_large_body(api: Served) -> None:
    """Who lacks the right is told before his body is read."""
    viewer = await a_caller(api, "viewer", role="viewer")
    head = (
        f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES_MAX}\r\n"
        "Content-Type: application/json\r\n"
        f"Authorization: {viewer.headers['Authorization']}\r\n\r\n"
    )
    async with wire(api.url) as there, asyncio.timeout(20):
        await there.send(head.encode())
        assert (await there.reader.readline()).startswith(b"HTTP/1.1 403 ")


async def test_a_key_for_keys_is_none_for_everything(api: Served) -> None:
    """What whoever edits keys or users could give himself is no more than he has."""
    admin = (await api.get("/v1/keys"))["data"][0]
    scopes = ["keys:own", "keys:edit", "users:edit"]
    weak = bearer((await a_key(api, name="weak", scopes=scopes))["token"])
    await a_user(api, "boss", "admin")
    await a_user(api, "ann", "viewer")
    for method, path, body in (
        ("POST", f"/v1/keys/{admin['id']}/rotate", {"overlap": 0}),
        ("POST", "/v1/keys", {"name": "more", "role": "admin", "is_personal": False}),
        ("POST", "/v1/users", {"name": "me", "role": "admin"}),
        ("PATCH", "/v1/users/ann", {"role": "admin"}),
        ("POST", "/v1/users/boss/reset-password", None),
        ("POST", "/v1/users/ann/reset-password", None),
    ):
        said = await say(api, method, path, body, weak)
        assert said.status in (403, 422), (path, said.body)
        assert b"token" not in said.body.replace(b"token:", b""), path
    await api.get("/v1/keys", 200)
    assert (await say(api, "PATCH", "/v1/users/ann", {"is_disabled": True}, weak)).status == 200
    same = {"name": "same", "scopes": ["keys:own"], "is_personal": False}
    assert (await say(api, "POST", "/v1/keys", same, weak)).status == 201


async def test_a_confinement_is_looked_for_where_a_route_says_what_has_it(door: Served) -> None:
    for route in routes_of(door):
        if route.confined_by in ("queue", "workflow"):
            assert "{name:str}" in route.path, name_of(route)
        elif route.confined_by in ("job", "execution"):
            assert f"{{{route.confined_by}_id:str}}" in route.path, name_of(route)
        elif route.confined_by == "asked":
            assert name_of(route) in {"GET /v1/jobs", "POST /v1/jobs", "POST /v1/jobs/batch"}, (
                "a handler that looks for itself has a test in test_confined.py"
            )
