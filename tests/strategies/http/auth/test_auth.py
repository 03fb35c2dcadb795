"""Credentials of deliveries: what is sent, what is hidden, what is refused."""

from __future__ import annotations

import base64
import contextlib
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from tests.strategies.drawer import Drawer, master_key, private_key, shared_key
from tests.strategies.http.pooled import no_pool
from tests.strategies.receiver import Receiver
from windlass.limits import AUTHS_MAX
from windlass.strategies.http.auth.auth import AuthFailed, Credentials, Prepared, check_auth
from windlass.strategies.http.auth.secrets import (
    NoVault,
    SecretUnavailable,
    SigningUnavailable,
    Vault,
)
from windlass.strategies.http.auth.sign import derived_secret

OAUTH = {"type": "oauth2", "token_url": "https://id.example/token", "client_id": "c", "secret": "s"}


async def prepare(vault: Vault, auth: object, target: str = "shop.example") -> Prepared:
    credentials = Credentials(vault, no_pool)
    return await credentials.prepare(
        auth, target=target, webhook_id="job_1", timestamp=1_700_000_000, body=b"{}"
    )


@pytest.mark.parametrize(
    ("auth", "header", "sent"),
    [
        ({"type": "bearer", "secret": "s"}, "authorization", "Bearer canary"),
        ({"type": "api_key", "header": "X-API-Key", "secret": "s"}, "x-api-key", "canary"),
        ({"type": "api_key", "header": "Authorization", "secret": "s"}, "authorization", "canary"),
        (
            {"type": "basic", "username": "søren", "secret": "s"},
            "authorization",
            "Basic " + base64.b64encode("søren:canary".encode()).decode(),
        ),
    ],
)
async def test_a_secret_is_sent_as_the_receiver_wants_it_and_marked_as_secret(
    receiver: Receiver, auth: dict[str, str], header: str, sent: str
) -> None:
    prepared = await prepare(Drawer(s=["canary", "older"]), auth)
    assert prepared.headers[header] == sent
    assert prepared.secret_headers == {header}
    assert prepared.ssl is None
    assert "canary" not in repr(prepared)
    assert sent not in repr(prepared)
    async with (
        aiohttp.ClientSession() as session,
        session.post(receiver.url, data=b"{}", headers=prepared.headers),
    ):
        pass
    assert receiver.seen[0][0].headers[header] == sent


@pytest.mark.parametrize(
    ("auth", "told"),
    [
        ({"type": "bearer", "secret": "s"}, [("s", "shop.example", True)]),
        ({"type": "api_key", "header": "X", "secret": "s"}, [("s", "shop.example", True)]),
        ({"type": "basic", "username": "u", "secret": "s"}, [("s", "shop.example", True)]),
        ({"type": "mtls", "secret": "s"}, [("s", "shop.example", True)]),
        (OAUTH, [("s", "shop.example", True), ("s", "id.example", True)]),
        ({"type": "signature", "secret": "s"}, [("s", "shop.example", False)]),
        (None, [("webhook", "shop.example", False)]),
    ],
    ids=str,
)
async def test_a_secret_is_asked_for_with_everybody_who_is_to_see_it(
    auth: dict[str, str] | None, told: list[tuple[str, str, bool]]
) -> None:
    drawer = Drawer(s=shared_key(), webhook=shared_key())
    with contextlib.suppress(AuthFailed, AssertionError):  # no certificate, and nobody to ask
        await prepare(drawer, auth)
    assert drawer.told[: len(told)] == told


async def test_several_are_sent_together() -> None:
    drawer = Drawer(s="canary", webhook=shared_key(1), mine=shared_key(2))
    prepared = await prepare(
        drawer,
        [
            {"type": "api_key", "header": "X-Key", "secret": "s"},
            {"type": "bearer", "secret": "s"},
            {"type": "signature", "secret": "mine"},
        ],
    )
    assert prepared.secret_headers == {"x-key", "authorization", "webhook-signature"}
    only_mine = await prepare(Drawer(webhook=shared_key(2)), None)
    assert prepared.headers["webhook-signature"] == only_mine.headers["webhook-signature"]


async def test_the_signed_id_and_time_are_sent_beside_the_signature_and_stay_readable() -> None:
    prepared = await prepare(Drawer(webhook=shared_key()), None)
    assert prepared.headers["webhook-id"] == "job_1"
    assert prepared.headers["webhook-timestamp"] == "1700000000"
    assert prepared.secret_headers == {"webhook-signature"}


@pytest.mark.parametrize("auth", [None, [], {"type": "bearer", "secret": "s"}])
async def test_the_secret_named_webhook_signs_what_names_no_other(auth: object) -> None:
    drawer = Drawer(s="t", webhook=[private_key(2), shared_key(1)])
    signed = (await prepare(drawer, auth)).headers["webhook-signature"]
    assert [one.split(",")[0] for one in signed.split(" ")] == ["v1a", "v1"]


