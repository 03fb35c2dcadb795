"""`windlass login`, `logout`, `password`: a session for the commands that follow.

Where a login is kept, and in which order tokens are looked for: cli/http/stored_login.py.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.http.client import Client
from windlass.cli.http.problem import Refused
from windlass.cli.http.stored_login import (
    find_login,
    forget_login,
    keep_login,
    place_for,
)
from windlass.cli.options import ADDRESSED, SERVED, Address, Server
from windlass.cli.show.moment import when
from windlass.cli.show.output import say, show_once
from windlass.cli.verbs.identity.typed import (
    PasswordFrom,
    check_apart,
    new_password,
    password,
    source,
)

NewFrom = Annotated[str | None, source("--new-password-from", "the password to choose")]
OldFrom = Annotated[str | None, source("--old-from", "the password of before")]
_SESSION: Final = "/v1/session"
# So often somebody may type a new password that will not do.
_CHOICES_MAX: Final = 5
_ONE_TIME: Final = (
    "this was a one-time password, which opens nothing but the choice of another: choose your own"
)
_LATER: Final = "you are logged in; choose it with: windlass password"

login = App(name="login", help="Log in with name and password, for the commands that follow.")
logout = App(name="logout", help="End the session of `windlass login`, and forget it.")
choice = App(name="password", help="Choose another password.")


@login.default
def log_in(
    *,
    user: Annotated[str | None, Parameter(metavar="NAME", help="Who you are.")] = None,
    password_from: PasswordFrom = None,
    new_password_from: NewFrom = None,
    address: Address = ADDRESSED,
) -> None:
    """Log in; the session is kept in a file that is yours alone, until `windlass logout`.

    A one-time password leads at once to the choice of another one.
    """
    check_apart(password_from, new_password_from)
    place_for(address.url)  # before a one-time password is spent
    name = user if user is not None else _asked_name()
    _warn_of_plain_text(address.url)
    before = find_login(address.url)
    typed = password("--password-from", password_from, "password")
    with Client(address.url, "") as nobody:
        body = {"user": name, "password": typed, "wants_token": True}
        me = nobody.post(_SESSION, body).value
    # Kept before anything else is asked: a one-time password may not let in twice.
    path = keep_login(address.url, me["name"], me["token"], me.get("expires_at"))
    if before is not None:
        _end(before.url, before.token)
    if me.get("must_change_password"):
        me = _first_choice(address.url, me["token"], typed, new_password_from)
        keep_login(address.url, me["name"], me["token"], me.get("expires_at"))
    role = f" ({me['role']})" if me.get("role") else ""
    say(f"logged in as {me['name']}{role}, until {when(me.get('expires_at'))} at the latest")
    say(f"kept in {path}")
    if os.environ.get("WINDLASS_TOKEN"):
        say("WINDLASS_TOKEN is set, and is taken before this login: unset it")


@logout.default
def log_out(*, address: Address = ADDRESSED) -> None:
    """End the session and forget it."""
    kept = find_login(address.url)
    forget_login(address.url)
    if kept is None:
        say(f"you were not logged in at {address.url}")
        return
    _end(kept.url, kept.token)
    say(f"{kept.user} is logged out")


@choice.default
def choose(
    *,
    old_from: OldFrom = None,
    new_password_from: NewFrom = None,
    server: Server = SERVED,
) -> None:
    """Choose another password; your other sessions end, this one goes on."""
    check_apart(old_from, new_password_from)
    kept = find_login(server.url) if server.token is None else None
    with server.client() as client:
        old = password("--old-from", old_from, "old password")
        new = new_password("--new-password-from", new_password_from)
        answer = client.put(f"{_SESSION}/password", {"old": old, "new": new})
    if answer.status == 204:  # it ended while this was asked
        forget_login(server.url)
        say("the password is changed; log in again: windlass login")
        return
    me = answer.value
    if kept is not None:
        keep_login(server.url, me["name"], me["token"], me.get("expires_at"))
    elif me.get("token"):
        about = "the session goes on under this token; the one before opens nothing any more"
        show_once(me["token"], about)
    say("the password is changed; your other sessions have ended")


def _asked_name() -> str:
    if not sys.stdin.isatty():
        raise BadUsage("say who you are: --user NAME")
    sys.stderr.write("user: ")
    sys.stderr.flush()
    name = sys.stdin.readline().strip()
    if not name:
        raise BadUsage("say who you are: --user NAME")
    return name


def _first_choice(url: str, token: str, old: str, path: str | None) -> dict[str, Any]:
    """Whoever came in with a one-time password chooses another; the session goes on, and its new
    token is in the answer. Raises Stopped: it can be chosen later.
    """
    if path is None and not sys.stdin.isatty():
        raise Stopped(f"{_ONE_TIME}; {_LATER}", Exit.NOT_ALLOWED)
    say(_ONE_TIME)
    with Client(url, token) as client:
        for left in reversed(range(_CHOICES_MAX)):
            try:
                new = new_password("--new-password-from", path)
                answer = client.put(f"{_SESSION}/password", {"old": old, "new": new})
            except Stopped as stop:
                if path is None and left and stop.code == Exit.USAGE:
                    say(f"error: {stop}")
                    continue
                raise Stopped(f"{stop}\n  {_LATER}", stop.code) from None
            if answer.status == 204:
                raise Stopped("the session has ended meanwhile; log in again", Exit.NOT_ALLOWED)
            return answer.value
    raise AssertionError("the last one was raised")


def _end(url: str, token: str) -> None:
    """A session that nobody needs any more; one that has ended is as good."""
    try:
        with Client(url, token) as client:
            client.delete(_SESSION)
    except Refused:
        pass


def _warn_of_plain_text(url: str) -> None:
    parts = urlsplit(url)
    host: Any = parts.hostname or ""
    is_near = host in ("localhost", "::1") or host.startswith("127.")
    if parts.scheme == "http" and not is_near:
        say(f"your password goes to {host} unencrypted, for all on the way to read: use https://")
