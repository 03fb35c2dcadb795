"""`windlass user`, `key`, `session`, `whoami`: what they ask for, and what they show."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says, problem
from tests.cli.things import numbered, page
from windlass.cli.exits import Exit

AT = "2026-01-31T12:00:00Z"
USER: dict[str, Any] = {
    "id": numbered(7, "user_"),
    "name": "ann",
    "role": "operator",
    "has_password": True,
    "must_change_password": False,
    "issuer": None,
    "sessions": 2,
    "created_at": AT,
    "changed_at": AT,
    "last_login_at": None,
    "disabled_at": None,
}
KEY: dict[str, Any] = {
    "id": numbered(8, "key_"),
    "name": "ci",
    "role": None,
    "scopes": ["jobs:submit", "jobs:read"],
    "queues": ["ci"],
    "workflows": None,
    "user_id": None,
    "user_name": None,
    "created_at": AT,
    "expires_at": None,
    "is_expired": False,
    "rotated_at": None,
    "overlap_until": None,
    "last_used_at": None,
}
SESSION: dict[str, Any] = {
    "id": numbered(9, "ses_"),
    "user_id": USER["id"],
    "user_name": "ann",
    "created_at": AT,
    "seen_at": AT,
    "expires_at": AT,
    "address": "10.0.0.7",
    "device": "Firefox\x1b[2J",
    "is_this": True,
}
MISSING_RIGHT = problem(
    403,
    code="forbidden",
    detail="this needs the right users:edit, which the role admin has; user 'ann' has the role x",
    needs="users:edit",
    roles=["admin"],
)


class Piped(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw))


def asked(peer: Peer) -> tuple[str, str, Any]:
    call = peer.calls[-1]
    return call.method, call.path, call.json if call.body else None


# -- users -----------------------------------------------------------------------------------------


def test_users_are_listed_with_what_they_are(windlass: Windlass, peer: Peer) -> None:
    others = [{**USER, "name": "bob", "disabled_at": AT}, {**USER, "must_change_password": True}]
    peer.answer(Says(json=page([USER, *others])))
    _, first, second, third = windlass("user", "ls").out.splitlines()
    assert first.split()[:4] == ["ann", "operator", "active", "2"]
    assert second.split()[2] == "disabled"
    assert "one-time password" in third
    assert windlass("user", "ls", "-o", "id").out == f"{USER['id']}\n" * 3
    peer.answer(Says(json=USER))
    assert "ann" in windlass("user", "get", "ann").out
    assert asked(peer) == ("GET", "/v1/users/ann", None)


def test_a_one_time_password_is_alone_on_standard_output(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json={**USER, "one_time_password": "aaaaa-bbbbb"}))
    ended = windlass("user", "add", "ann", "--role", "operator")
    assert (ended.code, ended.out) == (0, "aaaaa-bbbbb\n")
    assert "ann is added as operator" in ended.err
    assert "shown only now" in ended.err
    assert asked(peer) == ("POST", "/v1/users", {"name": "ann", "role": "operator"})
    shown = windlass("user", "add", "ann", "--role", "operator", "-o", "json").out
    assert '"one_time_password": "aaaaa-bbbbb"' in shown
    peer.answer(Says(json={**USER, "one_time_password": "ccccc-ddddd"}))
    ended = windlass("user", "reset-password", "ann")
    assert (ended.code, ended.out) == (0, "ccccc-ddddd\n")
    assert asked(peer)[:2] == ("POST", "/v1/users/ann/reset-password")


@pytest.mark.parametrize("place", ["file", "-"])
def test_a_password_comes_from_a_file_and_is_said_nowhere(
    windlass: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    text = "a mill by the rivér\r\nand what stands below it\n".encode()
    (tmp_path / "file").write_bytes(text)
    monkeypatch.setattr(sys, "stdin", Piped(text))
    peer.answer(Says(status=201, json={**USER, "one_time_password": None}))
    source = "-" if place == "-" else str(tmp_path / "file")
    ended = windlass("user", "add", "ann", "--role", "operator", "--password-from", source)
    assert (ended.code, ended.out, ended.err) == (0, "ann is added as operator\n", "")
    assert asked(peer)[2]["password"] == "a mill by the rivér"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "the password is empty"),
        (b"\nafter an empty line", "the password is empty"),
        (b"hunter2\xff", "text in UTF-8"),
        (b"x" * 5000, "at most 256 characters"),
    ],
)
def test_what_is_no_password_goes_nowhere(
    windlass: Windlass, peer: Peer, tmp_path: Path, raw: bytes, said: str
) -> None:
    (tmp_path / "file").write_bytes(raw)
    words = ["--role", "viewer", "--password-from", str(tmp_path / "file")]
    ended = windlass("user", "add", "ann", *words)
    assert (ended.code, ended.out, peer.calls) == (2, "", [])
    assert said in ended.err
    assert "hunter2" not in ended.err


def test_a_user_gets_another_role_and_is_kept_out_and_let_in(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json={**USER, "role": "editor"}))
    assert "editor" in windlass("user", "set", "ann", "--role", "editor").out
    assert asked(peer) == ("PATCH", "/v1/users/ann", {"role": "editor"})
    assert windlass("user", "disable", "ann", "Bob").out == "ann disabled\nann disabled\n"
    assert asked(peer) == ("PATCH", "/v1/users/Bob", {"is_disabled": True})
    assert windlass("user", "enable", "ann").out == "ann enabled\n"
    assert asked(peer)[2] == {"is_disabled": False}
    peer.answer(Says(status=204, raw=b""))
    assert windlass("user", "rm", "ann").out == "ann deleted\n"
    assert asked(peer) == ("DELETE", "/v1/users/ann", None)


@pytest.mark.parametrize(
    ("says", "code"),
    [
        (MISSING_RIGHT, Exit.NOT_ALLOWED),
        (problem(409, code="last_admin", detail="'ann' is the last admin"), Exit.CONFLICT),
        (problem(409, code="name_taken", detail="there is a user 'ann'"), Exit.CONFLICT),
        (problem(404, code="not_found", detail="there is no user 'ann'"), Exit.NOT_FOUND),
        (problem(429, code="too_many_tries", detail="too many tries"), Exit.LIMITED),
        (problem(422, code="invalid_input", detail="see errors", errors=[]), Exit.USAGE),
    ],
)
def test_a_refusal_has_its_exit_code(
    windlass: Windlass, peer: Peer, says: Says, code: Exit
) -> None:
    peer.answer(says)
    for words in (["user", "disable", "ann"], ["user", "add", "ann", "--role", "admin"]):
        ended = windlass(*words)
        assert (ended.code, ended.out) == (code, "")
        assert says.json["detail"] in ended.err


def test_what_one_may_not_is_said_with_who_may(windlass: Windlass, peer: Peer) -> None:
    peer.answer(MISSING_RIGHT)
    ended = windlass("user", "ls")
    assert "users:edit, which the role admin has" in ended.err
    assert "windlass whoami" in ended.err
    peer.answer(problem(403, code="password_change_needed", detail="choose your own"))
    assert "`windlass password`" in windlass("job", "ls").err


@pytest.mark.parametrize(
    "words",
    [
        ["user", "add", "ann"],
        ["user", "add", "ann", "--role", "king"],
        ["user", "set", "ann"],
        ["user", "rm"],
        ["user", "disable"],
        ["user", "get", ".."],
        ["user", "reset-password", "ann", "--database-url", "postgresql://x", "--data", "y"],
        ["user", "reset-password", "ann", "--redis-url", "redis://x"],
        ["key", "add", "ci"],
        ["key", "add", "ci", "--role", "viewer", "--scope", "jobs:read"],
        ["key", "add", "ci", "--role", "viewer", "--personal", "--for-machine"],
        ["key", "revoke"],
        ["session", "end"],
        ["session", "end", "job_1"],
        ["session", "ls", "--everybody", "--user", "ann"],
        ["whoami", "ann"],
    ],
)
def test_a_usage_error_reaches_nobody(windlass: Windlass, peer: Peer, words: list[str]) -> None:
    ended = windlass(*words)
    assert (ended.code, ended.out, peer.calls) == (2, "", [])
    assert ended.err.startswith("error: ")


# -- keys ------------------------------------------------------------------------------------------


def test_a_token_is_alone_on_standard_output(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json={**KEY, "token": "wlk_new"}))
    ended = windlass(
        *("key", "add", "ci", "--scope", "jobs:submit", "--scope", "jobs:read"),
        *("--queue", "ci", "--workflow", "w", "--expires-in", "90d", "--for-machine"),
    )
    assert (ended.code, ended.out) == (0, "wlk_new\n")
    assert "for a machine" in ended.err
    assert asked(peer)[2] == {
        "name": "ci",
        "scopes": ["jobs:submit", "jobs:read"],
        "queues": ["ci"],
        "workflows": ["w"],
        "expires_in": "90d",
        "is_personal": False,
    }
    windlass("key", "add", "mine", "--role", "viewer", "--personal")
    assert asked(peer)[2] == {"name": "mine", "role": "viewer", "is_personal": True}
    windlass("key", "add", "either", "--role", "viewer")
    assert asked(peer)[2] == {"name": "either", "role": "viewer"}
    assert windlass("key", "add", "ci", "--role", "viewer", "-o", "id").out == f"{KEY['id']}\n"


def test_a_key_goes_by_its_name_and_by_its_first_digits(windlass: Windlass, peer: Peer) -> None:
    other = {**KEY, "id": "key_" + "ab" * 16, "name": "nightly"}

    def answer(call: Call) -> Says:
        if call.method == "GET" and call.path == "/v1/keys":
            return Says(json=page([KEY, other]))
        return Says(json={**KEY, "token": "wlk_next", "overlap_until": AT})

    peer.answer_by(answer)
    for name in ("nightly", "key_abab", "ABAB", other["id"]):
        ended = windlass("key", "rotate", name, "--overlap", "1h")
        assert (ended.code, ended.out) == (0, "wlk_next\n")
        assert asked(peer) == ("POST", f"/v1/keys/{other['id']}/rotate", {"overlap": "1h"})
    assert "token" not in windlass("key", "get", "ci").out
    ended = windlass("key", "revoke", "nightly", "nobody", "ci")
    assert ended.code == Exit.NOT_FOUND
    assert ended.out == "nightly revoked\nci revoked\n"
    peer.answer(Says(json=page([KEY, {**other, "name": "ci"}])))
    ended = windlass("key", "get", "ci")
    assert (ended.code, ended.out) == (2, "")
    assert KEY["id"] in ended.err
    assert other["id"] in ended.err


def test_keys_are_listed_by_page_and_by_user(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([KEY, {**KEY, "role": "admin", "scopes": None}])))
    _, first, second = windlass("key", "ls", "--user", "ann").out.splitlines()
    assert peer.calls[-1].query["user"] == ["ann"]
    assert "jobs:submit, jobs:read" in first
    assert "admin" in second


# -- sessions --------------------------------------------------------------------------------------


def test_sessions_are_listed_and_what_a_device_calls_itself_moves_no_cursor(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json=page([SESSION, {**SESSION, "is_this": False}])))
    ended = windlass("session", "ls", "--everybody")
    assert peer.calls[-1].query["user"] == ["all"]
    assert ended.out.count("this one") == 1
    assert "\x1b" not in ended.out
    windlass("session", "ls", "--user", "bob")
    assert peer.calls[-1].query["user"] == ["bob"]


def test_sessions_end_one_by_one_or_all(windlass: Windlass, peer: Peer) -> None:
    others = {**SESSION, "id": "ses_" + "cd" * 16}

    def answer(call: Call) -> Says:
        if call.method == "GET":
            return Says(json=page([others] if call.query.get("user") else [SESSION]))
        if call.path == "/v1/sessions":
            return Says(json={"ended": 1 if call.query else 3})
        return Says(status=204, raw=b"")

    peer.answer_by(answer)
    assert windlass("session", "end", SESSION["id"], "cdcd").out.splitlines()[1] == "cdcd ended"
    assert asked(peer)[:2] == ("DELETE", f"/v1/sessions/{others['id']}")
    assert windlass("session", "end", "ffff").code == Exit.NOT_FOUND
    assert windlass("session", "end-all").out == "3 sessions ended\n"
    assert windlass("session", "end-all", "--user", "bob").out == "1 session ended\n"
    assert peer.calls[-1].query == {"user": ["bob"]}


def test_whoever_may_not_know_of_others_hears_that_there_is_no_such_session(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer_by(lambda call: MISSING_RIGHT if call.query.get("user") else Says(json=page([])))
    assert windlass("session", "end", "cdcd").code == Exit.NOT_FOUND


# -- who am I --------------------------------------------------------------------------------------


def test_whoami_says_what_one_may_and_who_has_the_rest(windlass: Windlass, peer: Peer) -> None:
    caller: dict[str, Any] = {
        "kind": "key",
        "id": KEY["id"],
        "name": "ci",
        "role": None,
        "rights": ["jobs:read", "jobs:submit"],
        "lacks": [
            {"right": "queues:read", "roles": ["viewer", "operator", "editor", "admin"]},
            {"right": "keys:edit", "roles": ["admin"]},
            {"right": "users:edit", "roles": ["admin"]},
        ],
        "queues": ["ci"],
        "workflows": None,
        "user_id": None,
        "session_id": None,
        "expires_at": None,
        "must_change_password": False,
        "csrf_token": None,
        "auth": "on",
        "token": None,
    }
    peer.answer(Says(json=caller))
    shown = windlass("whoami").out
    assert "may: jobs:read, jobs:submit\n" in shown
    assert "may not: keys:edit, users:edit (that takes admin)\n" in shown
    assert "(that takes viewer, operator, editor or admin)\n" in shown
    assert "queues ci" in shown
    assert windlass("whoami", "-o", "id").out == f"{KEY['id']}\n"
    peer.answer(Says(json={**caller, "rights": [], "must_change_password": True, "auth": "off"}))
    shown = windlass("whoami").out
    assert "may: nothing" in shown
    assert "windlass password" in shown
    assert "off: everybody" in shown