@pytest.mark.parametrize("auth", [None, {"type": "signature", "secret": "webhook"}])
async def test_a_master_key_signs_for_each_target_with_a_key_of_its_own(auth: object) -> None:
    master = Drawer(webhook=master_key())
    signed = {}
    for target in ("shop.example", "shop.example:80", "127.0.0.1:8080"):
        signed[target] = (await prepare(master, auth, target)).headers["webhook-signature"]
        own = Drawer(webhook=derived_secret(master_key(), target))
        alone = await prepare(own, None, "whoever.example")
        assert alone.headers["webhook-signature"] == signed[target]
    assert len(set(signed.values())) == 3


@pytest.mark.parametrize("vault", [Drawer(), Drawer(webhook=[])])
async def test_where_its_owner_deleted_the_secret_named_webhook_a_delivery_goes_unsigned(
    vault: Vault,
) -> None:
    prepared = await prepare(vault, None)
    assert prepared.headers == {"webhook-id": "job_1", "webhook-timestamp": "1700000000"}
    assert prepared.secret_headers == frozenset()


@pytest.mark.parametrize("auth", [None, [], {"type": "signature", "secret": "mine"}])
async def test_a_node_without_a_key_makes_no_unsigned_delivery(auth: object) -> None:
    with pytest.raises(SigningUnavailable, match=r"WINDLASS_SECRET_KEY.*openssl rand"):
        await prepare(NoVault(), auth)


@pytest.mark.parametrize("vault", [NoVault(), Drawer(webhook=shared_key())])
async def test_where_signing_is_switched_off_only_what_names_a_key_is_signed(vault: Vault) -> None:
    async def headers(auth: object) -> dict[str, str]:
        off = Credentials(vault, no_pool, is_signing=False)
        made = await off.prepare(auth, target="a.example", webhook_id="j", timestamp=1, body=b"")
        return made.headers

    assert await headers(None) == {"webhook-id": "j", "webhook-timestamp": "1"}
    named = {"type": "signature", "secret": "webhook"}
    if isinstance(vault, Drawer):
        assert "webhook-signature" in await headers(named)
    else:
        with pytest.raises(SigningUnavailable):
            await headers(named)


async def test_a_webhook_secret_that_cannot_be_opened_stops_the_delivery() -> None:
    drawer = Drawer(webhook=shared_key())
    drawer.jammed.add("webhook")
    with pytest.raises(SecretUnavailable, match="no key opens it"):
        await prepare(drawer, None)


@pytest.mark.parametrize(
    "auth",
    [
        {"type": "signature", "secret": "gone"},
        {"type": "bearer", "secret": "gone"},
        {"type": "api_key", "header": "X-Key", "secret": "gone"},
        {"type": "basic", "username": "u", "secret": "gone"},
        {"type": "mtls", "secret": "gone"},
        OAUTH | {"secret": "gone"},
    ],
)
@pytest.mark.parametrize("vault", [Drawer(), Drawer(gone=[])])
async def test_a_secret_that_is_asked_for_by_name_must_be_there(
    auth: dict[str, str], vault: Vault
) -> None:
    with pytest.raises(SecretUnavailable, match="secret 'gone' is not available") as missing:
        await prepare(vault, auth)
    assert missing.value.name == "gone"
    assert missing.value.facts == {"secret": "gone"}


@pytest.mark.parametrize(
    "value", ["canary\r\nx: y", "canary\n", "canary\0", "canary\x1b", "канарейка", ""]
)
@pytest.mark.parametrize(
    "auth",
    [{"type": "bearer", "secret": "s"}, {"type": "api_key", "header": "X-Key", "secret": "s"}],
)
async def test_a_value_that_would_break_out_of_its_header_is_refused_unseen(
    auth: dict[str, str], value: str
) -> None:
    with pytest.raises(AuthFailed, match="secret 's' cannot be sent in a header") as refused:
        await prepare(Drawer(s=value), auth)
    assert "canary" not in str(refused.value)
    assert "канарейка" not in str(refused.value)


async def test_a_latin_1_value_is_sent() -> None:
    prepared = await prepare(Drawer(s="køb\tnu"), {"type": "bearer", "secret": "s"})
    assert prepared.headers["authorization"] == "Bearer køb\tnu"


@pytest.mark.parametrize("value", ["canary\n", "can\0ary"])
async def test_a_password_with_a_control_character_is_refused_unseen(value: str) -> None:
    with pytest.raises(AuthFailed, match="'s' is no password: it holds a control") as refused:
        await prepare(Drawer(s=value), {"type": "basic", "username": "u", "secret": "s"})
    assert "ary" not in str(refused.value).replace("secret", "")


@pytest.mark.parametrize("auth", [None, {"type": "signature", "secret": "webhook"}])
@pytest.mark.parametrize("value", ["canary", "whsec_canary", "whsk_canary", "whmk_canary"])
async def test_a_value_that_cannot_sign_is_refused_unseen(auth: object, value: str) -> None:
    with pytest.raises(AuthFailed, match="secret 'webhook' cannot sign") as refused:
        await prepare(Drawer(webhook=[shared_key(), value]), auth)
    assert "canary" not in str(refused.value)


