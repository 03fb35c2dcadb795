"""The secret of a target over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Serve
from tests.api.served import Served
from windlass.config import Settings
from windlass.strategies.http.auth.sign import derived_secret

KEY = "0f" * 32


@pytest.fixture
async def keyed(serve_with: Serve) -> Served:
    """The API of a server that has a key."""
    return await serve_with(Settings(secret_key=KEY))


async def generate(api: Served, name: str, kind: str = "derived", **body: Any) -> str:
    answer = await api.call("PUT", f"/v1/secrets/{name}", 200, json={"generate": kind, **body})
    return str(answer["value"])


async def test_a_host_without_a_row_has_its_secret_and_both_while_it_is_rotated(
    keyed: Served,
) -> None:
    first = await generate(keyed, "webhook")
    shown = await keyed.get("/v1/targets/shop.example/secret")
    mine = derived_secret(first, "shop.example")
    assert shown == {"host": "shop.example", "secrets": [mine], "name": "webhook"}
    second = await generate(keyed, "webhook", overlap="1h")
    shown = await keyed.get("/v1/targets/shop.example/secret")
    assert shown["secrets"] == [derived_secret(second, "shop.example"), mine]
    assert first not in str(shown)
    await keyed.get("/v1/targets/shop.example", 404)


async def test_a_secret_is_of_the_host_as_deliveries_write_it(keyed: Served) -> None:
    master = await generate(keyed, "webhook")
    # Where another question would take a bare host for its port 80, a secret must not depend on
    # what was delivered so far.
    await keyed.call("PUT", "/v1/targets/plain.example:80", 200, json={})
    for written, host in [
        ("SHOP.example:443", "shop.example"),
        ("127.0.0.1%3A8080", "127.0.0.1:8080"),
        ("%5B2001:DB8::1%5D:8080", "[2001:db8::1]:8080"),
        ("plain.example", "plain.example"),
        ("plain.example:80", "plain.example:80"),
    ]:
        shown = await keyed.get(f"/v1/targets/{written}/secret")
        assert (shown["host"], shown["secrets"]) == (host, [derived_secret(master, host)])


async def test_another_derived_secret_is_asked_for_by_name(keyed: Served) -> None:
    await generate(keyed, "webhook")
    master = await generate(keyed, "partners")
    shown = await keyed.get("/v1/targets/shop.example/secret?name=partners")
    assert shown["name"] == "partners"
    assert shown["secrets"] == [derived_secret(master, "shop.example")]


async def test_where_nothing_is_derived_there_is_nothing_to_show(keyed: Served) -> None:
    assert (await keyed.get("/v1/targets/shop.example/secret", 404))["code"] == "not_found"
    for kind in ("hmac", "ed25519"):
        await generate(keyed, kind, kind)
        await keyed.get(f"/v1/targets/shop.example/secret?name={kind}", 404)


@pytest.mark.parametrize(
    ("path", "pointer"),
    [("a%20b/secret", "{host}"), ("a/secret?name=a%20b", "?name"), ("a/secret?key=a", "?key")],
)
async def test_what_cannot_be_asked_is_named(door: Served, path: str, pointer: str) -> None:
    refused = await door.get(f"/v1/targets/{path}", 422)
    assert [error["pointer"] for error in refused["errors"]] == [pointer]


async def test_without_a_key_the_answer_says_what_to_do(serve_with: Serve) -> None:
    keyless = await serve_with(Settings(), is_keyless=True)
    refused = await keyless.get("/v1/targets/shop.example/secret", 409)
    assert refused["code"] == "no_secret_key"


async def test_a_caller_without_a_key_of_the_api_gets_no_secret(keyed: Served) -> None:
    await generate(keyed, "webhook")
    nobody = {"Authorization": "Bearer wlk_nobody"}
    refused = await keyed.get("/v1/targets/shop.example/secret", 401, headers=nobody)
    assert "secrets" not in refused
