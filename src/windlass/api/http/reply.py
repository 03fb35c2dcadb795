"""HTTP responses: bytes, a status and headers, sent without ado."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windlass.api.http.security_headers import ANSWER

Header = tuple[bytes, bytes]
JSON: Final[Header] = (b"content-type", b"application/json")
# These have no body, and 204 must not name its length (RFC 9110, 8.6).
_BODILESS: Final = (204, 304)
encode: Final = msgspec.json.Encoder().encode


class Reply:
    """An ASGI application that sends one prepared answer."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self,
        body: bytes = b"",
        status: int = 200,
        headers: Iterable[Header] = (JSON,),
        security: Iterable[Header] = ANSWER,
    ) -> None:
        self.body = body
        self.status = status
        self.headers = [*headers, *security]
        if status not in _BODILESS:
            self.headers.append((b"content-length", b"%d" % len(body)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


class HeadReply:
    """What a GET answers, without its body: for HEAD."""

    __slots__ = ("_reply",)

    def __init__(self, reply: ASGIApp) -> None:
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                raise _HeadIsSent  # what would stream goes no further

        with contextlib.suppress(_HeadIsSent):
            await self._reply(scope, receive, send_head)


class _HeadIsSent(Exception):
    pass


def json_reply(value: Any, status: int = 200, *headers: Header) -> Reply:
    return Reply(encode(value), status, (JSON, *headers))


LOCATION: Final = {"Location": "Where it is from now on"}


def created_reply(value: Any, path: str, *headers: Header) -> Reply:
    """201: made, and where it is from now on. What is ours in `path` needs no quoting."""
    return json_reply(value, 201, (b"location", path.encode()), *headers)


def empty_reply(*headers: Header) -> Reply:
    """204: done, and there is nothing to say."""
    return Reply(b"", 204, headers)
