"""The way of a test's App to the node beside it.

Promises: whoever waits for a result has the node run meanwhile, so `handle.result()` needs no
`drain()` before it; and whoever waits for what time alone could bring is told so, instead of
waiting for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Final
from urllib.parse import parse_qs, urlsplit

from windlass.duration import parse_seconds
from windlass.errors import WindlassError
from windlass.sdk.http.cross_loop import on_loop
from windlass.sdk.http.transport import Request, Response, Transport
from windlass.testing.local_gate import Gate
from windlass.testing.local_quiet import Quiet

PATIENCE_SECONDS: Final = 2.0  # in real time, before somebody looks whether anything moves at all
LOOK_SECONDS_MAX: Final = 30.0


class NothingMoves(WindlassError):
    """A test waits for something, and nothing is left to do that could bring it."""

    code = "nothing_moves"


class LocalTransport:
    def __init__(
        self, inner: Transport, loop: asyncio.AbstractEventLoop, gate: Gate, quiet: Quiet
    ) -> None:
        self._inner, self._loop, self._gate, self._quiet = inner, loop, gate, quiet

    async def send(self, request: Request) -> Response:
        if waits(request):
            return await on_loop(self._loop, self._send_and_run(request))
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()

    async def _send_and_run(self, request: Request) -> Response:
        async with self._gate.open():
            sending = asyncio.ensure_future(self._inner.send(request))
            try:
                done, _ = await asyncio.wait({sending}, timeout=PATIENCE_SECONDS)
                if not done:
                    await self._look(sending)
                return await sending
            finally:
                sending.cancel()

    async def _look(self, sending: asyncio.Future[Response]) -> None:
        facts = await self._quiet.reach(LOOK_SECONDS_MAX)
        # What has just ended is told within a moment.
        done, _ = await asyncio.wait({sending}, timeout=PATIENCE_SECONDS / 10)
        if done:
            return
        if facts.next_at is None:
            what = "nothing is queued or scheduled that could bring it"
        else:
            what = f"it is {facts.now:%Y-%m-%d %H:%M:%SZ} and the next thing is due at "
            what += f"{facts.next_at:%Y-%m-%d %H:%M:%SZ}: advance() lets time pass"
        raise NothingMoves(f"this test would wait for ever: nothing runs and {what}")


def waits(request: Request) -> bool:
    """Does it ask the server to hold the answer until something has ended?"""
    given = parse_qs(urlsplit(request.path).query).get("wait", ["0s"])[-1]
    try:
        return parse_seconds(given) > 0
    except ValueError:
        return False  # the server will say what is wrong with it
