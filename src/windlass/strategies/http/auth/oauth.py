"""Tokens by OAuth 2 client credentials (RFC 6749 §4.4).

A token is asked for once, however many deliveries wait for it, and kept until shortly before its
end. The request belongs to none of those who wait: it goes on when one of them is cancelled. When
it fails, all of them get the same answer; and a token that still lives is used to its end.

An endpoint is named by a user as a receiver is, and is called as one: by the pool of the
deliveries, whose guard judges every connect. An answer is read raw up to a cap; no redirect is
followed, no cookie kept, nothing asked a second time.
"""

from __future__ import annotations

import asyncio
import base64
import contextvars
import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from windlass import __version__
from windlass.clock import monotonic
from windlass.errors import MalformedBody
from windlass.http1.connection import ConnectionBroken
from windlass.limits import (
    RESPONSE_HEADER_BYTES_MAX,
    TOKEN_ANSWER_BYTES_MAX,
    TOKEN_CONNECTIONS_MAX,
    TOKEN_FAILURE_SECONDS,
    TOKEN_KEPT_SECONDS,
    TOKEN_KEPT_SECONDS_MAX,
    TOKEN_LEEWAY_SECONDS,
    TOKEN_REQUESTS_MAX,
    TOKEN_SECONDS_MAX,
    TOKENS_MAX,
)
from windlass.lru import Lru
from windlass.model.job.target import target_of
from windlass.model.json import strict as strict_json
from windlass.strategies.http.auth.secrets import AuthFailed
from windlass.strategies.http.net.address import read_address
from windlass.strategies.http.net.pool import Pool, Timings
from windlass.strategies.http.request import write_request

# What RFC 6749 §5.2 lets an endpoint say. Other words are not shown: an endpoint may echo anything,
# the secret too.
_KNOWN_ERRORS: Final = frozenset(
    {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    }
)
# Visible ASCII: anything else could not be sent in a header, or would split it.
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Who asks whom for what."""

    token_url: str
    client_id: str
    secret: str  # its name
    scope: str | None  # None: whatever the endpoint gives by default

    @property
    def endpoint(self) -> str:
        """How errors call it: without the path and query, which may hold a secret."""
        return f"the token endpoint {target_of(self.token_url)} for client {self.client_id!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAnswer:
    """What came of a request; instants are of the monotonic clock."""

    token: str | None = field(repr=False, default=None)  # None: there is none, see `failure`
    failure: str = ""
    ask_again_at: float
    ends_at: float = 0.0


Key = tuple[Grant, bytes]


class Tokens:
    def __init__(self, pool: Callable[[], Pool], now: Callable[[], float] = monotonic) -> None:
        self._pool = pool
        self._now = now
        self._free_connections = asyncio.Semaphore(TOKEN_CONNECTIONS_MAX)
        self._answers: Lru[Key, TokenAnswer] = Lru(entries_max=TOKENS_MAX)
        self._requests: dict[Key, asyncio.Task[TokenAnswer]] = {}

    async def get(self, grant: Grant, value: str) -> str:
        """A token that lives; `value` is the secret's. Raises AuthFailed."""
        key = _key(grant, value)
        answer = self._answers.get(key)
        if answer is None or self._now() >= answer.ask_again_at:
            answer = await self._wait(self._requests.get(key) or self._start(key, value))
        if answer.token is None:
            raise AuthFailed(answer.failure)
        return answer.token

    def forget(self, grant: Grant, value: str, token: str | None) -> None:
        """A receiver refused the token (None: whichever there is); a newer one stays."""
        key = _key(grant, value)
        answer = self._answers.get(key)
        if answer is not None and answer.token is not None and token in (None, answer.token):
            self._answers.drop((key,))

    async def close(self) -> None:
        requests = list(self._requests.values())
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)

    def _start(self, key: Key, value: str) -> asyncio.Task[TokenAnswer]:
        if len(self._requests) >= TOKEN_REQUESTS_MAX:
            raise AuthFailed(f"{TOKEN_REQUESTS_MAX} token requests are on their way; try later")
        # In a context of its own: it is not part of the delivery that came first.
        request = asyncio.create_task(self._ask(key, value), context=contextvars.Context())
        self._requests[key] = request
        request.add_done_callback(lambda _: self._requests.pop(key))
        return request

    async def _wait(self, request: asyncio.Task[TokenAnswer]) -> TokenAnswer:
        # Unlike `await request`, this leaves the request alone when the one who waits is cancelled.
        await asyncio.wait((request,))
        if request.cancelled():
            raise AuthFailed("the node stopped while a token was asked for")
        return request.result()

    async def _ask(self, key: Key, value: str) -> TokenAnswer:
        answer = await self._request(key[0], value)
        before = self._answers.get(key)
        if answer.token is None and before is not None and self._now() < before.ends_at:
            answer = replace(before, ask_again_at=answer.ask_again_at)
        self._answers.put(key, answer)
        return answer

    async def _request(self, grant: Grant, value: str) -> TokenAnswer:
        # The token's life is counted from before the request: rather too short than too long.
        asked_at = self._now()
        try:
            async with asyncio.timeout(TOKEN_SECONDS_MAX), self._free_connections:
                status, body = await _post(self._pool(), grant, value)
            return _read(grant, status, body, asked_at)
        except AuthFailed as trouble:
            said = str(trouble)
        except TimeoutError:
            said = f"{grant.endpoint} did not answer within {TOKEN_SECONDS_MAX:g} s"
        except ConnectionBroken as trouble:
            said = f"{grant.endpoint} gave no answer: {trouble}"
        except OSError as trouble:
            said = f"{grant.endpoint} cannot be reached: {str(trouble) or type(trouble).__name__}"
        except Exception as trouble:
            # Those who wait need an answer, whatever it was. Its words may hold what was sent.
            said = f"{grant.endpoint} cannot be asked: {type(trouble).__name__}"
        return TokenAnswer(failure=said, ask_again_at=self._now() + TOKEN_FAILURE_SECONDS)


