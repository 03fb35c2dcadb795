"""`windlass secret …`: what it asks for, where values come from, and the key of `windlass up`."""

from __future__ import annotations

import asyncio
import io
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import page
from windlass.compose.embedded import with_secret_key
from windlass.config import Settings
from windlass.config.secret_key import read_keys
from windlass.engine.secrets.seal import Sealer
from windlass.engine.secrets.secrets import put_secret
from windlass.engine.secrets.value import read_value
from windlass.limits import SECRET_BYTES_MAX
from windlass.store.database import Database

SECRET: dict[str, Any] = {
    "name": "token",
    "kind": "other",
    "public_key": None,
    "version": 1,
    "versions": 2,
    "created_at": "2026-01-31T12:00:00Z",
    "rotated_at": None,
    "overlap_until": None,
    "is_readable": True,
    "hosts": ["shop.example", "bank.example:8443"],
}
OLD, NEW = "0f" * 32, "aa" * 32


class Piped(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw))


def test_secrets_are_listed_and_shown(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([SECRET, {**SECRET, "name": "lost", "is_readable": False}])))
    head, first, second = windlass("secret", "ls").out.splitlines()
    column = head.split().index("READABLE")
    assert [row.split()[column] for row in (first, second)] == ["yes", "no"]
    assert windlass("secret", "ls", "-o", "id").out == "token\nlost\n"
    peer.answer(Says(json={**SECRET, "kind": "ed25519", "public_key": "whpk_AAAA"}))
    assert "whpk_AAAA" in windlass("secret", "get", "token").out
    assert peer.calls[-1].path == "/v1/secrets/token"


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_a_value_is_taken_from_standard_input_without_the_end_of_its_line(
    windlass: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch, ending: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped("pä ss".encode() + ending))
    peer.answer(Says(json=SECRET))
    ended = windlass("secret", "set", "token")
    assert (ended.code, ended.err) == (0, "")
    [call] = peer.calls
    assert (call.method, call.path, call.json) == ("PUT", "/v1/secrets/token", {"value": "pä ss"})
    assert "pä ss" not in ended.out


@pytest.mark.parametrize("words", [("--from", "-"), ("--from", "-", "--host", "a.example")])
def test_standard_input_may_be_named(
    windlass: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(b"s3cret"))
    peer.answer(Says(json=SECRET))
    assert windlass("secret", "set", "token", *words).code == 0
    assert peer.calls[0].json is not None
    assert peer.calls[0].json["value"] == "s3cret"


def test_a_value_is_taken_from_a_file(windlass: Windlass, peer: Peer, tmp_path: Path) -> None:
    pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
    (tmp_path / "client.pem").write_text(pem + "\n")
    peer.answer(Says(json=SECRET))
    words = ["--from", str(tmp_path / "client.pem"), "--overlap", "1h"]
    assert windlass("secret", "set", "token", *words).code == 0
    assert peer.calls[0].json == {"value": pem, "overlap": "1h"}


def test_where_a_secret_may_go_is_said_and_shown(
    windlass: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(b"s3cret"))
    peer.answer(Says(json=SECRET))
    ended = windlass("secret", "set", "token", "--host", "a.example", "--host", "*.b.example")
    assert peer.calls[-1].json == {"value": "s3cret", "hosts": ["a.example", "*.b.example"]}
    assert "shop.example, bank.example:8443" in ended.out
    windlass("secret", "bind", "token", "a.example", "b.example:8080")
    assert peer.calls[-1].json == {"hosts": ["a.example", "b.example:8080"]}
    windlass("secret", "unbind", "token")
    assert (peer.calls[-1].path, peer.calls[-1].json) == ("/v1/secrets/token", {"hosts": None})
    assert windlass("secret", "bind", "token").code == 2
    peer.answer(Says(json=page([SECRET])))
    assert "shop.example, bank.example:8443" in windlass("secret", "ls").out


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "has 0 characters; at least 4"),
        (b"pin\n", "has 3 characters; at least 4"),
        (b"x" * (SECRET_BYTES_MAX + 1), f"at most {SECRET_BYTES_MAX} bytes"),
        (b"hunter2\xff", "text in UTF-8"),
    ],
)
def test_what_is_no_value_goes_nowhere(
    windlass: Windlass, peer: Peer, tmp_path: Path, raw: bytes, said: str
) -> None:
    (tmp_path / "value").write_bytes(raw)
    ended = windlass("secret", "set", "token", "--from", str(tmp_path / "value"))
    assert (ended.code, ended.out, peer.calls) == (2, "", [])
    assert said in ended.err
    assert "hunter2" not in ended.err


