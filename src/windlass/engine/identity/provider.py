"""The identity provider, as far as we call it: its description, its keys, a token for a code.

    {issuer}/.well-known/openid-configuration ── endpoints, for an hour
    jwks_uri ──────────────────────────────────── keys, for an hour, or until one is not among them
    token_endpoint ────────────────────────────── an ID token for a code, each time

The issuer is named by the owner, so it may be anywhere; https, but on loopback. Whatever else its
description names is another matter: it is called only if it is at the issuer's host, or if the
egress guard of deliveries lets it through (WINDLASS_EGRESS_ALLOW opens it). A description that was
tampered with makes no node knock inside.

Promises: one asks at a time, however many wait; an answer is read up to a cap and a deadline; no
redirect is followed, no cookie kept, no proxy asked, nothing asked twice. What an answer says is
never repeated.
"""

from __future__ import annotations

import asyncio
import base64
import contextvars
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

from windlass import __version__
from windlass.clock import monotonic
from windlass.config.parsers import is_loopback
from windlass.engine.identity.sign_on_answers import ProviderAway, SignOnFailed
from windlass.errors import MalformedBody
from windlass.limits import (
    PROVIDER_ANSWER_BYTES_MAX,
    PROVIDER_FAILURE_SECONDS,
    PROVIDER_KEPT_SECONDS,
    PROVIDER_KEYS_AGAIN_SECONDS,
    PROVIDER_KEYS_MAX,
    PROVIDER_SECONDS_MAX,
    PROVIDER_URL_CHARS_MAX,
)
from windlass.model.job.target import target_of
from windlass.model.json import strict as strict_json
from windlass.strategies.http.net.address import read_address
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.net.pool import Pool, Timings
from windlass.strategies.http.request import write_request

T = TypeVar("T")
Fields = Mapping[str, Any]

_DESCRIPTION: Final = "/.well-known/openid-configuration"
# What RFC 6749 §5.2 lets a token endpoint say; other words may be anything.
_KNOWN_ERRORS: Final = frozenset(
    {
        *("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client"),
        *("unsupported_grant_type", "invalid_scope"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderDescription:
    authorization_url: str
    token_url: str
    keys_url: str
    takes_secret_in_form: bool  # and not as HTTP Basic
    names_itself: bool  # it sends `iss` along with every code (RFC 9207)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderKeys:
    """Public keys (JWK), as they were said."""

    keys: tuple[Fields, ...]
    asked_at: float


class Provider:
    def __init__(
        self,
        *,
        issuer: str,
        client_id: str,
        secret: str | None,  # None: a public client
        egress_allow: tuple[str, ...] = (),
        now: Callable[[], float] = monotonic,
    ) -> None:
        self.issuer, self.client_id = issuer, client_id
        self._secret = secret
        self._now = now
        host = urlsplit(issuer).hostname or ""
        self._egress = Egress((host, *egress_allow))
        self._pool: Pool | None = None  # None: nothing was asked yet
        self._description = _Kept(self._ask_description, now)
        self._keys = _Kept(self._ask_keys, now)
        self._asked_again_at = -math.inf

    async def description(self) -> ProviderDescription:
        """Raises ProviderAway."""
        return await self._description.get()

    async def keys(self) -> ProviderKeys:
        """Raises ProviderAway."""
        return await self._keys.get()

    async def newer_keys(self, than: ProviderKeys) -> ProviderKeys | None:
        """Of those a key was not among. None: they were asked for again a moment ago. Raises
        ProviderAway.
        """
        now = self._now()
        if now - self._asked_again_at >= PROVIDER_KEYS_AGAIN_SECONDS:
            self._asked_again_at = now
            return await self._keys.get(asked_after=than.asked_at)
        found = await self._keys.get()
        return found if found.asked_at > than.asked_at else None

    async def id_token(self, code: str, *, verifier: str, redirect_uri: str) -> str:
        """What a code is good for, not looked into. Raises ProviderAway, SignOnFailed."""
        description = await self._description.get()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if self._secret is None or description.takes_secret_in_form:
            form["client_id"] = self.client_id
        if self._secret is not None and description.takes_secret_in_form:
            form["client_secret"] = self._secret
        elif self._secret is not None:
            # Both halves are escaped before they are joined (RFC 6749 §2.3.1).
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self._secret)}"
            headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        url = description.token_url
        status, fields = await self._ask("POST", url, headers, urlencode(form).encode())
        if status != 200:
            raise _refused(url, status, fields)
        if not fields:
            raise _without_json(url)
        token = fields.get("id_token")
        if not isinstance(token, str) or not token.isascii():
            raise SignOnFailed("the identity provider gave no ID token; are the scopes right?")
        return token

    async def close(self) -> None:
        await asyncio.gather(self._description.close(), self._keys.close())
        if self._pool is not None:
            await self._pool.close()

    async def _ask_description(self) -> ProviderDescription:
        url = self.issuer.rstrip("/") + _DESCRIPTION
        fields = await self._get(url)
        if fields.get("issuer") != self.issuer:
            raise ProviderAway(
                f"{target_of(url)} describes another issuer than WINDLASS_OIDC_ISSUER says; they "
                "must be the same to the letter, slash at the end included"
            )
        methods = fields.get("token_endpoint_auth_methods_supported")
        said = methods if isinstance(methods, list) else []
        return ProviderDescription(
            authorization_url=self._endpoint(fields, "authorization_endpoint"),
            token_url=self._endpoint(fields, "token_endpoint"),
            keys_url=self._endpoint(fields, "jwks_uri"),
            takes_secret_in_form="client_secret_post" in said and "client_secret_basic" not in said,
            names_itself=fields.get("authorization_response_iss_parameter_supported") is True,
        )

    def _endpoint(self, fields: Fields, name: str) -> str:
        """Raises ProviderAway for what may not be called."""
        url = fields.get(name)
        is_text = isinstance(url, str) and len(url) <= PROVIDER_URL_CHARS_MAX
        if isinstance(url, str) and is_text and url.isascii() and url.isprintable():
            try:
                address = read_address(url)
            except ValueError:
                pass
            else:
                is_local = self.issuer.startswith("http:") and is_loopback(address.host)
                if (address.is_secure or is_local) and not set(' "<>\\#') & set(url):
                    return url
        raise ProviderAway(f"{target_of(self.issuer)} describes no usable {name}: it must be https")

    async def _ask_keys(self) -> ProviderKeys:
        asked_at = self._now()
        url = (await self._description.get()).keys_url
        keys = (await self._get(url)).get("keys")
        if not isinstance(keys, list) or not 1 <= len(keys) <= PROVIDER_KEYS_MAX:
            raise ProviderAway(f"{target_of(url)} gave no usable keys")
        found = tuple(key for key in keys if isinstance(key, dict))
        return ProviderKeys(keys=found, asked_at=asked_at)

    async def _get(self, url: str) -> Fields:
        status, fields = await self._ask("GET", url, {}, None)
        if status != 200:
            raise ProviderAway(f"the identity provider at {target_of(url)} answered {status}")
        if not fields:
            raise _without_json(url)
        return fields

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, Fields]:
        """Status and object of the answer; nothing in it, if it was none. Raises ProviderAway."""
        where = f"the identity provider at {target_of(url)}"
        try:
            async with asyncio.timeout(PROVIDER_SECONDS_MAX):
                status, text = await self._exchange(method, url, headers, body)
        except ProviderAway:
            raise
        except TimeoutError:
            raise ProviderAway(
                f"{where} did not answer within {PROVIDER_SECONDS_MAX:g} s"
            ) from None
        except OSError as trouble:  # a broken connection and the guard's refusal are such, too
            said = str(trouble) or type(trouble).__name__
            raise ProviderAway(f"{where} cannot be reached: {said}") from None
        try:
            said_fields: Any = strict_json.parse(text)
        except MalformedBody:
            said_fields = None
        return status, said_fields if isinstance(said_fields, dict) else {}

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, bytes]:
        if self._pool is None:
            self._pool = Pool(self._egress)
        address = read_address(url)
        sent = {
            "user-agent": f"windlass/{__version__}",
            "accept": "application/json",
            "accept-encoding": "identity",
            "connection": "close",  # they are rare: one that was kept would mostly be dead
            **headers,
        }
        connection = await self._pool.take(
            address, context=None, connect_seconds=PROVIDER_SECONDS_MAX, timings=Timings()
        )
        try:
            await connection.ask(write_request(method, address, sent, body))
            text = await connection.body()
            if connection.is_over_cap or len(text) > PROVIDER_ANSWER_BYTES_MAX:
                raise ProviderAway(
                    f"{target_of(url)} answered more than {PROVIDER_ANSWER_BYTES_MAX} bytes"
                )
            return connection.status, text
        finally:
            self._pool.give(connection)