def _key(grant: Grant, value: str) -> Key:
    return grant, hashlib.sha256(value.encode()).digest()


async def _post(pool: Pool, grant: Grant, value: str) -> tuple[int, bytes]:
    """Status and body of the answer. Raises AuthFailed, OSError, and ValueError of the address."""
    address = read_address(grant.token_url)
    message = write_request("POST", address, _headers(grant, value), _form(grant))
    connection = await pool.take(
        address, context=None, connect_seconds=TOKEN_SECONDS_MAX, timings=Timings()
    )
    try:
        await connection.ask(message)
        longest = max((len(text) for line in connection.fields for text in line), default=0)
        if longest > RESPONSE_HEADER_BYTES_MAX:
            raise AuthFailed(f"{grant.endpoint} answered with a header that is too large")
        body = await connection.body()
        if connection.is_over_cap or len(body) > TOKEN_ANSWER_BYTES_MAX:
            raise AuthFailed(f"{grant.endpoint} answered more than {TOKEN_ANSWER_BYTES_MAX} bytes")
        return connection.status, body
    finally:
        pool.give(connection)


def _headers(grant: Grant, value: str) -> dict[str, str]:
    # Both halves are escaped before they are joined: either may hold a colon (RFC 6749 §2.3.1).
    pair = f"{quote_plus(grant.client_id)}:{quote_plus(value)}"
    return {
        "authorization": "Basic " + base64.b64encode(pair.encode()).decode(),
        "user-agent": f"windlass/{__version__}",
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/x-www-form-urlencoded",
    }


def _form(grant: Grant) -> bytes:
    form = {"grant_type": "client_credentials"}
    if grant.scope is not None:
        form["scope"] = grant.scope
    return urlencode(form).encode()


def _read(grant: Grant, status: int, body: bytes, asked_at: float) -> TokenAnswer:
    try:
        said: Any = strict_json.parse(body)
    except MalformedBody:
        said = None
    fields: dict[str, Any] = said if isinstance(said, dict) else {}
    if status != 200:
        error = fields.get("error")
        shown = f" ({error})" if isinstance(error, str) and error in _KNOWN_ERRORS else ""
        raise AuthFailed(f"{grant.endpoint} answered {status}{shown}")
    token = fields.get("access_token")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise AuthFailed(f"{grant.endpoint} answered 200 without a usable access_token in JSON")
    if str(fields.get("token_type", "bearer")).lower() not in ("bearer", "bearertoken"):
        raise AuthFailed(f"{grant.endpoint} gave a token of a type other than bearer")
    life_seconds = _life_seconds(fields.get("expires_in"))
    return TokenAnswer(
        token=token,
        ask_again_at=asked_at + life_seconds - min(TOKEN_LEEWAY_SECONDS, life_seconds / 4),
        ends_at=asked_at + life_seconds,
    )


def _life_seconds(expires_in: object) -> float:
    """Some endpoints write the number as text; what cannot be read counts as not said."""
    try:
        seconds = float(expires_in) if isinstance(expires_in, int | float | str) else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if math.isnan(seconds):
        return TOKEN_KEPT_SECONDS
    return min(max(seconds, 0.0), TOKEN_KEPT_SECONDS_MAX)
