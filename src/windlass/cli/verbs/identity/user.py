"""`windlass user …`: people and their roles."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.http.client import segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.output import say, show_line, show_once
from windlass.cli.show.table import Column, columns, spare
from windlass.cli.verbs.identity.quota import COLUMN, NO_QUOTA, QuotaOptions
from windlass.cli.verbs.identity.typed import PasswordFrom, password
from windlass.errors import NotFound
from windlass.limits import PAGE_DEFAULT

UserName = Annotated[str, Parameter(metavar="USER", help="Name of the user, or its id.")]
Role = Literal["viewer", "operator", "editor", "admin"]
RoleOption = Annotated[
    Role, Parameter(help="viewer reads, operator runs, editor defines, admin says who may.")
]


def _state(user: Mapping[str, Any]) -> str:
    if user.get("disabled_at"):
        return "disabled"
    return "one-time password" if user.get("must_change_password") else "active"


ROW = (
    *columns("name", "role"),
    Column(title="state", take=_state),
    *columns("sessions", "last_login_at"),
    *spare("created_at", "issuer"),
)
PAGE = (
    *columns("name", "id", "role"),
    Column(title="state", take=_state),
    *columns("has_password", "issuer", "sessions"),
    COLUMN,
    *columns("created_at", "changed_at", "last_login_at", "disabled_at"),
)

app = App(name="user", help="Add people, give them roles, reset passwords.")


@app.command
def ls(*, limit: Limit = PAGE_DEFAULT, everything: All = False, reading: Reading = READ) -> None:
    """List users by name."""
    most = None if everything else limit
    show_list(reading, "/v1/users", {}, ROW, limit=most, none="there are no users")


@app.command
def get(user: UserName, /, *, reading: Reading = READ) -> None:
    """Show one user."""
    with reading.client() as client:
        show_one(reading, client.get(_path(user)), PAGE)


@app.command
def add(
    user: UserName,
    /,
    *,
    role: RoleOption,
    password_from: PasswordFrom = None,
    reading: Reading = READ,
) -> None:
    """Add a user; prints a one-time password, alone, unless you give a password from a file."""
    body = {"name": user, "role": role}
    if password_from is not None:
        body["password"] = password("--password-from", password_from, "password")
    with reading.client() as client:
        answer = client.post("/v1/users", body)
    made = answer.value
    if reading.output != "table":
        show_one(reading, answer, PAGE)
    elif made.get("one_time_password"):
        _hand_over(made["name"], made["one_time_password"], f"{made['name']} is added as {role}")
    else:
        show_line(f"{made['name']} is added as {role}")


@app.command(name="set")
def set_user(
    user: UserName,
    /,
    *,
    role: Annotated[
        Role | None, Parameter(help="viewer reads, operator runs, editor defines, admin says who.")
    ] = None,
    quota: QuotaOptions = NO_QUOTA,
    reading: Reading = READ,
) -> None:
    """Give a user another role, or a quota; what is not named stays as it is.

    With another role its sessions end; its keys never may more than it may.
    """
    body = {**({} if role is None else {"role": role}), **quota.body()}
    if not body:
        raise BadUsage("say --role, or a quota such as --jobs-per-day 50000 or none")
    with reading.client() as client:
        show_one(reading, client.patch(_path(user), body), PAGE)


@app.command
def disable(*users: UserName, server: Server = SERVED) -> int:
    """Let these users in no more: their sessions end, their keys open nothing."""
    return _each(users, {"is_disabled": True}, "disabled", server)


@app.command
def enable(*users: UserName, server: Server = SERVED) -> int:
    """Let these users in again."""
    return _each(users, {"is_disabled": False}, "enabled", server)


@app.command
def rm(*users: UserName, server: Server = SERVED) -> int:
    """Delete users, with their sessions and their keys."""
    with server.client() as client:
        return for_each(
            users, lambda user: client.delete(_path(user)), lambda user, _: f"{user} deleted"
        )


@app.command(name="reset-password")
def reset_password(
    user: UserName,
    /,
    *,
    database_url: Annotated[
        str | None, Parameter(help="postgresql://…, to do it without the API.")
    ] = None,
    redis_url: Annotated[
        str | None, Parameter(help="redis://…, as for the nodes; beside --database-url.")
    ] = None,
    data: Annotated[str | None, Parameter(help="Or the folder of 'windlass up'.")] = None,
    reading: Reading = READ,
) -> None:
    """Give a user a one-time password instead of the lost one, and end its sessions.

    With --database-url or --data it takes the database and nobody's leave: for the last admin.
    """
    if database_url or data:
        _reset_beside({"database_url": database_url, "redis_url": redis_url, "data": data}, user)
        return
    if redis_url:
        raise BadUsage("--redis-url is for --database-url")
    with reading.client() as client:
        answer = client.post(f"{_path(user)}/reset-password")
    if reading.output != "table":
        show_one(reading, answer, PAGE)
    else:
        _hand_over(answer.value["name"], answer.value["one_time_password"], "its sessions ended")


def _reset_beside(given: Mapping[str, str | None], user: str) -> None:
    from windlass.cli.actor import at_the_terminal
    from windlass.compose.lost_password import reset_lost_password
    from windlass.config import load_settings
    from windlass.limits import TOKEN_ASK_SECONDS, TOKEN_BELIEVED_SECONDS
    from windlass.model.identity.actor import acting_as
    from windlass.telemetry.logs import configure_logs

    configure_logs("console", "warning")
    if given["database_url"] and given["data"]:
        raise BadUsage("give --database-url or --data, not both: each names a database")
    flags = {name: value for name, value in given.items() if value}
    settings = load_settings(flags, os.environ, Path.cwd()).settings
    try:
        with acting_as(at_the_terminal()):
            done = asyncio.run(reset_lost_password(settings, user))
    except NotFound as missing:
        raise Stopped(str(missing), Exit.NOT_FOUND) from None
    _hand_over(done.name, done.password, "its sessions ended")
    if done.is_disabled:
        say(f"{done.name} is disabled and cannot come in: windlass user enable {done.name}")
    if done.untold:
        seconds = TOKEN_BELIEVED_SECONDS + TOKEN_ASK_SECONDS
        say(
            f"its sessions may be taken for {seconds:g} s more by nodes that did not answer: "
            + ", ".join(done.untold)
        )


def _hand_over(user: str, one_time: str, what: str) -> None:
    """The password alone on standard output."""
    show_once(
        one_time,
        f"{what}; this one-time password is shown only now, and opens nothing but the choice of "
        f"another: windlass login --user {user}",
    )


def _each(users: tuple[str, ...], body: dict[str, bool], told: str, server: Server) -> int:
    with server.client() as client:
        return for_each(
            users,
            lambda user: client.patch(_path(user), body),
            lambda user, answer: f"{answer.value.get('name') or user} {told}",
        )


def _path(user: str) -> str:
    return f"/v1/users/{segment(user)}"