async def test_auth_that_did_not_pass_the_door_is_refused() -> None:
    with pytest.raises(AuthFailed, match="/auth/type: must be one of"):
        await prepare(Drawer(), {"type": "magic"})


async def test_a_refusal_of_what_has_no_token_changes_nothing() -> None:
    credentials = Credentials(Drawer(), no_pool)
    await credentials.refused(None)
    await credentials.refused({"type": "bearer", "secret": "s"})
    await credentials.refused(OAUTH)
    await credentials.close()


@pytest.mark.parametrize(
    "auth",
    [
        None,
        [],
        {"type": "signature", "secret": "a.b:c-d_1"},
        {"type": "basic", "username": "søren larsen", "secret": "s"},
        OAUTH,
        OAUTH | {"scope": "read write", "token_url": "http://127.0.0.1:8080/t?a=1"},
        [{"type": "mtls", "secret": "s"}, OAUTH, {"type": "signature", "secret": "s"}],
    ],
)
def test_what_can_be_performed_passes_the_door(auth: object) -> None:
    assert check_auth(auth) == []


BASIC = {"type": "basic", "username": "u", "secret": "s"}
BEARER = {"type": "bearer", "secret": "s"}
API_KEY = {"type": "api_key", "header": "X-Key", "secret": "s"}


@pytest.mark.parametrize(
    ("auth", "pointer", "said"),
    [
        ("bearer", "", "must be an object such as"),
        ([[]], "/0", "must be an object such as"),
        ({}, "/type", "must be one of: signature bearer api_key basic oauth2 mtls"),
        ({"type": []}, "/type", "must be one of"),
        ({"type": "bearer"}, "/secret", "must name a secret"),
        (BEARER | {"secret": 5}, "/secret", "must name a secret"),
        (BEARER | {"secret": "a b"}, "/secret", "must name a secret"),
        (BEARER | {"secret": "a" * 129}, "/secret", "1 to 128"),
        (BEARER | {"token": "t"}, "/token", "unknown field; known are type secret"),
        ([BASIC, BEARER | {"a/b": 1}], "/1/a~1b", "unknown field"),
        (API_KEY | {"header": "X Key"}, "/header", "must be a header name"),
        (API_KEY | {"header": "X-Key\n"}, "/header", "must be a header name"),
        (API_KEY | {"header": "Content-Length"}, "/header", "the delivery itself sets"),
        (API_KEY | {"header": "Host"}, "/header", "the delivery itself sets"),
        (API_KEY | {"header": "Webhook-Signature"}, "/header", "the delivery itself sets"),
        (API_KEY | {"header": "windlass-attempt"}, "/header", "the delivery itself sets"),
        (BASIC | {"username": "a:b"}, "/username", "without a colon"),
        (BASIC | {"username": ""}, "/username", "1 to 256"),
        (BASIC | {"username": "a\n"}, "/username", "printable"),
        (OAUTH | {"token_url": "ftp://id.example/"}, "/token_url", "http or https"),
        (OAUTH | {"token_url": "https://u:p@id.example/"}, "/token_url", "user name or password"),
        (OAUTH | {"token_url": "https://id.example/" + "a" * 4_096}, "/token_url", "4096"),
        (OAUTH | {"token_url": None}, "/token_url", "http or https"),
        (OAUTH | {"client_id": ""}, "/client_id", "1 to 256"),
        (OAUTH | {"scope": "a  b"}, "/scope", "single spaces"),
        (OAUTH | {"scope": None}, "/scope", "single spaces"),
        ([BEARER, BASIC], "/1", "sets authorization, which an entry before it sets too"),
        ([API_KEY, API_KEY | {"header": "x-key"}], "/1", "sets x-key"),
        ([{"type": "mtls", "secret": "s"}] * 2, "/1", "sets the client certificate"),
        ([BEARER] * (AUTHS_MAX + 1), "", f"at most {AUTHS_MAX}"),
    ],
)
def test_what_cannot_be_performed_is_refused_at_the_door(
    auth: Any, pointer: str, said: str
) -> None:
    [(where, detail)] = check_auth(auth)
    assert where == pointer
    assert said in detail


def test_every_problem_of_an_auth_is_told_at_once() -> None:
    problems = check_auth([{"type": "oauth2", "x": 1}, {"type": "basic"}])
    assert [where for where, _ in problems] == [
        "/0/x", "/0/token_url", "/0/client_id", "/0/secret", "/1/username", "/1/secret",
    ]  # fmt: skip


async def test_that_deliveries_leave_unsigned_is_logged_once() -> None:
    credentials = Credentials(Drawer(), no_pool)
    with capture_logs() as logged:
        for _ in range(3):
            prepared = await credentials.prepare(
                None, target="shop.example", webhook_id="job_1", timestamp=1, body=b""
            )
            assert "webhook-signature" not in prepared.headers
    [line] = [line for line in logged if line["event"] == "webhooks_unsigned"]
    assert "windlass secret set webhook --generate derived" in line["reason"]
