"""What was before and after shows no secret, and is bounded."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.engine.audit.read import AuditFilter, list_entries
from windlass.engine.audit.record import Entry, record_alone
from windlass.engine.audit.redact import REDACTED, redacted, short
from windlass.engine.identity.keys import KEY_PREFIX, SESSION_PREFIX, make_token
from windlass.limits import (
    AUDIT_BYTES_MAX,
    AUDIT_DEPTH_MAX,
    AUDIT_MEMBERS_MAX,
    AUDIT_NAME_CHARS_MAX,
    AUDIT_TEXT_CHARS_MAX,
)
from windlass.store.database import Database

CANARY = "zZcanary0123456789zZ"


def shown(value: dict[str, Any]) -> Any:
    text = redacted(value)
    assert text is not None
    return json.loads(text)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "password",
            "Password",
            "new_password",
            "passwd",
            "passphrase",
            "secret",
            "client_secret",
        ),
        *("token", "access_token", "api_key", "apiKey", "api-key", "x-api-key", "private_key"),
        *("authorization", "Authorization", "Proxy-Authorization", "cookie", "Set-Cookie"),
        *("credential", "credentials", "signature", "auth", "bearer", "signing_key", "secret_key"),
        *("pwd", "DB_PWD", "pass", "db_pass", "smtp-pass", "jwt", "id_jwt", "otp", "pin"),
    ],
)
def test_a_member_whose_name_sounds_like_a_secret_is_hidden(name: str) -> None:
    for nested in ({name: CANARY}, {"a": [{"b": {name: [CANARY, {"x": CANARY}]}}]}):
        text = redacted(nested)
        assert text is not None
        assert CANARY not in text
        assert REDACTED in text


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Whatever": CANARY},
        {"Authorization": f"Bearer {CANARY}"},
        {"X-Custom": [CANARY]},
        {"x": {"y": CANARY}},
    ],
)
def test_of_headers_only_the_harmless_are_shown(headers: dict[str, Any]) -> None:
    value = shown({"job": {"input": {"headers": {**headers, "Content-Type": "text/plain"}}}})
    assert CANARY not in json.dumps(value)
    assert value["job"]["input"]["headers"]["Content-Type"] == "text/plain"


@pytest.mark.parametrize(
    "text",
    [
        f"Bearer {CANARY}",
        f"Authorization: Basic {CANARY}",
        f"postgresql://windlass:{CANARY}@db.example/windlass",
        f"https://{CANARY}@hooks.example/in",
        f"https://hooks.example/in?token={CANARY}&x=1",
        f"https://hooks.example/in?x=1&api_key={CANARY}",
        f"https://hooks.example/in?sig={CANARY}",
        f"whsec_{CANARY}",
        f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----",
        "x" * (AUDIT_TEXT_CHARS_MAX - 30) + f" whsec_{CANARY} and more",
    ],
)
def test_a_secret_in_the_middle_of_a_text_is_hidden(text: str) -> None:
    value = json.dumps(shown({"note": text, "list": [text]}))
    assert CANARY not in value
    assert CANARY[:12] not in value


@pytest.mark.parametrize("prefix", [KEY_PREFIX, SESSION_PREFIX])
def test_a_token_of_ours_is_hidden_wherever_it_stands(prefix: str) -> None:
    token, _ = make_token(prefix)
    text = redacted({"a": f"use {token} for this", "b": [token], "c": {"d": token}})
    assert text is not None
    assert token[8:] not in text


@pytest.mark.parametrize(
    "value",
    [
        {"headers": [["X-Shop", CANARY], [CANARY, "x"]]},
        {"headers": CANARY},
        {"job": {"headers": [f"X-Shop: {CANARY}"]}},
        {"env": [{"name": "DB_PASSWORD", "value": CANARY}]},
        {"env": [{"key": "api_token", "value": {"a": [CANARY]}, "x": 1}]},
    ],
)
def test_a_secret_is_hidden_beside_its_name_as_below_it(value: dict[str, Any]) -> None:
    assert CANARY not in (redacted(value) or "")


def test_what_is_no_secret_stays_as_it_is() -> None:
    value = {
        "rate": 2.5,
        "max_running": None,
        "is_paused": False,
        "name": "Ann <ann@example.com> said: 3 > 2",
        "url": "https://hooks.example:8443/in?page=2",
        "key": "invoice-7",
        "compass": {"passed": 3, "pinned": True, "hotpath": "no"},
        "pairs": [{"name": "colour", "value": "red"}],
        "scopes": ["jobs:submit"],
        "must_change_password": True,
        "at": datetime(2026, 1, 31, tzinfo=UTC),
    }
    assert shown(value) == {**value, "at": "2026-01-31T00:00:00+00:00"}
    assert redacted(None) is None


def deep(levels: int) -> Any:
    return "end" if levels == 0 else {"a": deep(levels - 1)}


@pytest.mark.parametrize(
    "value",
    [
        {"a": "x" * 10_000_000},
        {"a": ["y" * 1_000] * 10_000},
        {f"{number}": "z" * 1_000 for number in range(10_000)},
        {"k" * 1_000_000: 1},
        deep(900),
        {"a": 10**5_000, "b": 1e300, "c": -(2**70), "d": float("nan"), "e": float("inf")},
        *({f"a{n}": [number] * 50 for n in range(19)} for number in (5e-324, -1e-9, 9e18, 0.1, 1)),
        {"a": ["é" * 1_000] * 50},
        {"a": [[[[[["x" * 400] * 50] * 50] * 50] * 50] * 50]},
        # What a pattern that is not careful goes through again and again.
        *(
            {f"{number}": text * 2_000 for number in range(50)}
            for text in ("://?", "://?key", "://?a=", "-----BEGIN ", "A bearer ", "wlk_", "://@")
        ),
        {"://?" + "key" * 100_000: 1},
    ],
)
async def test_whatever_it_is_there_is_room_for_it(
    database: Database, value: dict[str, Any]
) -> None:
    text = redacted(value)
    assert text is not None
    assert len(text.encode()) <= AUDIT_BYTES_MAX
    # PostgreSQL writes JSONB out longer than it came, and says so if that is too much.
    await record_alone(database, Entry(action="queue.put", before=value, after=value))


def test_what_is_cut_off_is_marked() -> None:
    many = shown({f"{number}": 1 for number in range(AUDIT_MEMBERS_MAX + 5)})
    assert many["…"] == "and 5 more"
    assert shown({"a": list(range(AUDIT_MEMBERS_MAX + 5))})["a"][-1] == "… and 5 more"
    assert shown({"a": "x" * (AUDIT_TEXT_CHARS_MAX + 1)})["a"].endswith("x…")
    inner = shown(deep(AUDIT_DEPTH_MAX + 1))
    for _ in range(AUDIT_DEPTH_MAX - 1):
        inner = inner["a"]
    assert inner == {"a": "…"}
    large = shown({f"{number}": "x" * 490 for number in range(40)})
    assert large["0"] == "…"
    assert "left out" in large["…"]


@pytest.mark.parametrize(
    "hostile",
    ["a\x00b", "\ud800", "\u202etxt.exe", "\x1b[2J", "'); DROP TABLE windlass.audit_entry; --"],
)
async def test_hostile_text_is_kept_as_text_or_made_harmless(
    database: Database, hostile: str
) -> None:
    await record_alone(
        database,
        Entry(
            action="queue.put",
            id=hostile,
            name=hostile,
            note=hostile,
            before={hostile: hostile},
            after={"a": [hostile]},
        ),
    )
    [entry] = await list_entries(database, AuditFilter(), 10)
    assert entry["object_name"] == hostile.replace("\x00", "\ufffd").replace("\ud800", "?")


async def test_names_and_remarks_show_no_token_either(database: Database) -> None:
    token, _ = make_token(KEY_PREFIX)
    entry = Entry(action="target.disable", name=f"a {token}", note=f"use {token} instead")
    await record_alone(database, entry)
    [row] = await list_entries(database, AuditFilter(), 10)
    assert (row["object_name"], row["note"]) == (f"a {REDACTED}", f"use {REDACTED} instead")


def test_a_name_that_is_too_long_is_cut_off() -> None:
    assert short("x" * 10_000, AUDIT_NAME_CHARS_MAX) == "x" * (AUDIT_NAME_CHARS_MAX - 1) + "…"
    assert short("x" * AUDIT_NAME_CHARS_MAX, AUDIT_NAME_CHARS_MAX) == "x" * AUDIT_NAME_CHARS_MAX
    assert short(None, 3) is None
