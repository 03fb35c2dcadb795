"""One delivery from its arrival to its answer, and what is told about it.

Promises: a body beyond the cap is refused before it is read; a repeat is recognised among the
last thousands; whatever the signature says, the sender gets the same answer: this is a witness,
not a guard.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from windlass.cli.limits import LISTEN_BODY_BYTES_MAX, LISTEN_IDS_MAX
from windlass.cli.listen.forward import Answer, Answered, Incoming, Reply, told
from windlass.cli.listen.verify import Key, Verdict, verify
from windlass.clock import monotonic, wall

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

# Their answers have no body, and say no length.
_BARE: Final = frozenset({204, 304})


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What came, and what we said."""

    at: datetime
    method: str
    path: str  # with its query, as it was sent
    headers: Sequence[tuple[str, str]]
    body: bytes | None  # None: too large to be read
    webhook_id: str | None
    attempt: str | None
    times: int  # how often this webhook-id has come by now; 1 also without one
    verdict: Verdict
    status: int
    ms: float  # from its arrival to its answer
    trouble: str | None


class Receiver:
    def __init__(
        self, *, keys: Sequence[Key], answer: Answer, show: Callable[[Delivery], None]
    ) -> None:
        self._keys, self._answer, self._show = keys, answer, show
        self._seen: OrderedDict[str, int] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An application of ASGI."""
        at, begun = wall(), monotonic()
        incoming = _incoming(scope)
        headers = _headers(incoming)
        try:
            body = await _read(headers.get("content-length", "0"), receive)
        except ConnectionError:
            return  # the sender has left within its request
        if body is None:
            verdict, answered = Verdict(word="unchecked"), _too_large()
        else:
            verdict = verify(self._keys, headers, body, at.timestamp())
            answered = await self._answer(incoming, body)
        webhook_id = headers.get("webhook-id")
        delivery = Delivery(
            at=at,
            method=incoming.method,
            path=incoming.target,
            headers=tuple((_text(name), _text(value)) for name, value in incoming.fields),
            body=body,
            webhook_id=webhook_id,
            attempt=headers.get("windlass-attempt"),
            times=self._count(webhook_id),
            verdict=verdict,
            status=answered.reply.status,
            ms=(monotonic() - begun) * 1_000,
            trouble=answered.trouble,
        )
        self._show(delivery)
        await _send(answered.reply, send)

    def _count(self, webhook_id: str | None) -> int:
        if webhook_id is None:
            return 1
        times = self._seen[webhook_id] = self._seen.pop(webhook_id, 0) + 1
        if len(self._seen) > LISTEN_IDS_MAX:
            self._seen.popitem(last=False)
        return times


def _incoming(scope: Scope) -> Incoming:
    return Incoming(
        method=scope["method"],
        raw_path=scope["raw_path"].decode("ascii"),
        raw_query=scope["query_string"].decode("ascii"),
        fields=tuple(scope["headers"]),
    )


def _headers(incoming: Incoming) -> dict[str, str]:
    """By name in lower case; of one that stands there twice the first."""
    return {_text(name): _text(value) for name, value in reversed(incoming.fields)}


def _text(part: bytes) -> str:
    return part.decode("utf-8", "surrogateescape")


async def _read(length: str, receive: Receive) -> bytes | None:
    """The exact bytes of the body; None when there are too many. Raises ConnectionError."""
    if int(length) > LISTEN_BODY_BYTES_MAX:
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        body += message["body"]
        if len(body) > LISTEN_BODY_BYTES_MAX:
            return None
        if not message["more_body"]:
            return bytes(body)


async def _send(reply: Reply, send: Send) -> None:
    length = () if reply.status in _BARE else ((b"content-length", b"%d" % len(reply.body)),)
    headers = [*reply.fields, *length]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if not length else reply.body})


def _too_large() -> Answered:
    why = f"the body is larger than {LISTEN_BODY_BYTES_MAX} bytes"
    return Answered(reply=told(413, f"windlass listen: {why}"), trouble=why)
