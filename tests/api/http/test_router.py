"""Which route a request meets, and what is said where there is none."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.api.http.raw import exchange, statuses
from tests.api.served import Served
from windlass.api.http.authorize import Confinement
from windlass.api.http.door import Door
from windlass.api.http.reply import Reply, json_reply
from windlass.api.http.route import Call, Route
from windlass.api.http.router import Router, RouteTable
from windlass.model.identity.rights import NOBODY
from windlass.store.database import Database

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
ONE = "/v1/jobs/{job_id:str}"


async def nothing(_request: Call, _query: dict[str, Any]) -> ASGIApp:
    return Reply()


def route(path: str, method: Method = "GET", handle: Any = nothing) -> Route:
    return Route(
        method=method, path=path, handle=handle, needs=NOBODY, summary="", tag="", answers={}
    )


TABLE = RouteTable(
    [
        route("/"),
        route("/v1/jobs"),
        route("/v1/jobs", "POST"),
        route("/v1/jobs/batch", "POST"),
        route(ONE),
        route(ONE, "DELETE"),
        route(ONE + "/why"),
        route("/v1/flows/{name:str}/draft"),
        route("/v1/flows/{flow:str}/versions/{number:str}"),
        route("/v1/flows/all/draft/parts/{part:str}"),
    ]
)


@pytest.mark.parametrize(
    ("path", "template", "values"),
    [
        ("/", "/", {}),
        ("/v1/jobs", "/v1/jobs", {}),
        ("/v1/jobs/batch", "/v1/jobs/batch", {}),
        ("/v1/jobs/batch/why", ONE + "/why", {"job_id": "batch"}),
        ("/v1/jobs/a", ONE, {"job_id": "a"}),
        ("/v1/jobs/a b?{%41", ONE, {"job_id": "a b?{%41"}),  # decoded once, before it comes here
        ("/v1/jobs/a/why", ONE + "/why", {"job_id": "a"}),
        ("/v1/flows/x/draft", "/v1/flows/{name:str}/draft", {"name": "x"}),
        (
            "/v1/flows/x/versions/3",
            "/v1/flows/{flow:str}/versions/{number:str}",
            {"flow": "x", "number": "3"},
        ),
    ],
)
def test_a_path_leads_to_its_routes(path: str, template: str, values: dict[str, str]) -> None:
    found = TABLE.find(path)
    assert found is not None
    assert (found.routes.path, found.path, found.values) == (template, path, values)


@pytest.mark.parametrize(
    "path",
    ["", "/v1", "/v2/jobs", "/V1/jobs", "/v1/jobs/a/why/more", "/v1/flows/x", "/v1/flows/x/why"],
)
def test_other_paths_lead_nowhere(path: str) -> None:
    table = RouteTable([route("/v1/jobs"), route(ONE + "/why"), route("/v1/flows/{a:str}/draft")])
    assert table.find(path) is None


def test_where_a_word_fits_no_parameter_is_tried() -> None:
    assert TABLE.find("/v1/flows/all/draft/parts/a") is not None
    assert TABLE.find("/v1/flows/all/draft") is None


@pytest.mark.parametrize("path", ["/v1/jobs/", "//v1/jobs", "/v1//jobs", "///v1///jobs///"])
def test_slashes_at_the_end_or_in_a_row_do_not_matter(path: str) -> None:
    for more, template in (("", "/v1/jobs"), ("/a", ONE), ("/batch//", "/v1/jobs/batch")):
        found = TABLE.find(path + more)
        assert found is not None
        assert found.routes.path == template
        assert found.path == "/v1/jobs" + more.rstrip("/")


def test_a_row_that_stands_twice_is_refused() -> None:
    with pytest.raises(AssertionError, match="GET /v1/jobs stands twice"):
        RouteTable([route("/v1/jobs"), route("/v1/jobs")])
    with pytest.raises(AssertionError, match="name one parameter twice"):
        RouteTable([route(ONE), route("/v1/jobs/{id:str}", "DELETE")])


@dataclass
class Said:
    """What an application answered to one request."""

    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.messages[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.messages[1:])

    async def ask(self, app: ASGIApp, path: str, method: str = "GET", **more: Any) -> Said:
        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            self.messages.append(message)

        request = {"type": "http", "method": method, "path": path, "query_string": b""}
        await app({**request, "headers": [], **more}, receive, send)
        return self


NOT_ASKED: Final = Confinement(Database("postgresql://127.0.0.1/none"))


def behind_a_door(*routes: Route) -> Door:
    return Door(Router(routes, NOT_ASKED), None, routes)


async def test_a_route_sees_its_path_and_parameters() -> None:
    async def show(request: Call, query: dict[str, Any]) -> ASGIApp:
        assert query == {}
        return json_reply([request.scope["path"], request.path_params])

    app = behind_a_door(route(ONE, handle=show))
    said = await Said().ask(app, "/v1//jobs/a\u00e9 b/")
    assert json.loads(said.body) == ["/v1/jobs/a\u00e9 b", {"job_id": "a\u00e9 b"}]


async def test_head_is_a_get_without_its_body() -> None:
    app = behind_a_door(route("/v1/jobs"), route("/v1/jobs/batch", "POST"))
    said = await Said().ask(app, "/v1/jobs", "HEAD")
    assert (said.status, said.body) == (200, b"")
    assert (await Said().ask(app, "/v1/jobs/batch", "HEAD")).status == 405


@pytest.mark.parametrize(
    ("path", "allow"),
    [("/v1/jobs", b"GET, HEAD, OPTIONS, POST"), ("/v1/jobs/batch", b"OPTIONS, POST")],
)
async def test_a_path_tells_what_it_allows(path: str, allow: bytes) -> None:
    app = behind_a_door(
        route("/v1/jobs/batch", "POST"), route("/v1/jobs", "POST"), route("/v1/jobs")
    )
    asked = await Said().ask(app, path, "OPTIONS")
    assert (asked.status, asked.headers[b"allow"], asked.body) == (204, allow, b"")
    assert b"content-length" not in asked.headers, "an answer without a body has no length"
    refused = await Said().ask(app, path, "PATCH")
    assert (refused.status, refused.headers[b"allow"]) == (405, allow)
    problem = json.loads(refused.body)
    assert (problem["code"], problem["detail"]) == (
        "method_not_allowed",
        "PATCH is not offered here",
    )


async def test_an_error_before_an_answer_is_a_problem_and_after_its_start_it_ends_it() -> None:
    class Broken:
        def __init__(self, *, begins: bool) -> None:
            self.begins = begins

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if self.begins:
                await send({"type": "http.response.start", "status": 200, "headers": []})
            raise RuntimeError("a secret")

    async def early(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        return Broken(begins=False)

    async def late(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        return Broken(begins=True)

    app = behind_a_door(route("/early", handle=early), route("/late", handle=late))
    said = await Said().ask(app, "/early")
    assert (said.status, json.loads(said.body)["code"]) == (500, "internal")
    assert b"a secret" not in said.body
    begun = Said()
    with pytest.raises(RuntimeError, match="a secret"):
        await begun.ask(app, "/late")
    assert [message["type"] for message in begun.messages] == ["http.response.start"]


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
async def test_whoever_does_not_speak_http_is_not_let_in(kind: str) -> None:
    said = Said()
    with pytest.raises(ValueError, match="HTTP only"):
        await said.ask(behind_a_door(route("/v1/jobs")), "/v1/jobs", type=kind)
    assert said.messages == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nowhere", 404), ("DELETE", "/v1/jobs", 405), ("OPTIONS", "/v1/jobs", 204)],
)
async def test_what_the_router_says_is_not_for_caches_either(
    door: Served, method: str, path: str, status: int
) -> None:
    async with door.client.request(method, door.url + path) as answer:
        assert answer.status == status
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("line", [b"GET /v1/queues", b"POST /v1/jobs", b"GET /v1/nowhere"])
async def test_a_host_that_is_none_is_refused_on_every_path(door: Served, line: bytes) -> None:
    key = door.key.encode()
    head = line + b" HTTP/1.1\r\nAuthorization: Bearer " + key + b"\r\nConnection: close\r\n"
    said = await exchange(door.url, head + b"Host: a/b\r\n\r\n")
    assert statuses(said) == [400]
    assert b"Invalid host header" in said
    stranger = await exchange(
        door.url, line + b" HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n"
    )
    assert statuses(stranger) == [401], "first who calls, then what is called"
