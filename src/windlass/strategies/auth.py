"""What a delivery shows to be let in, made from named secrets.

`check_auth` is the contract of an `http` job's `auth` at the door; `Credentials` turns it into
headers and an SSL context just before the request is sent. A delivery without a signature of its
own is signed with the secret `webhook`, when there is one. Where only one value can be shown, it is
the newest; signatures are made with every live one.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import structlog

from windlass.strategies.check_auth import check_auth, place_of
from windlass.strategies.client_cert import ClientCertificates
from windlass.strategies.oauth import Grant, Tokens
from windlass.strategies.sign import signature
from windlass.strategies.vault import AuthFailed, SecretUnavailable, Vault

__all__ = ["DEFAULT_SECRET", "AuthFailed", "Credentials", "Prepared", "check_auth"]

# Signs every delivery that names no other.
DEFAULT_SECRET: Final = "webhook"  # noqa: S105 (its name)

UNSIGNED: Final = (
    f"there is no secret {DEFAULT_SECRET!r} to sign deliveries with; it is made when a node starts "
    "that has WINDLASS_SECRET_KEY, or by `windlass secret set`"
)
log = structlog.get_logger()

# What a header may carry: no line break that would start another header, no control character,
# nothing that has no byte of its own.
_SENDABLE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What to add to the request, last, so that nothing takes the place of what was signed."""

    headers: dict[str, str] = field(repr=False)
    ssl: ssl.SSLContext | None  # None: the session's own
    # In lower case: never to be stored or shown. The id and time of a webhook are not among them.
    secret_headers: frozenset[str]


class Credentials:
    """One for a node: it keeps tokens and certificates for all deliveries."""

    def __init__(self, vault: Vault, session: Callable[[], aiohttp.ClientSession]) -> None:
        self._vault = vault
        self._tokens = Tokens(session)
        self._certificates = ClientCertificates()
        self._is_unsigned_told = False

    async def prepare(
        self, auth: object, *, target: str, webhook_id: str, timestamp: int, body: bytes
    ) -> Prepared:
        """Raises SecretUnavailable, or AuthFailed when a value does not fit or a token is not had.

        A later attempt may well succeed: secrets are mended while jobs wait.
        """
        shown: dict[str, str] = {}
        context: ssl.SSLContext | None = None
        signer: str | None = None
        for one in _read(auth):
            name = one["secret"]
            match one["type"]:
                case "signature":
                    signer = name
                case "mtls":
                    context = await self._certificates.context(name, await self._newest(name))
                case _:
                    shown[place_of(one)] = await self._header(one, await self._newest(name))
        if keys := await (self._open_default() if signer is None else self._open(signer)):
            try:
                signed = signature(
                    keys, target=target, webhook_id=webhook_id, timestamp=timestamp, body=body
                )
            except ValueError as trouble:
                raise AuthFailed(f"secret {signer or DEFAULT_SECRET!r} {trouble}") from None
            shown["webhook-signature"] = signed
        return Prepared(
            headers={**shown, "webhook-id": webhook_id, "webhook-timestamp": str(timestamp)},
            ssl=context,
            secret_headers=frozenset(shown),
        )

    async def refused(self, auth: object, sent: Prepared | None = None) -> None:
        """The receiver answered 401: forget the token. `sent` spares one that is newer already."""
        for one in _read(auth):
            if one["type"] == "oauth2":
                try:
                    value = await self._newest(one["secret"])
                except SecretUnavailable:
                    continue  # without its value the token is never used again
                shown = sent and sent.headers.get("authorization", "").removeprefix("Bearer ")
                self._tokens.forget(_grant(one), value, shown or None)

    async def close(self) -> None:
        await self._tokens.close()

    async def _newest(self, name: str) -> str:
        return (await self._open(name))[0]

    async def _open(self, name: str) -> Sequence[str]:
        values = await self._vault.open(name)
        if not values:
            raise SecretUnavailable(name, "it has no live value; set it", is_missing=True)
        return values

    async def _open_default(self) -> Sequence[str]:
        try:
            return await self._open(DEFAULT_SECRET)
        except SecretUnavailable as trouble:
            if not trouble.is_missing:
                raise
            if not self._is_unsigned_told:
                self._is_unsigned_told = True
                log.warning("webhooks_unsigned", reason=UNSIGNED)
            return ()

    async def _header(self, auth: Mapping[str, str], value: str) -> str:
        match auth["type"]:
            case "bearer":
                return "Bearer " + _sendable(auth["secret"], value)
            case "api_key":
                return _sendable(auth["secret"], value)
            case "basic":
                return _basic(auth, value)
            case "oauth2":
                return "Bearer " + await self._tokens.get(_grant(auth), value)
            case other:
                raise AuthFailed(f"there is no auth of type {other!r}")


def _read(auth: object) -> list[dict[str, str]]:
    """The entries. The door has checked them, but jobs that came by SQL did not pass it."""
    if problems := check_auth(auth):
        raise AuthFailed("; ".join(f"/auth{pointer}: {detail}" for pointer, detail in problems))
    checked: Any = auth
    return [] if checked is None else checked if isinstance(checked, list) else [checked]


def _grant(auth: Mapping[str, str]) -> Grant:
    return Grant(
        token_url=auth["token_url"],
        client_id=auth["client_id"],
        secret=auth["secret"],
        scope=auth.get("scope"),
    )


def _sendable(name: str, value: str) -> str:
    if not _SENDABLE.fullmatch(value):
        raise AuthFailed(
            f"secret {name!r} cannot be sent in a header: it is empty or holds a line break, "
            "a control character or one beyond Latin-1"
        )
    return value


def _basic(auth: Mapping[str, str], value: str) -> str:
    # Base64 would carry a line break unseen, but RFC 7617 forbids it: it is a file's last newline.
    if _CONTROL.search(value):
        raise AuthFailed(f"secret {auth['secret']!r} is no password: it holds a control character")
    return "Basic " + base64.b64encode(f"{auth['username']}:{value}".encode()).decode()
