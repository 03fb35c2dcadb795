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

from aiohttp import web

from windlass.cli.limits import LISTEN_BODY_BYTES_MAX, LISTEN_IDS_MAX
from windlass.cli.listen.forward import Answer, Answered
from windlass.cli.listen.verify import Key, Verdict, verify
from windlass.clock import monotonic, wall


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

    async def handle(self, request: web.Request) -> web.Response:
        at, begun = wall(), monotonic()
        body = await _read(request)
        if body is None:
            verdict, answered = Verdict(word="unchecked"), _too_large()
        else:
            verdict = verify(self._keys, request.headers, body, at.timestamp())
            answered = await self._answer(request, body)
        webhook_id = request.headers.get("webhook-id")
        delivery = Delivery(
            at=at,
            method=request.method,
            path=request.rel_url.raw_path_qs,
            headers=tuple(request.headers.items()),
            body=body,
            webhook_id=webhook_id,
            attempt=request.headers.get("windlass-attempt"),
            times=self._count(webhook_id),
            verdict=verdict,
            status=answered.response.status,
            ms=(monotonic() - begun) * 1_000,
            trouble=answered.trouble,
        )
        self._show(delivery)
        return answered.response

    def _count(self, webhook_id: str | None) -> int:
        if webhook_id is None:
            return 1
        times = self._seen[webhook_id] = self._seen.pop(webhook_id, 0) + 1
        if len(self._seen) > LISTEN_IDS_MAX:
            self._seen.popitem(last=False)
        return times


async def _read(request: web.Request) -> bytes | None:
    """The exact bytes of the body; None when there are too many."""
    if (request.content_length or 0) > LISTEN_BODY_BYTES_MAX:
        return None
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        return None


def _too_large() -> Answered:
    why = f"the body is larger than {LISTEN_BODY_BYTES_MAX} bytes"
    response = web.Response(status=413, text=f"windlass listen: {why}\n")
    response.force_close()  # the rest of it is on its way
    return Answered(response=response, trouble=why)
