"""`windlass key …`: API keys with a role or scopes. `reset` works beside the database, as `doctor`
does, and makes a new admin key.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.moment import relative
from windlass.cli.show.output import say, show_line, show_once
from windlass.cli.show.table import Column, columns, prose, spare
from windlass.cli.values import duration
from windlass.cli.verbs.identity.quota import COLUMN, NO_QUOTA, QuotaOptions
from windlass.cli.verbs.identity.user import Role
from windlass.ids import PREFIXES
from windlass.limits import PAGE_DEFAULT, PAGE_MAX

KeyId = Annotated[
    str,
    Parameter(metavar="KEY", help="Id of the key, key_…, its first digits, or its name."),
]
Names = list[str] | None
_WHOLE: Final = re.compile(rf"{PREFIXES['key']}[0-9a-f]{{32}}")


def _may(key: Mapping[str, Any]) -> str:
    return str(key["role"]) if key.get("role") else ", ".join(key.get("scopes") or ())


def _confined(key: Mapping[str, Any]) -> str | None:
    names = [*(key.get("queues") or ()), *(key.get("workflows") or ())]
    return ", ".join(names) or None


def _state(key: Mapping[str, Any]) -> str | None:
    return "expired" if key.get("is_expired") else None


ROW = (
    *columns("id", "name"),
    prose("may", _may),
    Column(title="state", take=_state),
    *spare(Column(title="of", take="user_name"), Column(title="only in", take=_confined)),
    *spare("last_used_at", "expires_at", "overlap_until", "created_at"),
)
PAGE = (
    *columns("name", "id"),
    Column(title="of", take=lambda key: key.get("user_name") or "nobody: it is for machines"),
    *columns("role", "scopes", "queues", "workflows"),
    Column(title="state", take=_state),
    COLUMN,
    *columns("created_at", "expires_at", "rotated_at", "overlap_until", "last_used_at"),
)

app = App(name="key", help="Make API keys with a role or scopes; rotate and revoke them.")


@app.command
def ls(
    *,
    user: Annotated[
        str | None, Parameter(metavar="USER", help="Only of this user, by name or id.")
    ] = None,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List keys, oldest first: your own; for who may edit keys everybody's."""
    most = None if everything else limit
    show_list(reading, "/v1/keys", {"user": user}, ROW, limit=most, none="there are no keys")


@app.command
def get(key: KeyId, /, *, reading: Reading = READ) -> None:
    """Show what may be known of one key: never its token."""
    with reading.client() as client:
        show_one(reading, client.get(_path(client, key)), PAGE)


@app.command
def add(
    name: Annotated[str, Parameter(metavar="NAME", help="What it is for.")],
    /,
    *,
    role: Annotated[Role | None, Parameter(help="What the key may; or give --scope.")] = None,
    scope: Annotated[
        Names, Parameter(metavar="RIGHT", help="A right, such as jobs:submit. May be repeated.")
    ] = None,
    queue: Annotated[
        Names, Parameter(metavar="QUEUE", help="Only in this queue. May be repeated.")
    ] = None,
    workflow: Annotated[
        Names, Parameter(metavar="WORKFLOW", help="Only this workflow. May be repeated.")
    ] = None,
    expires_in: Annotated[
        str | None, Parameter(metavar="TIME", help="For so long: 90d. Else until it is revoked.")
    ] = None,
    personal: Annotated[
        bool,
        Parameter(help="Your own: never more than you may, and gone when you are."),
    ] = False,
    for_machine: Annotated[
        bool, Parameter(help="Nobody's: it stays when its maker leaves. For who may edit keys.")
    ] = False,
    quota: QuotaOptions = NO_QUOTA,
    reading: Reading = READ,
) -> None:
    """Make a key; prints its token, alone: TOKEN=$(windlass key add ci --scope jobs:submit).

    It may no more than you may. Unless you say which, it is for a machine if you may make such
    keys, and else your own.
    """
    if (role is None) == (not scope):
        raise BadUsage("say what it may: either --role, or --scope once or more")
    if personal and for_machine:
        raise BadUsage("say --personal or --for-machine, not both")
    given = {
        "name": name,
        "role": role,
        "scopes": scope or None,
        "queues": queue or None,
        "workflows": workflow or None,
        "expires_in": None if expires_in is None else duration(expires_in),
        "is_personal": True if personal else False if for_machine else None,
    }
    body = {field: value for field, value in given.items() if value is not None}
    body |= quota.body()
    with reading.client() as client:
        answer = client.post("/v1/keys", body)
    whose = f"of {answer.value['user_name']}" if answer.value.get("user_name") else "for a machine"
    _hand_over(reading, answer, f"made, {whose}")


