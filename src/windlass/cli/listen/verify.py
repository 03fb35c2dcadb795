"""Standard Webhooks as a receiver sees it: was this delivery signed by whom we trust, just now?

A signature covers `{id}.{timestamp}.{body}` over the exact bytes. Written by hand, because the
package that receivers use knows only HMAC; the tests hold both against each other.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from windlass.cli.limits import SIGNATURE_AGE_SECONDS_MAX, SIGNATURES_MAX

# Unchecked: there is a signature, and we were given no key to check it with.
Word = Literal["verified", "wrong", "unsigned", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    word: Word
    why: str | None = None  # what is wrong; None: nothing


@dataclass(frozen=True, slots=True)
class SharedKey:
    version: ClassVar[str] = "v1"
    secret: bytes = field(repr=False)

    def signed(self, content: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(hmac.digest(self.secret, content, "sha256"), signature)


@dataclass(frozen=True, slots=True)
class PublicKey:
    version: ClassVar[str] = "v1a"
    key: Ed25519PublicKey

    def signed(self, content: bytes, signature: bytes) -> bool:
        try:
            self.key.verify(signature, content)
        except InvalidSignature:
            return False
        return True


Key = SharedKey | PublicKey


def read_key(text: str) -> Key:
    """`whsec_…` is a shared secret, `whpk_…` a public key; ValueError says what else it is."""
    prefix, _, encoded = text.strip().partition("_")
    raw = _decoded(encoded)
    match prefix:
        case "whsec" if raw:
            return SharedKey(raw)
        case "whpk" if raw and len(raw) == 32:
            return PublicKey(Ed25519PublicKey.from_public_bytes(raw))
        case "whsk":
            raise ValueError("a whsk_ key signs; a receiver checks with its public key, whpk_…")
        case _:
            raise ValueError("must be whsec_… (a shared secret) or whpk_… (a public key) in base64")


def verify(
    keys: Sequence[Key], headers: Mapping[str, str], body: bytes, now_seconds: float
) -> Verdict:
    """`headers` finds names however they are spelled."""
    signatures = headers.get("webhook-signature", "").split()
    if not signatures:
        return Verdict(word="unsigned")
    if not keys:
        return Verdict(word="unchecked")
    webhook_id, timestamp = headers.get("webhook-id"), headers.get("webhook-timestamp", "")
    if not webhook_id or not (timestamp.isascii() and timestamp.isdigit()):
        return Verdict(word="wrong", why="webhook-id or webhook-timestamp is missing")
    content = f"{webhook_id}.{timestamp}.".encode("utf-8", "surrogateescape") + body
    if not any(_matches(keys, content, one) for one in signatures[:SIGNATURES_MAX]):
        return Verdict(word="wrong", why="no signature matches")
    if abs(now_seconds - int(timestamp)) > SIGNATURE_AGE_SECONDS_MAX:
        minutes = SIGNATURE_AGE_SECONDS_MAX // 60
        return Verdict(word="wrong", why=f"signed more than {minutes} minutes from now")
    return Verdict(word="verified")


def _matches(keys: Sequence[Key], content: bytes, versioned: str) -> bool:
    version, _, encoded = versioned.partition(",")
    signature = _decoded(encoded)
    return signature is not None and any(
        key.version == version and key.signed(content, signature) for key in keys
    )


def _decoded(text: str) -> bytes | None:
    """Padding may be left out, as some senders do."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None
