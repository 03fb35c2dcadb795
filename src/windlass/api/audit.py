"""/v1/audit: who did what to which object, newest first; and all of it as JSON lines.

An export is read page by page while it is sent: it holds neither a connection to PostgreSQL nor
more than a page. What goes wrong on the way breaks the connection off, so that nobody takes a part
of it for the whole. Who exports is recorded.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp, Receive, Scope, Send

from windlass import ids
from windlass.api.http.paging import AUDIT, page_reply
from windlass.api.http.query import (
    Param,
    choices_param,
    created_params,
    id_schema,
    limit_param,
    text_param,
)
from windlass.api.http.reply import encode
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.security_headers import ANSWER
from windlass.api.http.shapes import (
    ANY_OBJECT,
    INSTANT,
    TEXT,
    Named,
    nullable,
    page_of,
    record,
)
from windlass.api.parts import ApiParts
from windlass.engine.audit.read import AuditFilter, list_entries
from windlass.engine.audit.record import Entry, record_alone
from windlass.errors import Unavailable
from windlass.limits import AUDIT_EXPORTS_MAX, AUDIT_NAME_CHARS_MAX, PAGE_DEFAULT, PAGE_MAX
from windlass.model.identity.actor import ACTOR_KINDS
from windlass.model.identity.audited import ACTIONS, NOUNS
from windlass.store.database import Record

NDJSON: Final = "application/x-ndjson"
_REQUEST_ID: Final = "[A-Za-z0-9._:-]{1,128}"
_HEAD: Final[dict[str, Any]] = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", NDJSON.encode()),
        (b"content-disposition", b'attachment; filename="windlass-audit.jsonl"'),
        *ANSWER,
    ],
}


def _request_id(text: str) -> str:
    if not re.fullmatch(_REQUEST_ID, text):
        raise ValueError("must be 1 to 128 letters, digits or ._:-, as X-Request-Id was answered")
    return text


FILTERS: Final[tuple[Param, ...]] = (
    text_param("actor", "Done by this one: an id, or a name", AUDIT_NAME_CHARS_MAX),
    choices_param("actor_kind", ACTOR_KINDS, "Done by these: users, keys, the leader…"),
    choices_param("action", tuple(ACTIONS), "Only these, such as `queue.pause`"),
    choices_param("noun", NOUNS, "Only what was done to these: users, keys, queues…"),
    text_param("object", "Done to this one: an id, or a name", AUDIT_NAME_CHARS_MAX),
    text_param("address", "Asked for from this address", 64),
    Param(
        name="request_id",
        read=_request_id,
        description="Done by this request, as its answer said in X-Request-Id",
        schema={"type": "string", "pattern": f"^{_REQUEST_ID}$"},
    ),
    *created_params("Entries", "written"),
)


class Audit:
    def __init__(self, parts: ApiParts) -> None:
        self._database = parts.database
        self._exports = 0

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit = query.pop("limit", PAGE_DEFAULT)
        before = query.pop("cursor", None)
        rows = await list_entries(self._database, AuditFilter(**query), limit, before)
        cursor = AUDIT.show(rows[-1]["id"].hex) if len(rows) == limit else None
        return page_reply([entry_view(row) for row in rows], cursor)

    async def export(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        self._check_room()
        which = AuditFilter(**query)
        # What can be refused is refused before the answer begins.
        first = await list_entries(self._database, which, PAGE_MAX)
        if request.scope["method"] != "HEAD":
            said = {name: value for name, value in query.items() if value is not None}
            await record_alone(self._database, Entry(action="audit.export", after=said))
        return _Export(self, which, first)

    async def send(
        self, which: AuditFilter, page: list[Record], receive: Receive, send: Send
    ) -> None:
        self._check_room()  # again: others may have begun meanwhile
        self._exports += 1
        gone = asyncio.create_task(_until_gone(receive))
        try:
            await send(_HEAD)
            while page and not gone.done():
                body = b"".join(encode(entry_view(row)) + b"\n" for row in page)
                await send({"type": "http.response.body", "body": body, "more_body": True})
                is_last = len(page) < PAGE_MAX
                page = [] if is_last else await self._next(which, page[-1]["id"])
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            self._exports -= 1

    def _check_room(self) -> None:
        if self._exports >= AUDIT_EXPORTS_MAX:
            raise Unavailable(f"{AUDIT_EXPORTS_MAX} exports are being sent here; try another node")

    async def _next(self, which: AuditFilter, before: UUID) -> list[Record]:
        return await list_entries(self._database, which, PAGE_MAX, before)


class _Export:
    """The reply."""

    def __init__(self, audit: Audit, which: AuditFilter, first: list[Record]) -> None:
        self._audit, self._which, self._first = audit, which, first

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await self._audit.send(self._which, self._first, receive, send)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def entry_view(row: Record) -> dict[str, Any]:
    return {
        "id": ids.show("audit", row["id"]),
        "at": row["at"],
        "actor_kind": row["actor_kind"],
        "actor_id": row["actor_id"],
        "actor_name": row["actor_name"],
        "credential_id": _credential(row),
        "address": row["address"],
        "request_id": row["request_id"],
        "node_id": ids.show("node", row["node_id"]) if row["node_id"] else None,
        "action": row["action"],
        "noun": row["noun"],
        "object_id": row["object_id"],
        "object_name": row["object_name"],
        "before": _json(row["before"]),
        "after": _json(row["after"]),
        "note": row["note"],
        "count": row["count"],
    }


def _credential(row: Record) -> str | None:
    if row["credential_id"] is None:
        return None
    return ids.show("session" if row["actor_kind"] == "user" else "key", row["credential_id"])


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def routes(parts: ApiParts) -> list[Route]:
    audit = Audit(parts)
    return [
        Route(
            method="GET",
            path="/v1/audit",
            needs="audit:read",
            handle=audit.index,
            summary="List who did what, newest first",
            tag="Audit",
            query=(*FILTERS, limit_param(), AUDIT.param()),
            answers={
                200: Answer(description="A page of entries", schema=page_of("AuditEntry")),
            },
        ),
        Route(
            method="GET",
            path="/v1/audit/export",
            needs="audit:read",
            handle=audit.export,
            summary="Export who did what as JSON lines, newest first",
            tag="Audit",
            description="All entries that match, one a line, as in the list. An answer that breaks "
            "off is not whole: ask again. That somebody exports is an entry, too.",
            query=FILTERS,
            answers={
                200: Answer(description="An entry a line", schema=TEXT, media_type=NDJSON),
            },
        ),
    ]


SCHEMAS: Final[Named] = {
    "AuditEntry": record(
        id=id_schema("audit"),
        at=INSTANT,
        actor_kind={"type": "string", "enum": list(ACTOR_KINDS)},
        actor_id=nullable(TEXT),
        actor_name=TEXT,
        credential_id=nullable(TEXT),
        address=nullable(TEXT),
        request_id=nullable(TEXT),
        node_id=nullable(id_schema("node")),
        action=TEXT,
        noun=TEXT,
        object_id=nullable(TEXT),
        object_name=nullable(TEXT),
        before=nullable(ANY_OBJECT),
        after=nullable(ANY_OBJECT),
        note=nullable(TEXT),
        count=nullable({"type": "integer"}),
    ),
}
