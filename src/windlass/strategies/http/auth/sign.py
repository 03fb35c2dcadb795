"""Webhook signatures as Standard Webhooks describes them (HMAC, ed25519), over the bytes sent.

`whsec_` + base64 of 24 to 64 bytes is a shared key and signs `v1` (HMAC-SHA256). `whmk_` + base64
of 32 bytes is a master key: each target has a shared key of its own that is derived from it, so no
receiver can sign what another one believes. `whsk_` + base64 of a 32-byte seed is a private ed25519
key and signs `v1a`; receivers get its `whpk_` half. Each live value signs, newest first, so a
receiver that knows either of two keys verifies through a rotation. No error shows a value or a part
of one.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from windlass.limits import DERIVED_KEYS_MAX, SIGNING_KEYS_MAX

SHARED, MASTER, PRIVATE, PUBLIC = "whsec_", "whmk_", "whsk_", "whpk_"
# The bounds of Standard Webhooks; a key beyond the block of SHA-256 would add nothing.
SHARED_BYTES_MIN, SHARED_BYTES_MAX = 24, 64
SEED_BYTES: Final = 32
MASTER_BYTES: Final = 32
# Receivers keep what was derived: to change this is to change every secret they have.
_DERIVED_FOR: Final = b"windlass webhook "

Signer = Callable[[bytes], str]


def signature(
    values: Sequence[str], *, target: str, webhook_id: str, timestamp: int, body: bytes
) -> str:
    """The `webhook-signature` header. Raises ValueError for a value that is no key."""
    content = b"%b.%d.%b" % (webhook_id.encode(), timestamp, body)
    return " ".join(_signer_for(value, target)(content) for value in values)


def derived_secret(value: str, target: str) -> str:
    """What the receiver at `target` verifies with. Raises ValueError unless a master key."""
    return SHARED + _text(_derived_key(value, target))


def public_key(value: str) -> str | None:
    """What all receivers verify with; None: each has a secret. Raises ValueError for no key."""
    if value.startswith(MASTER):
        _master_key(value)
        return None
    if not value.startswith(PRIVATE):
        _signer(value)
        return None
    return PUBLIC + _text(_private_key(value).public_key().public_bytes_raw())


def is_key(value: str) -> bool:
    """Whether it says of itself that it is a key to sign with, which nobody else may see."""
    return value.startswith((SHARED, MASTER, PRIVATE))


def _signer_for(value: str, target: str) -> Signer:
    return _derived_signer(value, target) if value.startswith(MASTER) else _signer(value)


# Thousands of deliveries a second are signed with a handful of keys: each is read once.
@lru_cache(maxsize=SIGNING_KEYS_MAX)
def _signer(value: str) -> Signer:
    if value.startswith(SHARED):
        return partial(_sign_shared, _shared_key(value))
    if value.startswith(PRIVATE):
        return partial(_sign_private, _private_key(value))
    raise ValueError(f"cannot sign: it must start with {SHARED}, {MASTER} or {PRIVATE}")


@lru_cache(maxsize=DERIVED_KEYS_MAX)
def _derived_signer(value: str, target: str) -> Signer:
    return partial(_sign_shared, _derived_key(value, target))


def _derived_key(value: str, target: str) -> bytes:
    return hmac.digest(_master_key(value), _DERIVED_FOR + target.encode(), "sha256")


def _sign_shared(key: bytes, content: bytes) -> str:
    return "v1," + _text(hmac.digest(key, content, "sha256"))


def _sign_private(key: Ed25519PrivateKey, content: bytes) -> str:
    return "v1a," + _text(key.sign(content))


def _shared_key(value: str) -> bytes:
    key = _bytes(value, SHARED)
    if not SHARED_BYTES_MIN <= len(key) <= SHARED_BYTES_MAX:
        raise ValueError(
            f"cannot sign: after {SHARED} it must hold {SHARED_BYTES_MIN} to {SHARED_BYTES_MAX} "
            f"bytes in base64, and it holds {len(key)}"
        )
    return key


def _private_key(value: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(_exactly(value, PRIVATE, SEED_BYTES))


def _master_key(value: str) -> bytes:
    if not value.startswith(MASTER):
        raise ValueError(f"is no master key: it must start with {MASTER}")
    return _exactly(value, MASTER, MASTER_BYTES)


def _exactly(value: str, prefix: str, size: int) -> bytes:
    found = _bytes(value, prefix)
    if len(found) != size:
        raise ValueError(
            f"cannot sign: after {prefix} it must hold {size} bytes in base64, "
            f"and it holds {len(found)}"
        )
    return found


def _bytes(value: str, prefix: str) -> bytes:
    """Strictly the standard alphabet: receivers' libraries drop other characters without a word,
    and would then verify with another key. The padding may be missing."""
    text = value.removeprefix(prefix)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise ValueError(f"cannot sign: after {prefix} it must be base64") from None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
