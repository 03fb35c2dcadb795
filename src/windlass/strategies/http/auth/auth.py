"""Credentials of a delivery: headers, signature and certificate, made from named secrets.

`check_auth` is the contract of an `http` job's `auth` at the door; `Credentials` turns it into
headers and an SSL context just before the request is sent, for hosts that the secret is bound to
and no others: also where only a token that was had for it is shown. A delivery without a signature
of its own is signed with the secret `webhook`; it leaves unsigned only where that is switched off
or the owner deleted that secret, and never because a node has no key to open it with. Where only
one value can be shown, it is the newest; signatures are made with every live one.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from windlass.model.job.target import target_of
from windlass.strategies.http.auth.check import check_auth, header_of
from windlass.strategies.http.auth.client_cert import ClientCertificates
from windlass.strategies.http.auth.oauth import Grant, Tokens
from windlass.strategies.http.auth.secrets import (
    AuthFailed,
    SecretUnavailable,
    SigningUnavailable,
    Vault,
)
from windlass.strategies.http.auth.sign import signature
from windlass.strategies.http.net.pool import Pool

__all__ = ["DEFAULT_SECRET", "AuthFailed", "Credentials", "Prepared", "check_auth"]

# Signs every delivery that names no other.
DEFAULT_SECRET: Final = "webhook"  # noqa: S105 (its name)

UNSIGNED: Final = (
    f"the secret {DEFAULT_SECRET!r}, which signs deliveries, was deleted; to have them signed, "
    f"say `windlass secret set {DEFAULT_SECRET} --generate derived`"
)
log = structlog.get_logger()

# What a header may carry: no line break that would start another header, no control character,
# nothing that has no byte of its own.
_SENDABLE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What to add to the request, last, so that nothing replaces what was signed."""

    headers: dict[str, str] = field(repr=False)
    ssl: ssl.SSLContext | None  # None: the pool's own
    # In lower case: never to be stored or shown. The id and time of a webhook are not among them.
    secret_headers: frozenset[str]


class Credentials:
    """One for a node: it keeps tokens and certificates for all deliveries."""

    def __init__(
        self,
        vault: Vault,
        pool: Callable[[], Pool],
        *,
        is_signing: bool = True,  # False: what names no signature of its own leaves without
    ) -> None:
        self._vault = vault
        self._is_signing = is_signing
        self._tokens = Tokens(pool)
        self._certificates = ClientCertificates()
        self._is_unsigned_told = False

    async def prepare(
        self, auth: object, *, target: str, webhook_id: str, timestamp: int, body: bytes
    ) -> Prepared:
        """Raises SecretUnavailable, SigningUnavailable, or AuthFailed when a value does not fit or
        a token is not had.

        A later attempt may well succeed: secrets are mended while jobs wait. Raises
        SecretNotForHost as well; no target or token endpoint is told what is not for it.
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
                    pem = await self._sent(name, target)
                    context = await self._certificates.context(name, pem)
                case _:
                    value = await self._sent(name, target, *_token_target(one))
                    shown[header_of(one)] = await self._header(one, value)
        if keys := await self._keys(signer, target):
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
                    value = (await self._open(one["secret"]))[0]
                except SecretUnavailable:
                    continue  # without its value the token is never used again
                shown = sent and sent.headers.get("authorization", "").removeprefix("Bearer ")
                self._tokens.forget(_grant(one), value, shown or None)

    async def close(self) -> None:
        await self._tokens.close()

    async def _sent(self, name: str, *targets: str) -> str:
        """The value that these are to see, or a token for it."""
        return (await self._open(name, targets, is_sent=True))[0]

    async def _open(
        self, name: str, targets: Sequence[str] = (), *, is_sent: bool = False
    ) -> Sequence[str]:
        values = await self._vault.open(name, targets, is_sent=is_sent)
        if not values:
            raise SecretUnavailable(name, "it has no live value; set it", is_missing=True)
        return values

    async def _keys(self, signer: str | None, target: str) -> Sequence[str]:
        """What a delivery is signed with."""
        if signer is None and not self._is_signing:
            return ()
        try:
            return await self._open(signer or DEFAULT_SECRET, (target,))
        except SecretUnavailable as trouble:
            if trouble.is_keyless:
                raise SigningUnavailable from trouble
            if signer is not None or not trouble.is_missing:
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


def _token_target(auth: Mapping[str, str]) -> list[str]:
    """Who else sees the secret: the endpoint that gives a token for it, if it is not shown itself.

    The target is among those that the secret is for all the same: the token stands for it there.
    """
    if auth["type"] != "oauth2":
        return []
    return [target_of(auth["token_url"]) or ""]


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