@app.command(name="set")
def set_key(
    key: KeyId,
    /,
    *,
    name: Annotated[str | None, Parameter(help="Another name.")] = None,
    quota: QuotaOptions = NO_QUOTA,
    reading: Reading = READ,
) -> None:
    """Give a key another name or a quota; what it may stays as it is."""
    body = {**({} if name is None else {"name": name}), **quota.body()}
    if not body:
        raise BadUsage("say --name, or a quota such as --requests-per-second 20 or none")
    with reading.client() as client:
        show_one(reading, client.patch(_path(client, key), body), PAGE)


@app.command
def rotate(
    key: KeyId,
    /,
    *,
    overlap: Annotated[
        str | None,
        Parameter(metavar="TIME", help="How long the token before stays good; 24h unless said."),
    ] = None,
    reading: Reading = READ,
) -> None:
    """Give a key another token; prints it, alone. The one before stays good for a while."""
    body = {} if overlap is None else {"overlap": duration(overlap)}
    with reading.client() as client:
        answer = client.post(f"{_path(client, key)}/rotate", body)
    until = answer.value.get("overlap_until")
    good = f"the one before is good for {relative(until).removeprefix('in ')} more" if until else ""
    _hand_over(reading, answer, f"has another token, {good or 'and the one before opens nothing'}")


@app.command
def revoke(*keys: KeyId, server: Server = SERVED) -> int:
    """Let these keys open nothing any more."""
    with server.client() as client:
        return for_each(
            keys, lambda key: client.delete(_path(client, key)), lambda key, _: f"{key} revoked"
        )


@app.command
def reset(
    *,
    database_url: Annotated[str | None, Parameter(help="postgresql://…")] = None,
    redis_url: Annotated[str | None, Parameter(help="redis://…, as for the nodes.")] = None,
    data: Annotated[str | None, Parameter(help="Or the folder of 'windlass up'.")] = None,
) -> int:
    """Make a new admin key, print it, and let the old one open nothing any more.

    It takes the database and no key. In a folder of 'windlass up' the new key is
    kept, too, where commands on this machine find it.
    """
    from windlass.cli.actor import at_the_terminal
    from windlass.compose.admin_key import reset_key
    from windlass.compose.terminal import shown_path
    from windlass.config import load_settings
    from windlass.limits import TOKEN_ASK_SECONDS, TOKEN_BELIEVED_SECONDS
    from windlass.model.identity.actor import acting_as
    from windlass.telemetry.logs import configure_logs

    configure_logs("console", "warning")
    if database_url and data:
        raise BadUsage("give --database-url or --data, not both: each names a database")
    given = {"database_url": database_url, "redis_url": redis_url, "data": data}
    flags = {name: value for name, value in given.items() if value}
    settings = load_settings(flags, os.environ, Path.cwd()).settings
    with acting_as(at_the_terminal()):
        done = asyncio.run(reset_key(settings))
    show_line(f"admin key: {done.key}")
    if done.path is not None:
        say(f"kept in {shown_path(done.path)}, where commands on this machine find it")
    if done.untold:
        names = ", ".join(done.untold)
        seconds = TOKEN_BELIEVED_SECONDS + TOKEN_ASK_SECONDS
        say(
            f"the old key may be taken for {seconds:g} s more by nodes that did not answer: {names}"
        )
    else:
        say("the old key opens nothing any more")
    return 0


def _hand_over(reading: Reading, answer: Answer, what: str) -> None:
    """The token alone on standard output."""
    if reading.output != "table":
        show_one(reading, answer, PAGE)
        return
    made = answer.value
    show_once(made["token"], f"{made['id']} ({made['name']}) {what}; its token is shown only now")


def _path(client: Client, text: str) -> str:
    """Of the key that is meant. Raises Stopped."""
    segment(text)
    if _WHOLE.fullmatch(text):
        return f"/v1/keys/{text}"
    found = _meant(client, text)
    if len(found) > 1:
        lines = [f"  {key['id']}  {key['name']}" for key in found]
        raise BadUsage("\n".join([f"{text} may be several keys; name one by its id:", *lines]))
    if not found:
        raise Stopped(f"no key has this name, or an id that begins so: {text}", Exit.NOT_FOUND)
    return f"/v1/keys/{found[0]['id']}"


def _meant(client: Client, text: str) -> list[dict[str, Any]]:
    """By name; else by the beginning of an id."""
    keys: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        answer = client.get("/v1/keys", {"limit": PAGE_MAX, "cursor": cursor})
        keys += answer.data
        cursor = answer.value.get("next_cursor")
        if not cursor:
            break
    begins = PREFIXES["key"] + text.lower().removeprefix(PREFIXES["key"])
    named = [key for key in keys if key["name"] == text]
    return named or [key for key in keys if key["id"].startswith(begins)]
