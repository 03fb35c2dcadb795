"""The private folder that a server's socket lies in.

It is the server's own home, unless that path is too long for a socket (107 bytes) or has characters
that do not survive in a connection URL. Then it is a short folder in the system's temporary space,
which is removed on stop, or by the next start when we were killed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from windlass.embedded.account import Account, can_enter, make_folder
from windlass.embedded.errors import DataNotUsable
from windlass.embedded.limits import SOCKET_PATH_BYTES_MAX

_PREFIX = "windlass-"


class SocketFolder:
    """Keeps one path for the life of this object, so a restarted server keeps its URL."""

    def __init__(self, home: Path, socket_name: str) -> None:
        self._home = home
        self._socket_name = socket_name
        self._short: Path | None = None
        # Beside the home and not in it: what root removes must not be named by the server.
        self._note = home.with_name(home.name + ".socket")

    @property
    def is_home(self) -> bool:
        return self._fits(self._home)

    def previous(self) -> Path:
        """The folder that an earlier start on this data used."""
        try:
            return Path(self._note.read_text())
        except (FileNotFoundError, UnicodeDecodeError):
            return self._home

    def make(self, account: Account | None) -> Path:
        """The folder, there and owned by the account."""
        if self.is_home:
            return self._home
        self._remove_previous()
        folder = self._short = self._short or self._short_folder(account)
        self._note.write_text(str(folder))
        make_folder(folder, account)
        return folder

    def remove(self) -> None:
        if self._short is not None:
            shutil.rmtree(self._short, ignore_errors=True)
            self._note.unlink(missing_ok=True)

    def _fits(self, folder: Path) -> bool:
        text = str(folder)
        is_short = len(os.fsencode(folder / self._socket_name)) <= SOCKET_PATH_BYTES_MAX
        # A comma separates hosts in a PostgreSQL URL; bytes that are not text have no URL form.
        return is_short and text.isprintable() and "," not in text

    def _short_folder(self, account: Account | None) -> Path:
        for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108
            folder = Path(parent).resolve() / f"{_PREFIX}{os.urandom(8).hex()}"
            if folder.parent.is_dir() and self._fits(folder) and can_enter(account, folder.parent):
                return folder
        raise DataNotUsable(
            self._home,
            f"its path is too long for a socket (over {SOCKET_PATH_BYTES_MAX} bytes)",
            "give --data a shorter path, or set TMPDIR to a short one that others may enter",
        )

    def _remove_previous(self) -> None:
        old = self.previous()
        if old.name.startswith(_PREFIX) and old != self._home and not old.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
