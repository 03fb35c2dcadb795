"""From the first start to a colleague who left: `windlass up`, and the command line beside it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ended, Windlass
from tests.cli.server import Server, clean_environment, running_server
from tests.cli.show.test_terminal import read_terminal, terminal
from windlass.cli.exits import Exit
from windlass.cli.http.stored_login import find_login, keep_login

WORDS = "a mill by the river"


@dataclass(slots=True, kw_only=True)
class Admin:
    """The one who started it, and his password as it is now."""

    server: Server
    password: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("windlass")) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: Server) -> Admin:
    """With a password of his own."""
    environ = clean_environment(WINDLASS_URL=server.url, WINDLASS_TOKEN=server.token)
    words = ["user", "add", "root", "--role", "admin", "--password-from", "-"]
    command = [sys.executable, "-m", "windlass", *words]
    subprocess.run(command, env=environ, input=WORDS.encode(), check=True, capture_output=True)
    return Admin(server=server, password=WORDS)


@pytest.fixture
def real(person: Windlass, server: Server, monkeypatch: pytest.MonkeyPatch) -> Windlass:
    """The command line of somebody without a key, at the real server."""
    monkeypatch.setenv("WINDLASS_URL", server.url)
    return person


@pytest.fixture
def as_admin(real: Windlass, admin: Admin, tmp_path: Path) -> Windlass:
    assert log_in(real, tmp_path, "root", admin.password).code == 0
    return real


def log_in(real: Windlass, folder: Path, user: str, old: str, new: str | None = None) -> Ended:
    (folder / "old").write_text(old + "\n")
    (folder / "new").write_text((new or "") + "\n")
    more = ["--new-password-from", str(folder / "new")] if new is not None else []
    return real("login", "--user", user, "--password-from", str(folder / "old"), *more)


def shown_by(real: Windlass, *words: str) -> dict[str, Any]:
    ended = real(*words, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_from_the_first_login_to_a_colleague_who_left(
    real: Windlass, server: Server, config: Path, tmp_path: Path
) -> None:
    assert real("whoami").code == Exit.NOT_ALLOWED
    ended = log_in(real, tmp_path, "Admin", server.password, "short")
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert "12 to 256 characters" in ended.err
    assert "choose it with: windlass password" in ended.err
    # It lets in once: the session is kept, and good for the choice alone.
    refused = real("job", "ls")
    assert (refused.code, "`windlass password`" in refused.err) == (Exit.NOT_ALLOWED, True)
    assert shown_by(real, "whoami")["must_change_password"] is True
    (tmp_path / "new").write_text(WORDS)
    words = ["--old-from", str(tmp_path / "old"), "--new-password-from", str(tmp_path / "new")]
    assert real("password", *words).code == 0
    ended = log_in(real, tmp_path, "admin", WORDS)
    assert (ended.code, ended.out) == (0, "")
    assert "logged in as admin (admin), until in 7 d" in ended.err
    [file] = (config / "windlass/logins").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert server.password not in file.read_text()
    assert (me := shown_by(real, "whoami"))["name"] == "admin"
    assert me["token"] is None
    assert len(shown_by(real, "session", "ls")["data"]) == 1

    added = real("user", "add", "Ann", "--role", "viewer")
    assert (added.code, added.out.count("-")) == (0, 3)
    assert real("user", "add", "ann", "--role", "viewer").code == Exit.CONFLICT
    token = real("key", "add", "ci", "--scope", "jobs:submit", "--queue", "ci").out.strip()
    assert real("job", "submit", "noop", "--queue", "ci", "--token", token).code == 0
    assert real("job", "submit", "noop", "--queue", "x", "--token", token).code == Exit.NOT_ALLOWED
    assert real("user", "ls", "--token", token).code == Exit.NOT_ALLOWED
    assert real("key", "revoke", "ci").out == "ci revoked\n"
    assert real("whoami", "--token", token).code == Exit.NOT_ALLOWED

    assert log_in(real, tmp_path, "ann", added.out.strip(), WORDS).code == 0
    assert shown_by(real, "whoami")["role"] == "viewer"
    refused = real("job", "submit", "noop")
    assert refused.code == Exit.NOT_ALLOWED
    assert "the right jobs:submit, which the roles operator, editor and admin have" in refused.err
    assert real("user", "set", "ann", "--role", "operator", "--token", server.token).code == 0
    gone = real("job", "submit", "noop")
    assert (gone.code, gone.out) == (Exit.NOT_ALLOWED, "")
    assert gone.err.startswith(f"error: your login as ann at {server.url} has ended; log in again")
    assert log_in(real, tmp_path, "ann", WORDS).code == 0
    assert real("job", "submit", "noop").code == 0
    assert real("user", "disable", "ann", "--token", server.token).code == 0
    assert "has ended" in real("job", "ls").err
    assert log_in(real, tmp_path, "ann", WORDS).code == Exit.NOT_ALLOWED
    assert real("user", "rm", "ann", "--token", server.token).code == 0
    assert real("logout").err == "ann is logged out\n"
    assert real("logout").err == f"you were not logged in at {server.url}\n"


def test_logging_in_again_ends_the_session_of_before_and_logging_out_this_one(
    as_admin: Windlass, admin: Admin, tmp_path: Path
) -> None:
    first = find_login(admin.server.url)
    assert first is not None
    assert log_in(as_admin, tmp_path, "root", admin.password).code == 0
    assert as_admin("whoami", "--token", first.token).code == Exit.NOT_ALLOWED
    second = find_login(admin.server.url)
    assert second is not None
    assert as_admin("logout").code == 0
    assert as_admin("whoami", "--token", second.token).code == Exit.NOT_ALLOWED
    assert find_login(admin.server.url) is None


def test_a_wrong_password_says_nothing_of_keys_and_keeps_the_login_that_is_there(
    as_admin: Windlass, admin: Admin, tmp_path: Path
) -> None:
    for user in ("root", "nobody-of-this-name"):
        ended = log_in(as_admin, tmp_path, user, "another mill by the river")
        assert (ended.code, ended.out) == (Exit.NOT_ALLOWED, "")
        assert ended.err.startswith("error: the name or the password is not right")
        assert "--token" not in ended.err
    assert as_admin("whoami").code == 0


def test_one_chooses_another_password_and_goes_on(
    as_admin: Windlass, admin: Admin, tmp_path: Path
) -> None:
    (tmp_path / "old").write_text(admin.password)
    (tmp_path / "new").write_text(admin.password + " again")
    words = ["--old-from", str(tmp_path / "old"), "--new-password-from", str(tmp_path / "new")]
    assert as_admin("password", *words).code == 0
    assert as_admin("whoami").code == 0, "the stored session is the new one"
    wrong = as_admin("password", *words)
    assert (wrong.code, wrong.out) == (Exit.NOT_ALLOWED, "")
    assert "the old password is not right" in wrong.err
    admin.password += " again"
    key = as_admin("password", *words, "--token", admin.server.token)
    assert key.code == Exit.CONFLICT
    assert "windlass login" in key.err
    stored = find_login(admin.server.url)
    assert stored is not None
    (tmp_path / "old").write_text(admin.password)
    (tmp_path / "new").write_text(WORDS)
    ended = as_admin("password", *words, "--token", stored.token)
    assert (ended.code, ended.out.startswith("wls_")) == (0, True), "nobody keeps it but its owner"
    admin.password = WORDS


def test_a_login_that_the_server_cannot_be_told_of_is_forgotten_all_the_same(
    person: Windlass, config: Path
) -> None:
    nowhere = "http://127.0.0.1:1"
    keep_login(nowhere, "ann", "wls_x", None)
    assert person("logout", "--url", nowhere).code == Exit.UNREACHABLE
    assert find_login(nowhere) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--user NAME"),
        (["--user", "ann"], "--password-from"),
        (["--user", "ann", "--password-from", "-", "--new-password-from", "-"], "only one"),
        (["--user", "ann", "--password-from", "/nowhere/at/all"], "cannot read"),
        (["--user", "ann", "--password", "hunter2"], "--password"),
        (["ann"], "ann"),
    ],
)
def test_whoever_cannot_be_asked_is_told_what_to_give(
    real: Windlass, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        ended = real("login", *words)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert said in ended.err


@pytest.mark.parametrize("url", ["http://ann:word@127.0.0.1:1", "127.0.0.1:1", "http://[::1"])
def test_where_a_login_cannot_be_kept_nothing_is_asked(
    person: Windlass, tmp_path: Path, url: str
) -> None:
    (tmp_path / "old").write_text(WORDS)
    words = ["--user", "ann", "--password-from", str(tmp_path / "old"), "--url", url]
    ended = person("login", *words)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert "word@" not in ended.err


def test_whoever_has_no_terminal_chooses_a_password_later(
    as_admin: Windlass, admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_time = as_admin("user", "add", "later", "--role", "viewer").out.strip()
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        ended = log_in(as_admin, tmp_path, "later", one_time)
    assert (ended.code, ended.out) == (Exit.NOT_ALLOWED, "")
    assert "choose it with: windlass password" in ended.err
    assert shown_by(as_admin, "whoami")["name"] == "later"


def test_at_a_terminal_one_is_asked_and_nothing_that_is_typed_is_shown(
    as_admin: Windlass, admin: Admin, config: Path
) -> None:
    one_time = as_admin("user", "add", "typist", "--role", "viewer").out.strip()
    # What is asked for, and what somebody types then: too short, not the same twice, and so on.
    dialogue = [
        ("user: ", "typist"),
        ("password: ", one_time),
        ("new password: ", "short"),
        ("the same again: ", "short"),
        ("new password: ", "quite long enough"),
        ("the same again: ", "quite long enoguh"),
        ("new password: ", "quite long enough"),
        ("the same again: ", "quite long enough"),
    ]
    shown, code = typed(config, admin.server.url, ["login"], dialogue)
    assert code == 0, shown
    for text in (one_time, "short\r", "quite long"):
        assert text not in shown
    assert "12 to 256 characters" in shown
    assert "two different passwords" in shown
    assert "logged in as typist (viewer)" in shown
    assert shown_by(as_admin, "whoami")["name"] == "typist"


def typed(
    config: Path, url: str, words: list[str], dialogue: list[tuple[str, str]]
) -> tuple[str, int]:
    """What a terminal shows when each question is answered; and the exit code."""
    left, looked = list(dialogue), 0
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [sys.executable, "-m", "windlass", *words],
            env=clean_environment(WINDLASS_URL=url, XDG_CONFIG_HOME=str(config)),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,  # or it would ask at the terminal of whoever runs the tests
        )
        os.close(theirs)

        def answer(seen: str) -> None:
            nonlocal looked
            if left and left[0][0] in seen[looked:]:
                looked = len(seen)
                os.write(ours, left.pop(0)[1].encode() + b"\n")

        shown = read_terminal(ours, answer)
        return shown, process.wait(30)


# -- who lost the password, and folders of before --------------------------------------------------


def test_a_lost_password_is_replaced_beside_the_api(
    as_admin: Windlass, admin: Admin, tmp_path: Path
) -> None:
    data = str(admin.server.data)
    ended = as_admin("user", "reset-password", "ROOT", "--data", data)
    assert (ended.code, ended.out.count("-")) == (0, 3)
    assert "did not answer" not in ended.err
    gone = as_admin("whoami")
    assert (gone.code, "has ended" in gone.err) == (Exit.NOT_ALLOWED, True), "at once"
    assert log_in(as_admin, tmp_path, "root", ended.out.strip(), WORDS).code == 0
    admin.password = WORDS
    nobody = as_admin("user", "reset-password", "nobody", "--data", data)
    assert (nobody.code, nobody.out) == (Exit.NOT_FOUND, "")
    assert "there is no user 'nobody'" in nobody.err
    missing = as_admin("user", "reset-password", "root", "--data", str(tmp_path / "elsewhere"))
    assert (missing.code, missing.out) == (Exit.USAGE, "")
    assert not (tmp_path / "elsewhere").exists()


def test_a_second_start_shows_nothing_and_a_folder_without_users_gets_one(tmp_path: Path) -> None:
    with running_server(tmp_path):
        pass
    with running_server(tmp_path, is_first=False) as again:
        assert (again.token, again.password) == ("", "")
        forget_users(again)
    with running_server(tmp_path, is_first=False) as older:
        assert older.token == "", "the key of before is still the key"
        assert older.password
        assert "the keys of before stay good" in older.said
    with running_server(tmp_path, is_first=False) as last:
        assert last.password == ""


def forget_users(server: Server) -> None:
    """As a folder of the release before is: a key, and nobody."""
    from windlass.embedded.binaries import postgres_bin_dir

    password = (server.data / "passwords/postgresql").read_text().strip()
    url = f"postgresql://windlass:{password}@/windlass?host={server.data / 'postgresql'}"
    psql = str(postgres_bin_dir() / "psql")
    subprocess.run([psql, "-Xqc", "DELETE FROM windlass.user_account", url], check=True)
