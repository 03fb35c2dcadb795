"""The passwords of the embedded servers: random, made at the first start, in `<data>/passwords`.

Only who owns the data folder reads them, and root. They are not the servers' to read: PostgreSQL
gets a verifier, and what a server may write to could be given to root under another name.
A file is whole or not there, and on disk before any server hears of it.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from windlass.embedded.account import Account, make_folder, owner_of
from windlass.embedded.errors import DataNotUsable
from windlass.embedded.limits import PASSWORD_BYTES

FOLDER: Final = "passwords"


class Password:
    """One of them, by the name of its file."""

    def __init__(self, data: Path, name: str) -> None:
        self._data = data
        self.path = data / FOLDER / name
        self._known: str | None = None

    def known(self) -> str | None:
        """None: there is none yet."""
        if self._known is None:
            try:
                self._known = self.path.read_text().strip() or None
            except FileNotFoundError:
                return None
            except OSError as error:
                raise DataNotUsable(
                    self.path,
                    f"cannot be read ({error.strerror})",
                    "run as the owner of the data folder, or as root",
                ) from error
        return self._known

    def ensure(self) -> str:
        """The password, made if need be. The caller holds the folder's lock."""
        found = self.known()
        if found is None:
            found = secrets.token_urlsafe(PASSWORD_BYTES)
            self._keep(found)
            self._known = found
        return found

    def in_url(self) -> str:
        """What follows a user's name; letters, digits, - and _ need no escaping."""
        found = self.known()
        return f":{found}" if found is not None else ""

    def _keep(self, password: str) -> None:
        owner = _keeper(self._data)
        make_folder(self.path.parent, owner)
        begun = self.path.with_suffix(".new")
        begun.unlink(missing_ok=True)
        fd = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            if owner is not None:
                os.fchown(file.fileno(), owner.uid, owner.gid)
            file.write(password + "\n")
            file.flush()
            os.fsync(file.fileno())
        begun.replace(self.path)
        for folder in (self.path.parent, self._data):
            sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Names in it are on disk afterwards."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _keeper(data: Path) -> Account | None:
    """Who is to own the files: whoever owns the data folder. None: that is us."""
    owner = owner_of(data)
    return owner if owner is not None and owner.uid != os.geteuid() else None
