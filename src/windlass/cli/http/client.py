"""The command line's way to a server: the SDK's exchange, waited for on one event loop.

Promises: a deadline on every call. A call whose connection was lost is made once more, which is
safe, because every POST carries an Idempotency-Key; a wait goes on while the server restarts.
Whatever is no success raises Refused or Unreachable. Ctrl-C ends what is under way.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Self, TypeVar

from windlass import __version__
from windlass.cli.exits import BadUsage, Stopped, Unreachable
from windlass.cli.http.problem import Refused, refusal
from windlass.cli.http.stored_login import find_login
from windlass.cli.limits import AWAY_SECONDS_MAX, CALL_SECONDS
from windlass.cli.show.output import say
from windlass.errors import WindlassError
from windlass.sdk.http import problems, wire
from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.http_transport import HttpTransport
from windlass.sdk.http.local_key import LocalKey
from windlass.sdk.http.transport import IDEMPOTENCY_KEY, Request, Response

Query = wire.Query
T = TypeVar("T")


class Answer(Response):
    """A success."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The body as it came, so that it can be shown unchanged."""
        return self.body.decode(errors="replace")

    @property
    def value(self) -> dict[str, Any]:
        """The object in the body; Windlass answers nothing else. Raises Stopped for others."""
        try:
            value = wire.decode_huge(self.text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise not_windlass()
        return value

    @property
    def data(self) -> list[dict[str, Any]]:
        """The things in a page of a list."""
        data = self.value.get("data")
        if not isinstance(data, list):
            raise not_windlass()
        return data


class Client:
    """One server, by URL; used by one thread, inside `with`."""

    def __init__(self, url: str, token: str | None) -> None:
        # An empty token is the wish to be nobody; none at all leaves it to us.
        self._login = find_login(url) if token is None else None
        if self._login is not None:
            token = self._login.token
        try:
            local_key = LocalKey(url) if token is None else None
            self._transport = HttpTransport(url, _printable("--token", token), local_key=local_key)
        except ValueError as wrong:
            raise BadUsage(f"--url {wrong}") from None
        self.exchange = Exchange(self._transport)
        self._has_warned = False
        self._runner: asyncio.Runner | None = None  # None: nothing is open

    def get(
        self,
        path: str,
        query: Query | None = None,
        seconds: float = CALL_SECONDS,
        on_away: Callable[[], object] | None = None,
    ) -> Answer:
        """With `on_away` the server may be away for a while. It is asked again each time that it
        does not answer within `seconds`, and `on_away` is told.
        """
        return self._call("GET", wire.path_with(path, query), None, {}, seconds, on_away)

    def post(
        self, path: str, body: object = None, key: str | None = None, seconds: float = CALL_SECONDS
    ) -> Answer:
        return self._call("POST", path, _encode(body), _keyed(key), seconds)

    def upload(self, path: str, body: bytes, media_type: str) -> Answer:
        """POST what is no JSON of ours, as it is."""
        return self._call("POST", path, body, _keyed(None) | {"Content-Type": media_type})

    def put(self, path: str, body: object) -> Answer:
        return self._call("PUT", path, _encode(body))

    def patch(self, path: str, body: object) -> Answer:
        return self._call("PATCH", path, _encode(body))

    def delete(self, path: str) -> Answer:
        return self._call("DELETE", path)

    def each(self, source: AsyncGenerator[T]) -> Generator[T]:
        """What it yields, as it comes. Whoever closes the generator ends it."""
        try:
            while (found := self._run(_next(source))) is not None:
                yield found
        finally:
            self._run(source.aclose())

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        seconds: float = CALL_SECONDS,
        on_away: Callable[[], object] | None = None,
    ) -> Answer:
        about = {"User-Agent": f"windlass-cli/{__version__}"}
        if body is not None:
            about["Content-Type"] = "application/json"
        about.update(headers or {})
        request = Request(
            method=method, path=path, body=body, headers=about, timeout_seconds=seconds
        )
        response = self._run(self._answer(request, _Patience(on_away)))
        self._warn(response)
        if not 200 <= response.status < 300:
            raise refusal(response, self._transport.key_hint(), self._ended())
        return Answer(status=response.status, headers=response.headers, body=response.body)

    def _warn(self, response: Response) -> None:
        """Once a command, and beside what it answers."""
        if response.headers.get("windlass-auth") == "off" and not self._has_warned:
            self._has_warned = True
            say(f"authentication is off at {self._transport.url}: whoever reaches it is its admin")

    async def _answer(self, request: Request, patience: _Patience) -> Response:
        seconds = request.timeout_seconds
        in_all = None if patience.on_away else seconds
        try:
            async with asyncio.timeout(in_all):
                return await self.exchange.answer(
                    request, seconds + AWAY_SECONDS_MAX, may_retry=patience
                )
        except TimeoutError:
            said = f"{self._transport.url} did not answer within {seconds:g} s"
            raise Unreachable(said) from None

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """On this thread, so that Ctrl-C finds it. What ends in trouble leaves nothing open."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        try:
            return self._runner.run(work)
        except BaseException as trouble:
            self.close()
            if isinstance(trouble, WindlassError):
                raise _stop(trouble, self._ended()) from None
            raise

    def _ended(self) -> str | None:
        """For whoever is refused with a stored login: what to do. None: there is none."""
        return self._login.ended() if self._login is not None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._runner is not None:
            # The connections go with their loop.
            self._runner.close()
            self._runner = None


class _Patience:
    """Who was lost on the way is called once more; with `on_away`, for as long as it takes.
    Whatever else is wrong is told at once: whoever typed the command knows whether to wait.
    """

    def __init__(self, on_away: Callable[[], object] | None) -> None:
        self.on_away = on_away
        self._was_used = False

    def __call__(self, got: Response | problems.Unreachable) -> bool:
        if self.on_away is not None:
            self.on_away()
            return True
        was_lost = isinstance(got, problems.Unreachable) and not isinstance(
            got.network_error, ConnectionRefusedError | socket.gaierror
        )
        may_retry = was_lost and not self._was_used
        self._was_used = True
        return may_retry


def segment(text: str) -> str:
    """A name or id as one part of a path: nothing in it can lead elsewhere."""
    try:
        return wire.segment(text)
    except ValueError as wrong:
        raise BadUsage(str(wrong)) from None


def not_windlass() -> Stopped:
    return Stopped("that is no answer of Windlass; is --url the address of the server itself?")


async def _next(source: AsyncGenerator[T]) -> T | None:
    return await anext(source, None)


def _keyed(key: str | None) -> dict[str, str]:
    return {IDEMPOTENCY_KEY: _printable("--idempotency-key", key) or os.urandom(16).hex()}


def _printable(flag: str, text: str | None) -> str | None:
    """What goes into a header: one line of ASCII, or it would be refused or change the request."""
    if text and not (text.isascii() and text.isprintable()):
        raise BadUsage(f"{flag} may hold printable ASCII characters only")
    return text or None


def _encode(body: object) -> bytes | None:
    # Escaped throughout: what is no character at all then reaches the server, which says where.
    return None if body is None else json.dumps(body, separators=(",", ":")).encode()


def _stop(trouble: WindlassError, login_ended: str | None) -> Stopped:
    if not isinstance(trouble, problems.Unreachable):
        document = trouble.problem or {"detail": str(trouble)}
        return Refused(trouble.status, document, login_ended=login_ended)
    network, reason = trouble.network_error, trouble.reason
    if network is None:
        return Stopped(f"{trouble.url} cannot be heard: {reason}")
    if network.errno and not trouble.is_final and not isinstance(network, socket.gaierror):
        reason = os.strerror(network.errno)  # asyncio says only that a call failed
    if trouble.is_final:  # somebody answers there, and is not trusted
        return Unreachable(f"cannot reach Windlass at {trouble.url}: {reason}")
    return Unreachable(
        f"cannot reach Windlass at {trouble.url}: {reason}\n"
        "  is it running (windlass up)? its address is given by --url or WINDLASS_URL"
    )
