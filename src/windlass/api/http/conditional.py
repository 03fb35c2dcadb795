"""`ETag`, `If-Match`, `If-None-Match` (optimistic lock): change what the caller saw, or nothing.

Every PUT and PATCH of a thing that can be read takes `If-Match`, and `If-None-Match` where it makes
what is not there. Whether they hold is judged by the engine, under the lock of the write. A route
that does not take them refuses them: whoever sends one counts on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from starlette.types import ASGIApp

from windlass.api.http.caller import caller_of
from windlass.api.http.reply import Header, Reply
from windlass.api.http.route import Answer, Call, Route, Schema
from windlass.errors import BadHeader
from windlass.model.json.etag import (
    HEADER_PATTERN,
    IF_MATCH,
    IF_NONE_MATCH,
    Precondition,
    is_among,
    read_tags,
)

_SCHEMA: Final[Schema] = {"type": "string", "pattern": HEADER_PATTERN}
_Headers = dict[str, tuple[str, Schema]]
TAKES: Final[_Headers] = {
    IF_MATCH: ("Change it only if it still has one of these ETags (`*`: any), else 412", _SCHEMA)
}
# Where what is not there is made.
TAKES_BOTH: Final[_Headers] = {
    **TAKES,
    IF_NONE_MATCH: ("`*`: make it, and change none that is there (412)", _SCHEMA),
}
REVALIDATES: Final[_Headers] = {
    IF_NONE_MATCH: ("Answer 304, without a body, while it has one of these ETags", _SCHEMA)
}
ETAG: Final = {"ETag": "Send it as If-Match to change what was read here, and nothing newer"}
UNCHANGED: Final = {304: Answer(description="It has one of the ETags that were sent", headers=ETAG)}


def etag(tag: str) -> Header:
    return b"etag", tag.encode()


def precondition_of(request: Call) -> Precondition:
    """What the caller wants to be so. Raises BadHeader."""
    return Precondition(match=_tags(request, IF_MATCH), none_match=_tags(request, IF_NONE_MATCH))


def unchanged(request: Call, tag: str) -> Reply | None:
    """The answer to a reader who has it already; None: it is to be sent. Raises BadHeader."""
    tags = _tags(request, IF_NONE_MATCH)
    if tags is None or not is_among(tag, tags):
        return None
    return Reply(b"", 304, (etag(tag),))


def _tags(request: Call, header: str) -> frozenset[str] | None:
    """None: it was not sent. Several lines of it are one list."""
    name = header.lower().encode()
    lines = [value for key, value in request.scope["headers"] if key == name]
    if not lines:
        return None
    text = b", ".join(lines).decode("latin-1").strip()
    try:
        return read_tags(text)
    except ValueError as trouble:
        raise BadHeader.at(header, str(trouble)) from None


def refuse_unsupported(route: Route) -> Route:
    """A route as it is served: what it does not take of these headers it refuses."""
    refused = [name for name in (IF_MATCH, IF_NONE_MATCH) if name not in route.headers]
    if route.method == "GET" or not refused:
        return route
    names = [(name, name.lower().encode()) for name in refused]

    async def handle(request: Call, query: dict[str, Any]) -> ASGIApp:
        sent = caller_of(request.scope).headers
        for header, name in names:
            if name in sent:
                raise BadHeader.at(header, "is not heeded here; leave it out")
        return await route.handle(request, query)

    return replace(route, handle=handle, problems=sorted({*route.problems, 400}))
