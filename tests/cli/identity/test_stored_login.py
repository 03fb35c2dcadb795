"""Where a login is kept, who finds it, and which token is taken before which."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import JOB_ID, job
from windlass.cli.exits import Stopped
from windlass.cli.http.stored_login import address_of, find_login, forget_login, keep_login

URL = "http://127.0.0.1:5999"


def shown_token(peer: Peer) -> str | None:
    return peer.calls[-1].headers.get("authorization")


def test_it_is_a_private_file_for_each_server(config: Path) -> None:
    path = keep_login(URL, "ann", "wls_a", "2030-01-31T12:00:00Z")
    keep_login("https://windlass.example/jobs/", "ann", "wls_b", None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.parent == config / "windlass/logins"
    found = find_login("HTTP://127.0.0.1:5999/")
    assert found is not None
    assert (found.user, found.token, found.expires_at) == ("ann", "wls_a", "2030-01-31T12:00:00Z")
    assert "wls_a" not in repr(found)
    other = find_login("https://WINDLASS.example:443/jobs")
    assert other is not None
    assert other.token == "wls_b"
    forget_login(URL)
    forget_login(URL)
    assert find_login(URL) is None
    assert [one.name for one in path.parent.iterdir()] != []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:5998",
        "https://127.0.0.1:5999",
        "http://localhost:5999",
        "http://[::1]:5999",
        "http://127.0.0.1:5999/other",
        "http://ann:word@127.0.0.1:5999",
        "http://[::1",
        "127.0.0.1:5999",
        "ftp://127.0.0.1:5999",
        "",
    ],
)
def test_another_address_gets_no_token(config: Path, url: str) -> None:
    keep_login(URL, "ann", "wls_a", None)
    assert find_login(url) is None


def test_a_file_for_another_address_under_this_name_is_not_believed(config: Path) -> None:
    path = keep_login(URL, "ann", "wls_a", None)
    path.write_text(json.dumps({**json.loads(path.read_text()), "url": "http://evil.example"}))
    assert find_login(URL) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_what_others_may_touch_is_not_used_and_that_is_said(
    config: Path, capsys: pytest.CaptureFixture[str], mode: int
) -> None:
    path = keep_login(URL, "ann", "wls_a", None)
    path.chmod(mode)
    assert find_login(URL) is None
    assert f"chmod 600 {path}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1}', "wls_a", "\xff"])
def test_what_is_no_login_is_not_used_and_that_is_said(
    config: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = keep_login(URL, "ann", "wls_a", None)
    path.write_text(text)
    assert find_login(URL) is None
    said = capsys.readouterr().err
    assert f"{path} was not used" in said
    assert "wls_a" not in said


def test_a_link_is_not_followed(config: Path) -> None:
    path = keep_login(URL, "ann", "wls_a", None)
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))
    assert find_login(URL) is None


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_without_a_home_there_is_nothing_to_find_and_no_place_to_keep(
    config: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert find_login(URL) is None
    forget_login(URL)
    with pytest.raises(Stopped, match="HOME or XDG_CONFIG_HOME"):
        keep_login(URL, "ann", "wls_a", None)


def test_a_place_that_takes_no_files_is_named(config: Path) -> None:
    config.write_text("a file where a folder should be")
    with pytest.raises(Stopped, match="cannot be kept in"):
        keep_login(URL, "ann", "wls_a", None)
    assert find_login(URL) is None


@pytest.mark.parametrize(
    ("url", "one"),
    [
        ("http://A.example:80/", "http://a.example"),
        ("https://a.example:443", "https://a.example"),
        ("https://a.example:8443/x/", "https://a.example:8443/x"),
        ("http://[::1]:5777", "http://[::1]:5777"),
        ("http://a.example:99999", None),
    ],
)
def test_one_server_has_one_spelling(url: str, one: str | None) -> None:
    assert address_of(url) == one


def test_what_is_given_is_taken_before_what_is_kept(
    person: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.answer(Says(json=job()))
    person("job", "get", JOB_ID)
    assert shown_token(peer) is None
    keep_login(peer.url, "ann", "wls_kept", None)
    person("job", "get", JOB_ID)
    assert shown_token(peer) == "Bearer wls_kept"
    monkeypatch.setenv("WINDLASS_TOKEN", "wlk_set")
    person("job", "get", JOB_ID)
    assert shown_token(peer) == "Bearer wlk_set"
    person("job", "get", JOB_ID, "--token", "wlk_typed")
    assert shown_token(peer) == "Bearer wlk_typed"
    person("job", "get", JOB_ID, "--token", "")
    assert shown_token(peer) is None


@pytest.mark.parametrize("words", [["job", "get", JOB_ID], ["event", "tail"]])
def test_a_login_that_has_ended_is_told_in_one_sentence(
    person: Windlass, peer: Peer, words: list[str]
) -> None:
    keep_login(peer.url, "ann", "wls_kept", None)
    peer.answer(problem(401, code="unauthorized", detail="not known here"))
    ended = person(*words)
    assert (ended.code, ended.out) == (4, "")
    assert ended.err == (
        f"error: your login as ann at {peer.url} has ended; log in again: windlass login --url "
        f"{peer.url} (or forget it: windlass logout --url {peer.url})\n"
    )
