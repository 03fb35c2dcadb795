"""One call of the API, retried with backoff until it is answered.

Promises: a call whose answer got lost, or that the server was too busy for, is repeated with pauses
that double, within the client's patience. That is safe because every POST that does something
carries an Idempotency-Key, the same in each repetition. A PATCH, and a change of what a caller has
seen (If-Match), is sent once: a repetition could be refused for what the first one did. What is
refused raises the error's own class. A full queue is a refusal: whoever would rather wait for room
says for how long.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from windlass.chance import chance
from windlass.clock import monotonic
from windlass.errors import QueueFull, WindlassError
from windlass.sdk.http.problems import Unreachable, error_of, retry_after_seconds
from windlass.sdk.http.transport import IDEMPOTENCY_KEY, IF_MATCH, Request, Response, Transport
from windlass.sdk.http.wire import Query, decode, encode, one_line, path_with
from windlass.sdk.limits import (
    PATIENCE_FIRST_SECONDS,
    PATIENCE_SECONDS,
    PAUSE_SECONDS,
    PAUSE_SECONDS_MAX,
    TRY_SECONDS,
)

Headers = Callable[[], Mapping[str, str]]
# Asked before a call is made again, with what came of it; False: that is the end of it.
MayRetry = Callable[[Response | Unreachable], bool]

# The server, or a proxy before it, says that it cannot now and has done nothing.
_BUSY: Final = frozenset({429, 502, 503, 504})


class Exchange:
    def __init__(
        self,
        transport: Transport,
        *,
        timeout_seconds: float = TRY_SECONDS,  # for one try
        patience_seconds: float = PATIENCE_SECONDS,  # no try begins after so long
        headers: Headers | None = None,  # asked before each call: a trace context, for example
    ) -> None:
        self.transport = transport
        self._timeout_seconds, self._patience_seconds = timeout_seconds, patience_seconds
        self._headers = headers
        self._was_answered = False  # ever

    async def get(self, path: str, query: Query | None = None, wait_seconds: float = 0.0) -> Any:
        """`wait_seconds`: how long the server was asked to take."""
        return await self.call("GET", path_with(path, query), wait_seconds=wait_seconds)

    async def post(self, path: str, body: object = None, *, key: str | None = None) -> Any:
        return await self.call("POST", path, body, key=key)

    async def put(self, path: str, body: object, *, if_match: str | None = None) -> Any:
        return await self.call("PUT", path, body, if_match=if_match)

    async def patch(self, path: str, body: object, *, if_match: str | None = None) -> Any:
        return await self.call("PATCH", path, body, if_match=if_match)

    async def text(self, path: str) -> str:
        """The answer as it came."""
        request = self._request("GET", path, timeout_seconds=self._timeout_seconds)
        answer = await self._success(request, self._patience_seconds)
        return answer.body.decode(errors="replace")

    async def delete(self, path: str, query: Query | None = None) -> None:
        await self.call("DELETE", path_with(path, query))

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,  # None: POST makes one up
        wait_seconds: float = 0.0,
        timeout_seconds: float | None = None,  # None: the client's
        room_seconds: float = 0.0,  # how long a full queue is waited for
        if_match: str | None = None,  # an `etag` that was read; None: whatever it is by now
        needs_key: bool = True,  # False: a POST that is worth neither a record nor a second try
    ) -> Any:
        """The JSON of the answer, with its `etag` if it has one; None when it has no body."""
        timeout = max(timeout_seconds or 0.0, self._timeout_seconds)
        request = self._request(method, path, body, key, timeout_seconds=timeout + wait_seconds)
        if if_match is not None:
            request.headers[IF_MATCH] = one_line(if_match)
        patience = self._patience_seconds + wait_seconds
        if not needs_key:
            request.headers.pop(IDEMPOTENCY_KEY, None)
            patience = 0.0
        answer = await self._success(request, patience, room_seconds)
        found = decode(answer)
        if isinstance(found, dict) and "etag" in answer.headers:
            found["etag"] = answer.headers["etag"]
        return found

    def stream(
        self, path: str, headers: dict[str, str], silence_seconds: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The lines of an answer as they come. One try."""
        request = self._request("GET", path, timeout_seconds=silence_seconds)
        request.headers.update(headers)
        return self.transport.stream(request)

    async def answer(
        self,
        request: Request,
        patience_seconds: float,
        room_seconds: float = 0.0,
        may_retry: MayRetry | None = None,
    ) -> Response:
        """The answer as it came, whatever it says. Raises Unreachable when there is none."""
        begun = monotonic()
        pause = PAUSE_SECONDS
        while True:
            got: Response | Unreachable
            try:
                got = await self.transport.send(request)
            except Unreachable as trouble:
                if trouble.is_final or request.is_once:
                    raise
                got, rest, is_full = trouble, pause, False
            else:
                self._was_answered = True
                if got.status not in _BUSY:
                    return got
                rest = max(pause, retry_after_seconds(got.headers) or 0.0)
                is_full = isinstance(_error_in(got), QueueFull)
            rest *= 1 + chance() / 4  # callers that were refused together come back apart
            if not self._was_answered:
                patience_seconds = min(patience_seconds, PATIENCE_FIRST_SECONDS)
            left = begun + (room_seconds if is_full else patience_seconds) - monotonic()
            if is_full and left >= pause:
                rest = min(rest, left)  # one more look when its time is over
            if rest > left or (may_retry is not None and not may_retry(got)):
                if isinstance(got, Unreachable):
                    raise got
                return got
            await asyncio.sleep(rest)
            pause = min(2 * pause, PAUSE_SECONDS_MAX)

    async def _success(
        self, request: Request, patience_seconds: float, room_seconds: float = 0.0
    ) -> Response:
        response = await self.answer(request, patience_seconds, room_seconds)
        if 200 <= response.status < 300:
            return response
        raise self._refused(response)

    def _refused(self, response: Response) -> WindlassError:
        error = _error_in(response)
        if response.status == 401 and (hint := key_hint(self.transport)) is not None:
            error.args = (f"{error}; give token= or set WINDLASS_TOKEN ({hint})",)
        return error

    def _request(
        self,
        method: str,
        path: str,
        body: object = None,
        key: str | None = None,
        *,
        timeout_seconds: float,
    ) -> Request:
        headers = dict(self._headers()) if self._headers is not None else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            headers[IDEMPOTENCY_KEY] = key or os.urandom(16).hex()
        return Request(
            method=method,
            path=path,
            body=None if body is None else encode(body),
            headers=headers,
            timeout_seconds=timeout_seconds,
        )


def key_hint(transport: Transport) -> str | None:
    """Where a key was looked for; None: one was given, or this way needs none."""
    hint = getattr(transport, "key_hint", None)
    return hint() if hint is not None else None


def _error_in(response: Response) -> WindlassError:
    return error_of(response.status, response.headers, response.body)
