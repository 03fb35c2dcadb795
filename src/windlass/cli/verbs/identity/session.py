"""`windlass session …`: where one is logged in; end a session, or all."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.http.client import Client, segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list
from windlass.cli.http.problem import Refused
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.output import show_line
from windlass.cli.show.table import Column, columns, prose, spare
from windlass.ids import PREFIXES
from windlass.limits import PAGE_DEFAULT, PAGE_MAX

SessionId = Annotated[
    str, Parameter(metavar="SESSION", help="Id of the session, ses_…, or its first digits.")
]
Whose = Annotated[
    str | None, Parameter(metavar="USER", help="Of this user, by name or id; else your own.")
]
_WHOLE: Final = re.compile(rf"{PREFIXES['session']}[0-9a-f]{{32}}")
_BEGINNING: Final = re.compile(r"[0-9a-f]{1,32}")

ROW = (
    *columns("id"),
    Column(title="user", take="user_name"),
    Column(title="this", take=lambda session: "this one" if session.get("is_this") else None),
    *columns("seen_at"),
    *spare("address"),
    prose("device"),
    *spare("created_at", "expires_at"),
)

app = App(name="session", help="See where you are logged in; end sessions.")


@app.command
def ls(
    *,
    user: Whose = None,
    everybody: Annotated[bool, Parameter(help="Of all users; for who may edit users.")] = False,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List sessions, newest first."""
    if everybody and user is not None:
        raise BadUsage("say --user or --everybody, not both")
    query = {"user": "all" if everybody else user}
    most = None if everything else limit
    show_list(reading, "/v1/sessions", query, ROW, limit=most, none="nobody is logged in")


@app.command
def end(*sessions: SessionId, server: Server = SERVED) -> int:
    """End these sessions: their tokens open nothing any more."""
    with server.client() as client:
        return for_each(
            sessions,
            lambda session: client.delete(f"/v1/sessions/{segment(_which(client, session))}"),
            lambda session, _: f"{session} ended",
        )


@app.command(name="end-all")
def end_all(*, user: Whose = None, server: Server = SERVED) -> None:
    """End all sessions but the one that asks."""
    query = f"?user={segment(user)}" if user is not None else ""
    with server.client() as client:
        count = client.delete(f"/v1/sessions{query}").value["ended"]
    show_line(f"{count} session{'s' * (count != 1)} ended")


def _which(client: Client, text: str) -> str:
    """The id that is meant: one's own first, then, for who may know of them, those of others."""
    segment(text)
    if _WHOLE.fullmatch(text):
        return text
    digits = text.lower().removeprefix(PREFIXES["session"])
    if not _BEGINNING.fullmatch(digits):
        raise BadUsage(f"{text!r} is not a session id; one looks like ses_<32 hex digits>")
    begins = PREFIXES["session"] + digits
    for whose in (None, "all"):
        try:
            found = [one["id"] for one in _all(client, whose) if one["id"].startswith(begins)]
        except Refused as refused:
            if refused.code not in (Exit.NOT_ALLOWED, Exit.CONFLICT):
                raise
            continue  # he has none, or may not know of those of others
        if len(found) > 1:
            raise BadUsage("\n  ".join([f"{text} may be several; give more digits:", *found]))
        if found:
            return str(found[0])
    raise Stopped(f"no id of a session begins so: {text}", Exit.NOT_FOUND)


def _all(client: Client, whose: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        query = {"user": whose, "limit": PAGE_MAX, "cursor": cursor}
        answer = client.get("/v1/sessions", query)
        found += answer.data
        cursor = answer.value.get("next_cursor")
        if not cursor:
            return found