def test_from_and_generate_exclude_each_other(windlass: Windlass, peer: Peer) -> None:
    ended = windlass("secret", "set", "token", "--from", "-", "--generate", "hmac")
    assert (ended.code, peer.calls) == (2, [])


def test_a_generated_value_is_shown_and_that_it_is_the_only_time(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json={**SECRET, "kind": "hmac", "value": "whsec_AAAA"}))
    ended = windlass("secret", "set", "token", "--generate", "hmac")
    assert peer.calls[0].json == {"generate": "hmac"}
    assert "whsec_AAAA" in ended.out
    assert ended.err == "the value is shown only now\n"


@pytest.mark.parametrize("kind", ["hmac", "ed25519", "derived"])
def test_a_signing_key_is_rotated_to_another_of_its_kind(
    windlass: Windlass, peer: Peer, kind: str
) -> None:
    peer.answer(Says(json={**SECRET, "kind": kind}))
    assert windlass("secret", "rotate", "token", "--overlap", "60").code == 0
    read, put = peer.calls
    assert (read.method, put.method) == ("GET", "PUT")
    assert put.json == {"generate": kind, "overlap": 60}


def test_another_secret_is_rotated_to_the_value_given(
    windlass: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(b"newer\n"))
    peer.answer(Says(json=SECRET))
    assert windlass("secret", "rotate", "token").code == 0
    assert peer.calls[1].json == {"value": "newer"}
    peer.answer(problem(404, detail="there is no secret 'gone'"))
    assert windlass("secret", "rotate", "gone").code == 3


def test_secrets_are_forgotten_by_name(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=204, raw=b""))
    assert windlass("secret", "rm", "a", "b").out == "a forgotten\nb forgotten\n"
    assert [(call.method, call.path) for call in peer.calls] == [
        ("DELETE", "/v1/secrets/a"),
        ("DELETE", "/v1/secrets/b"),
    ]


async def test_reencryption_tells_how_far_it_is_and_what_it_left(
    database: Database, windlass: Windlass, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in (("a", OLD), ("b", OLD), ("lost", "cc" * 32)):
        await put_secret(database, Sealer(read_keys(key)), name, read_value("hunter2"), 0)
    monkeypatch.setenv("WINDLASS_DATABASE_URL", database.url)
    run = ("secret", "reencrypt")
    assert (await asyncio.to_thread(windlass, *run)).code == 2, "there is no key"
    monkeypatch.setenv("WINDLASS_SECRET_KEY", f"{NEW},{OLD}")
    ended = await asyncio.to_thread(windlass, *run)
    under = f"all under key {Sealer(read_keys(NEW)).key_id}"
    assert (ended.code, ended.out) == (1, f"2 versions are encrypted anew, {under}\n")
    assert ended.err.splitlines()[0] == "2 done"
    assert "error: lost is under a key that is not in WINDLASS_SECRET_KEY" in ended.err
    await database.run("secret_delete", "lost")
    again = await asyncio.to_thread(windlass, *run)
    assert (again.code, again.err) == (0, "")
    assert again.out == f"0 versions are encrypted anew, {under}\n"


def test_the_key_of_a_data_folder_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    (tmp_path / "secret.new").write_text("what a crash left")
    first = with_secret_key(Settings(), tmp_path)
    file = tmp_path / "secret.key"
    assert first.secret_key == f"file:{file}"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [key] = read_keys(first.secret_key)
    assert len(key) == 32
    again = with_secret_key(Settings(), tmp_path)
    assert read_keys(again.secret_key or "") == [key]
    assert [found.name for found in tmp_path.iterdir()] == ["secret.key"]


def test_a_key_of_the_settings_needs_no_file(tmp_path: Path) -> None:
    settings = Settings(secret_key=OLD)
    assert with_secret_key(settings, tmp_path) == settings
    assert list(tmp_path.iterdir()) == []
