"""The key of a server on this machine: found by its user, and sent to nobody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from windlass.compose.admin_key import recorded
from windlass.compose.private_file import write_private
from windlass.sdk.http.local_key import KEY_FILE, SERVING_FILE, LocalKey

URL = "http://127.0.0.1:5999"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a key; nobody stands in it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("WINDLASS_DATA", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    folder = tmp_path / "data"
    folder.mkdir()
    write_private(folder / KEY_FILE, "wlk_here")
    return folder


def test_it_is_found_from_any_folder_while_the_server_runs(data: Path) -> None:
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        assert LocalKey(URL).find() == "wlk_here"
    assert LocalKey(URL).find() is None
    assert not list((data.parent / "state/windlass/servers").iterdir())
    assert not (data / SERVING_FILE).exists()


def test_a_server_that_listens_everywhere_listens_on_loopback(data: Path) -> None:
    with recorded(data, "0.0.0.0", 5999, os.getpid()):
        assert LocalKey(URL).find() == "wlk_here"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:5998",
        "http://127.0.0.2:5999",
        "http://localhost:5999",  # which may be another server's on [::1]
        "http://[::1]:5999",
        "http://127.0.0.1.example:5999",
        "http://127.1:5999",
        "http://10.0.0.1:5999",
        "http://user:word@127.0.0.1:5999",
    ],
)
def test_another_address_gets_no_key(data: Path, url: str) -> None:
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        assert LocalKey(url).find() is None


def test_the_key_is_found_whether_that_address_speaks_tls_or_not(data: Path) -> None:
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        assert LocalKey(URL.replace("http:", "https:")).find() == "wlk_here"


def test_the_record_of_a_process_that_is_gone_is_not_believed_and_goes(data: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    records = data.parent / "state/windlass/servers"
    with recorded(data, "127.0.0.1", 5999, gone.pid):
        assert LocalKey(URL).find() is None
        other = data.parent / "other"
        other.mkdir()
        with recorded(other, "127.0.0.1", 6000, os.getpid()):
            assert [path.name for path in records.iterdir()] == ["127.0.0.1:6000.json"]


def test_a_number_that_another_process_has_by_now_is_not_believed(data: Path) -> None:
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        serving = json.loads((data / SERVING_FILE).read_text())
        write_private(data / SERVING_FILE, json.dumps({**serving, "began": "1"}))
        assert LocalKey(URL).find() is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_that_others_may_touch_is_not_used_and_that_is_said(data: Path, mode: int) -> None:
    (data / KEY_FILE).chmod(mode)
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        key = LocalKey(URL)
        assert key.find() is None
        assert f"chmod 600 {data / KEY_FILE}" in key.hint()
        (data / KEY_FILE).chmod(0o600)
        assert key.find() == "wlk_here"


def test_a_link_to_a_key_is_not_followed(data: Path) -> None:
    (data / KEY_FILE).rename(data / "moved.key")
    (data / KEY_FILE).symlink_to(data / "moved.key")
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        assert LocalKey(URL).find() is None


@pytest.mark.parametrize("home", [None, "", "/proc/no/such", "relative"])
def test_without_a_home_the_folder_one_stands_in_is_enough(
    data: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    if home is not None:
        monkeypatch.setenv("HOME", home)
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        assert LocalKey(URL).find() is None
        monkeypatch.setenv("WINDLASS_DATA", str(data))
        assert LocalKey(URL).find() == "wlk_here"
        monkeypatch.delenv("WINDLASS_DATA")
        data.rename(data.parent / "elsewhere/.windlass")
        assert LocalKey(URL).find() == "wlk_here"


def test_a_refused_key_is_looked_for_again(data: Path) -> None:
    with recorded(data, "127.0.0.1", 5999, os.getpid()):
        key = LocalKey(URL)
        assert key.find() == "wlk_here"
        write_private(data / KEY_FILE, "wlk_new")
        assert key.find() == "wlk_here"
        key.forget()
        assert key.find() == "wlk_new"
