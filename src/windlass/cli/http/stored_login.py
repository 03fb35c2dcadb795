"""The login of `windlass login`, kept for the commands that follow: one file for each server.

    <config>/windlass/logins/<digest of the address>.json    url, user, token, expires_at

`<config>` is XDG_CONFIG_HOME, or ~/.config. A token is looked for in this order: `--token`,
WINDLASS_TOKEN, the login kept for this address, the admin key of a `windlass up` on this machine
(sdk.http.local_key). Programs take the first two and the last: a login is for a person.

Promises: the file is this user's alone, written whole or not at all; what others may read or
another user put there is not used, and that is said. A token goes to the address that it is from.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from windlass.cli.exits import BadUsage, Stopped
from windlass.cli.show.output import say
from windlass.sdk.http.local_key import read_private


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLogin:
    url: str
    user: str
    token: str = field(repr=False)
    expires_at: str | None  # at the latest; None: nobody said

    def ended(self) -> str:
        """For whoever is refused: what to do."""
        return (
            f"your login as {self.user} at {self.url} has ended; log in again: windlass login "
            f"--url {self.url} (or forget it: windlass logout --url {self.url})"
        )


def find_login(url: str) -> StoredLogin | None:
    """The one that is kept for this address. None: there is none that may be used."""
    path = _path(url)
    if path is None:
        return None
    try:
        found = json.loads(read_private(path))
        login = StoredLogin(
            url=found["url"],
            user=str(found["user"]),
            token=str(found["token"]),
            expires_at=found.get("expires_at"),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as trouble:
        said = trouble.strerror if isinstance(trouble, OSError) else str(trouble)
        say(f"{path} was not used: {said}")
        return None
    return login if login.url == address_of(url) else None


def place_for(url: str) -> Path:
    """Where a login for this address is kept. Raises Stopped: nowhere."""
    path = _path(url)
    if path is None:
        raise BadUsage(
            "there is no place to keep a login for this --url: give an address such as "
            "http://127.0.0.1:5777, without a user, and set HOME or XDG_CONFIG_HOME"
        )
    return path


def keep_login(url: str, user: str, token: str, expires_at: str | None) -> Path:
    """Instead of any other for this address. Raises Stopped."""
    from windlass.compose.private_file import write_private

    path = place_for(url)
    kept = {"url": address_of(url), "user": user, "token": token, "expires_at": expires_at}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, json.dumps(kept))
    except OSError as trouble:
        raise Stopped(f"the login cannot be kept in {path}: {trouble.strerror}") from None
    return path


def forget_login(url: str) -> None:
    """Raises Stopped: it is still there."""
    path = _path(url)
    if path is not None:
        try:
            path.unlink(missing_ok=True)
        except OSError as trouble:
            raise Stopped(f"{path} cannot be removed: {trouble.strerror}") from None


def address_of(url: str) -> str | None:
    """One spelling for what leads to the same server. None: it is no address, or names a user."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    if usual is None or not host or "@" in parts.netloc:
        return None
    shown = f"[{host}]" if ":" in host else host
    if port not in (None, usual):
        shown += f":{port}"
    return f"{parts.scheme}://{shown}{parts.path.rstrip('/')}"


def _path(url: str) -> Path | None:
    address = address_of(url)
    if address is None:
        return None
    for name, rest in (("XDG_CONFIG_HOME", ""), ("HOME", ".config")):
        folder = os.environ.get(name, "")
        if folder.startswith("/"):
            digest = sha256(address.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            return Path(folder, rest, "windlass", "logins", f"{digest}.json")
    return None
