"""Secrets over HTTP: they go in, and only what was generated comes out, once."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.api.conftest import Serve
from tests.api.served import Served
from windlass.api.secrets import routes
from windlass.config import Settings
from windlass.limits import (
    SECRET_BODY_BYTES_MAX,
    SECRET_BYTES_MAX,
    SECRET_HOSTS_MAX,
    SECRET_OVERLAP_SECONDS_MAX,
)
from windlass.model.json.schema import value_problems

KEY = "0f" * 32
CANARY = "canary-7d1f-sings"
KNOWN = [
    *("name", "kind", "public_key", "version", "versions"),
    *("created_at", "rotated_at", "overlap_until", "is_readable", "hosts"),
]


@pytest.fixture
async def keyed(serve_with: Serve) -> Served:
    """The API of a server that has a key."""
    return await serve_with(Settings(secret_key=KEY))


async def put(api: Served, name: str, status: int = 200, **body: Any) -> Any:
    return await api.call("PUT", f"/v1/secrets/{name}", status, json=body)


async def test_a_secret_is_put_listed_rotated_and_deleted(keyed: Served) -> None:
    made = await put(keyed, "token", value=CANARY)
    assert list(made) == KNOWN
    assert (made["kind"], made["versions"], made["rotated_at"]) == ("other", 1, None)
    assert await keyed.get("/v1/secrets/token") == made
    rotated = await put(keyed, "token", value=CANARY + "2", overlap="1h")
    assert (rotated["version"], rotated["versions"]) == (2, 2)
    assert rotated["overlap_until"] > rotated["rotated_at"] > rotated["created_at"]
    assert (await keyed.get("/v1/secrets"))["data"] == [rotated]
    ended = await put(keyed, "token", value=CANARY + "3", overlap=0)
    assert (ended["version"], ended["versions"], ended["overlap_until"]) == (3, 1, None)
    await keyed.call("DELETE", "/v1/secrets/token", 204)
    await keyed.call("DELETE", "/v1/secrets/token", 404)
    await keyed.get("/v1/secrets/token", 404)


async def test_a_generated_value_is_in_its_own_answer_and_nowhere_else(keyed: Served) -> None:
    shared = await put(keyed, "shared", generate="hmac")
    assert list(shared) == [*KNOWN, "value"]
    assert Webhook(shared["value"])._whsecret == base64.b64decode(shared["value"][6:])
    private = await put(keyed, "private", generate="ed25519")
    assert private["value"].startswith("whsk_")
    assert private["public_key"].startswith("whpk_")
    assert len(base64.b64decode(private["public_key"][5:])) == 32
    master = await put(keyed, "master", generate="derived")
    assert master["value"].startswith("whmk_")
    assert master["public_key"] is None
    listed = await keyed.get("/v1/secrets")
    assert [(s["name"], s["kind"]) for s in listed["data"]] == [
        ("master", "derived"),
        ("private", "ed25519"),
        ("shared", "hmac"),
    ]
    assert listed["data"][1]["public_key"] == private["public_key"]
    assert shared["public_key"] is None
    again = json.dumps([listed, await keyed.get("/v1/secrets/private")])
    assert [s["value"] for s in (shared, private, master) if s["value"] in again] == []


async def test_no_answer_event_or_log_line_shows_a_value(
    keyed: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[list[str]] = []
    keyed.parts.announcer.on_secret(heard.append)
    answers = [
        await put(keyed, "token", value=CANARY),
        await put(keyed, "token", 422, value=CANARY, generate="hmac"),
        await put(keyed, "token", 422, value=CANARY, extra=1),
        await put(keyed, "token", 422, value="whsec_" + CANARY),
        await put(keyed, "token", 422, value="whsk_" + CANARY),
        await put(keyed, "token", 422, value="whmk_" + CANARY),
        await put(keyed, "token", 422, value=[CANARY]),
        await put(keyed, "token", 422, overlap=CANARY, generate="hmac"),
        await put(keyed, "token", 422, generate=CANARY),
        await put(keyed, "token", 422, value=CANARY * 1_000),
        await put(keyed, "a b", 422, value=CANARY),
        await put(keyed, "token", value=CANARY + "2"),
        await keyed.get("/v1/secrets"),
        await keyed.get("/v1/events"),
    ]
    broken = {"data": f'{{"value": "{CANARY}", "value": "{CANARY}"}}'.encode()}
    head = {"Content-Type": "application/json"}
    answers.append(await keyed.call("PUT", "/v1/secrets/token", 400, headers=head, **broken))
    said = capsys.readouterr()
    assert CANARY not in json.dumps(answers) + said.out + said.err
    events = [(event["noun"], event["subject"], event["type"]) for event in answers[-2]["data"]]
    assert events == [("secret", "token", "created"), ("secret", "token", "rotated")]
    assert heard[0] == ["token"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"overlap": "1h"}, ""),
        ({"value": "long", "generate": "hmac"}, ""),
        ({"value": ""}, "/value"),
        ({"value": "pin"}, "/value"),
        ({"value": " pin\t"}, "/value"),
        ({"value": None}, "/value"),
        ({"value": "\ud800"}, "/value"),
        ({"generate": "rsa"}, "/generate"),
        ({"generate": ["hmac"]}, "/generate"),
        ({"value": "long", "overlap": -1}, "/overlap"),
        ({"value": "long", "overlap": SECRET_OVERLAP_SECONDS_MAX + 1}, "/overlap"),
        ({"value": "long", "overlap": None}, "/overlap"),
        ({"value": "long", "name": "y"}, "/name"),
        ({"hosts": []}, "/hosts"),
        ({"hosts": "shop.example"}, "/hosts"),
        ({"value": "long", "hosts": ["*.127.0.0.1"]}, "/hosts"),
        ({"hosts": [f"{n}.example" for n in range(SECRET_HOSTS_MAX + 1)]}, "/hosts"),
        ({"hosts": ["shop.example"], "overlap": "1h"}, "/overlap"),
        ([], ""),
    ],
    ids=str,
)
async def test_what_cannot_be_taken_is_named(door: Served, body: Any, pointer: str) -> None:
    answer = await door.call("PUT", "/v1/secrets/token", 422, json=body)
    assert [error["pointer"] for error in answer["errors"]] == [pointer]


async def test_where_a_secret_may_go_is_said_with_its_value_and_without(keyed: Served) -> None:
    await put(keyed, "token", 404, hosts=["shop.example"])
    assert (await put(keyed, "token", value=CANARY))["hosts"] is None
    made = await put(keyed, "token", value=CANARY, hosts=["Shop.Example.", "*.bank.example:8443"])
    assert (made["version"], made["hosts"]) == (1, ["shop.example", "*.bank.example:8443"])
    heard: list[list[str]] = []
    keyed.parts.announcer.on_secret(heard.append)
    bound = await put(keyed, "token", hosts=["127.0.0.1:8080"])
    assert (bound["version"], bound["hosts"]) == (1, ["127.0.0.1:8080"])
    assert heard[:1] == [["token"]], "nodes are told"
    assert (await put(keyed, "token", value=CANARY + "2"))["hosts"] == ["127.0.0.1:8080"]
    assert (await keyed.get("/v1/secrets"))["data"][0]["hosts"] == ["127.0.0.1:8080"]
    assert (await put(keyed, "token", hosts=None))["hosts"] is None
    events = (await keyed.get("/v1/events"))["data"]
    assert [event["type"] for event in events] == [
        "created",
        "bound",
        "bound",
        "rotated",
        "unbound",
    ]
    assert events[2]["data"] == {"hosts": ["127.0.0.1:8080"]}


async def test_every_mistake_is_named_at_once(door: Served) -> None:
    answer = await put(door, "token", 422, value="", overlap="soon", more=1)
    assert {error["pointer"] for error in answer["errors"]} == {"/value", "/overlap", "/more"}


async def test_a_value_too_short_to_be_concealed_is_refused_with_what_to_do(keyed: Served) -> None:
    answer = await put(keyed, "token", 422, value="pin")
    [error] = answer["errors"]
    assert error["pointer"] == "/value"
    assert error["detail"] == (
        "has 3 characters; at least 4, or it could not be found and concealed in what a receiver "
        "answers"
    )
    await put(keyed, "token", value="pins")


async def test_the_schema_takes_as_short_a_value_as_the_server(keyed: Served) -> None:
    [schema] = [one.body for one in routes(keyed.parts) if one.body is not None]
    for value in ("pin", " pin", "pin\t", "   ", "pins", "p  n", "p\nns", " \n\n\n\n"):
        async with keyed.client.put(f"{keyed.url}/v1/secrets/a", json={"value": value}) as answer:
            is_taken = answer.status == 200
        assert (value_problems({"value": value}, schema) == []) is is_taken, value


async def test_the_longest_value_and_the_longest_overlap_are_taken(keyed: Served) -> None:
    await put(keyed, "long", value="é" * (SECRET_BYTES_MAX // 2), overlap="30d")
    body = b'{"value": "' + b"\\u0041" * SECRET_BYTES_MAX + b'"}'
    assert len(body) < SECRET_BODY_BYTES_MAX
    head = {"Content-Type": "application/json"}
    await keyed.call("PUT", "/v1/secrets/long", 200, data=body, headers=head)
    await put(keyed, "long", 413, value="x" * SECRET_BODY_BYTES_MAX)


async def test_without_a_key_nothing_is_stored_and_the_answer_says_what_to_do(
    serve_with: Serve,
) -> None:
    api = await serve_with(Settings(), is_keyless=True)
    answer = await put(api, "token", 409, value=CANARY)
    assert answer["code"] == "no_secret_key"
    assert "WINDLASS_SECRET_KEY" in answer["detail"]
    assert (await api.get("/v1/secrets"))["data"] == []


async def test_a_secret_under_a_key_that_is_not_here_is_told_as_unreadable(
    serve_with: Serve,
) -> None:
    made = await put(await serve_with(Settings(secret_key=KEY)), "token", value=CANARY)
    assert made["is_readable"]
    other = await serve_with(Settings(secret_key="aa" * 32, auth="off"))
    [secret] = (await other.get("/v1/secrets"))["data"]
    assert secret == {**made, "is_readable": False}
    assert (await put(other, "token", value=CANARY))["is_readable"]


async def test_secrets_are_listed_by_name_in_pages(keyed: Served) -> None:
    for name in ("c", "a", "b"):
        await put(keyed, name, value="long")
    first = await keyed.get("/v1/secrets?limit=2")
    assert [secret["name"] for secret in first["data"]] == ["a", "b"]
    rest = await keyed.get(f"/v1/secrets?limit=2&cursor={first['next_cursor']}")
    assert [secret["name"] for secret in rest["data"]] == ["c"]
    assert rest["next_cursor"] is None