def _without_json(url: str) -> ProviderAway:
    return ProviderAway(f"the identity provider at {target_of(url)} answered no JSON object")


def _refused(url: str, status: int, fields: Fields) -> Exception:
    """What a token endpoint means that gives no token."""
    error = fields.get("error")
    shown = f" ({error})" if isinstance(error, str) and error in _KNOWN_ERRORS else ""
    if error == "invalid_grant":
        return SignOnFailed(
            "the identity provider does not take the code (invalid_grant): it was used before, or "
            "is too old; begin again"
        )
    if status == 429 or status >= 500 or not shown:
        return ProviderAway(f"the identity provider at {target_of(url)} answered {status}{shown}")
    return SignOnFailed(
        f"the identity provider does not take this client{shown}; its owner should look at "
        "WINDLASS_OIDC_CLIENT_ID, WINDLASS_OIDC_CLIENT_SECRET and the redirect URI"
    )


@dataclass(slots=True)
class _Kept(Generic[T]):
    """What is asked for once, however many want it, and believed for a while."""

    ask: Callable[[], Awaitable[T]]
    now: Callable[[], float]
    value: T | None = None  # None: there is none yet
    asked_at: float = -math.inf
    failure: str = ""
    failed_at: float = -math.inf
    flight: asyncio.Task[T] | None = field(default=None)

    async def get(self, *, asked_after: float = -math.inf) -> T:
        """Raises ProviderAway."""
        now = self.now()
        believed = self.asked_at > max(asked_after, now - PROVIDER_KEPT_SECONDS)
        if self.value is not None and believed:
            return self.value
        if now - self.failed_at < PROVIDER_FAILURE_SECONDS:
            raise ProviderAway(self.failure)
        if self.flight is None:
            # In a context of its own: it is not part of the request that came first.
            self.flight = asyncio.create_task(
                self._ask(), name="identity provider", context=contextvars.Context()
            )
        flight = self.flight
        # Unlike `await flight`, this leaves it alone when the one who waits is cancelled.
        await asyncio.wait((flight,))
        if flight.cancelled():
            raise ProviderAway("the node stopped while the identity provider was asked")
        trouble = flight.exception()
        if isinstance(trouble, ProviderAway):
            raise ProviderAway(str(trouble))
        return flight.result()

    async def _ask(self) -> T:
        asked_at = self.now()
        try:
            self.value = value = await self.ask()
            self.asked_at = asked_at
            return value
        except ProviderAway as trouble:
            self.failure, self.failed_at = str(trouble), self.now()
            raise
        finally:
            self.flight = None

    async def close(self) -> None:
        if self.flight is not None:
            self.flight.cancel()
            await asyncio.wait((self.flight,))
