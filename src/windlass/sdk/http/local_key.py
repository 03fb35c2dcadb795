"""The admin key of a `windlass up` on this machine, found by whoever may have it.

    <state>/windlass/servers/127.0.0.1:5777.json   the data folder that is served there
    <data>/serving.json                            where it is served, and by which process
    <data>/admin.key                               the key

`<state>` is XDG_STATE_HOME, or ~/.local/state. Where there is no such folder the data folder is
looked for in WINDLASS_DATA and in the working directory.

Promises: the key is sent to the server that it belongs to and to no other. It goes to a literal
loopback address alone (`localhost` may lead to another server than 127.0.0.1 does), and only while
the process lives that said it listens there: as long as it does nobody else can. All three files
must be regular, belong to this user, and be readable by nobody else.
Never: raises. What was in the way is part of the sentence for whoever is refused (`hint`).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

KEY_FILE: Final = "admin.key"
SERVING_FILE: Final = "serving.json"
DATA_FOLDER: Final = ".windlass"
_FILE_BYTES_MAX: Final = 64 * 1024
_LOOPBACK: Final = re.compile(r"127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}")
_ANY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 (who listens there listens on loopback, too)


class LocalKey:
    """The key for one address, looked for when it is first needed, and again when it is refused."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._key: str | None = None  # None: not found yet
        self._trouble: list[str] = []  # of the last look

    def find(self) -> str | None:
        """None: there is none that may be sent to this address."""
        if self._key is None:
            self._trouble = []
            self._key = self._look()
        return self._key

    def forget(self) -> None:
        """It was refused: there may be another one by now."""
        self._key = None

    def hint(self) -> str:
        """Where a key was looked for, and why none was found there."""
        if self._trouble:
            return "; ".join(self._trouble)
        address = _loopback(self._url)
        if address is None:
            return "a key is found by itself only for a server at 127.0.0.1 or [::1]"
        host, port = address
        return f"no `windlass up` of this user that has a key file listens on {host}:{port}"

    def _look(self) -> str | None:
        if (address := _loopback(self._url)) is None:
            return None
        for folder in dict.fromkeys(_data_folders(*address)):
            if _serves(folder, *address) and (key := self._read(folder / KEY_FILE)):
                return key
        return None

    def _read(self, path: Path) -> str | None:
        try:
            return read_private(path).strip()
        except FileNotFoundError:
            self._trouble.append(f"there is no {path}; `windlass key reset` makes a new key")
        except (OSError, ValueError) as trouble:
            said = trouble.strerror if isinstance(trouble, OSError) else str(trouble)
            self._trouble.append(f"{path} was not used: {said}")
        return None


def state_folder() -> Path | None:
    """Where records of running servers are kept; None: this user has no such place."""
    for name, rest in (("XDG_STATE_HOME", ""), ("HOME", ".local/state")):
        folder = os.environ.get(name, "")
        if folder.startswith("/"):
            return Path(folder, rest, "windlass", "servers")
    return None


def record_name(host: str, port: int) -> str:
    return f"{host}:{port}.json"


def process_began(pid: int) -> str | None:
    """What tells this process from another that gets its number later; None: there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def is_alive(serving: dict[str, Any]) -> bool:
    """Does the process live that this record was made by?"""
    pid, began = serving.get("pid"), serving.get("began")
    return isinstance(pid, int) and began is not None and process_began(pid) == began


def read_private(path: Path) -> str:
    """The text of a file that is this user's alone. Raises OSError, ValueError: whose it is."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is no regular file")
        if facts.st_uid != os.geteuid():
            raise ValueError(f"it belongs to another user (uid {facts.st_uid})")
        if facts.st_mode & 0o077:
            raise ValueError(f"others may read it; say `chmod 600 {path}`")
        return file.read(_FILE_BYTES_MAX).decode("ascii")


def read_record(path: Path) -> dict[str, Any]:
    """An object of JSON in a file that is this user's alone; empty: there is none."""
    try:
        found = json.loads(read_private(path))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _loopback(url: str) -> tuple[str, int] | None:
    """Host and port of `http://127.0.0.1:5777`; None: another host, or a name."""
    address = urlsplit(url)
    host = address.hostname or ""
    is_loopback = host == "::1" or _LOOPBACK.fullmatch(host) is not None
    usual = {"http": 80, "https": 443}.get(address.scheme)
    if usual is None or address.username is not None or not is_loopback:
        return None
    return host, address.port or usual


def _data_folders(host: str, port: int) -> Iterator[Path]:
    """Those that may be served at this address, the recorded ones first."""
    state = state_folder()
    if state is not None:
        for name in (host, *_ANY_ADDRESS):
            folder = read_record(state / record_name(name, port)).get("data")
            if isinstance(folder, str):
                yield Path(folder)
    yield Path(os.environ.get("WINDLASS_DATA") or DATA_FOLDER).absolute()


def _serves(folder: Path, host: str, port: int) -> bool:
    """Does a living process listen there that serves this folder?"""
    said = read_record(folder / SERVING_FILE)
    is_there = said.get("port") == port and said.get("host") in (host, *_ANY_ADDRESS)
    return is_there and is_alive(said)
