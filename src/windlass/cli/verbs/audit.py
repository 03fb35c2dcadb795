"""`windlass audit …`: who did what to which object, from where."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from cyclopts import App, Parameter

from windlass.cli.http.client import Client, Query, not_windlass
from windlass.cli.http.listing import show_list
from windlass.cli.options import ANY_TIME, READ, SERVED, All, Limit, Reading, Server, Window
from windlass.cli.show.moment import clock_time_or_day, precisely
from windlass.cli.show.output import compact, show_json_line
from windlass.cli.show.table import Column, columns, prose, spare
from windlass.limits import PAGE_DEFAULT
from windlass.sdk.http.wire import path_with
from windlass.sdk.limits import SILENCE_SECONDS

app = App(name="audit", help="See who did what, from where; export it.")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Which entries. None: any."""

    actor: Annotated[
        str | None, Parameter(metavar="WHO", help="Done by this one: a name, or an id.")
    ] = None
    actor_kind: Annotated[
        str | None, Parameter(metavar="KIND", help="Done by users, keys…: user, key, leader…")
    ] = None
    action: Annotated[
        str | None, Parameter(metavar="ACTION", help="Only this, such as queue.pause.")
    ] = None
    noun: Annotated[
        str | None, Parameter(metavar="NOUN", help="Done to these: user, key, queue…")
    ] = None
    object: Annotated[
        str | None, Parameter(metavar="WHAT", help="Done to this one: a name, or an id.")
    ] = None
    address: Annotated[str | None, Parameter(metavar="IP", help="Asked for from this address.")] = (
        None
    )
    request_id: Annotated[
        str | None, Parameter(metavar="ID", help="Done by the request with this X-Request-Id.")
    ] = None

    def query(self) -> Query:
        return {
            "actor": self.actor,
            "actor_kind": self.actor_kind,
            "action": self.action,
            "noun": self.noun,
            "object": self.object,
            "address": self.address,
            "request_id": self.request_id,
        }


ANY: Final = AuditOptions()


def subject(entry: Mapping[str, Any]) -> str:
    name = entry.get("object_name") or entry.get("object_id") or ""
    count = entry.get("count")
    return f"{name} ×{count}".strip() if count is not None else str(name)


def change(entry: Mapping[str, Any]) -> str:
    """`max_running=2 -> 5 rate=3`: what differs."""
    before, after = entry.get("before") or {}, entry.get("after") or {}
    said = [
        f"{name}={_told(before.get(name), after.get(name))}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    return " ".join([*said, str(entry.get("note") or "")]).strip()


def _told(before: Any, after: Any) -> str:
    shown = [
        "none" if one is None else one if isinstance(one, str) else compact(one)
        for one in (before, after)
    ]
    return shown[1] if before is None else " -> ".join(shown)


ROW: Final = (
    Column(title="at", take="at", tell=precisely, tell_shortly=clock_time_or_day),
    Column(title="actor", take="actor_name"),
    *columns("action"),
    Column(title="object", take=subject),
    *spare("address"),
    prose("change", change),
    *spare("object_id", "actor_id", "request_id"),
)


@app.command
def ls(
    *,
    window: Window = ANY_TIME,
    wanted: AuditOptions = ANY,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List who did what, newest first."""
    show_list(
        reading,
        "/v1/audit",
        {**wanted.query(), **window.query()},
        ROW,
        limit=None if everything else limit,
        none="nothing of that was done",
    )


@app.command
def export(
    *,
    window: Window = ANY_TIME,
    wanted: AuditOptions = ANY,
    server: Server = SERVED,
) -> None:
    """Write all entries as JSON, one a line, newest first.

    An export that was broken off ends with exit code 9: it is not whole.
    """
    query = {**wanted.query(), **window.query()}
    with server.client() as client, closing(client.each(_entries(client, query))) as entries:
        for entry in entries:
            show_json_line(entry)


async def _entries(client: Client, query: Query) -> AsyncGenerator[dict[str, Any]]:
    headers = {"Accept": "application/x-ndjson"}
    path = path_with("/v1/audit/export", query)
    async with client.exchange.stream(path, headers, SILENCE_SECONDS) as lines:
        async for line in lines:
            try:
                entry = msgspec.json.decode(line) if line else None
            except msgspec.DecodeError:
                raise not_windlass() from None
            if isinstance(entry, dict):
                yield entry
