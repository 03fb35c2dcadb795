"""Encryption of what must not be read in the database: AES-256-GCM.

Promises: what was sealed opens only with its key and only where it belongs. `bound` says where: it
is authenticated with the text, so a row that is copied onto another name does not open there.
The first key seals; all of them open, and each is known by an id that tells nothing of it.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from windlass.config.secret_key import KEY_BYTES, read_keys
from windlass.errors import WindlassError

NONCE_BYTES: Final = 12
_ID_BYTES: Final = 8


class CannotOpen(WindlassError):
    """Sealed under a key that is not here, or not what was sealed for this."""

    code = "cannot_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    key_id: str
    nonce: bytes
    box: bytes = field(repr=False)


class Sealer:
    def __init__(self, keys: Sequence[bytes]) -> None:
        """`keys` of 32 bytes each, at least one."""
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise ValueError(f"a sealer needs keys of {KEY_BYTES} bytes")
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self.key_id = key_id(keys[0])  # of the key that seals

    @property
    def key_ids(self) -> frozenset[str]:
        return frozenset(self._ciphers)

    def seal(self, text: str, bound: str) -> Sealed:
        nonce = os.urandom(NONCE_BYTES)
        box = self._ciphers[self.key_id].encrypt(nonce, text.encode(), bound.encode())
        return Sealed(key_id=self.key_id, nonce=nonce, box=box)

    def open(self, sealed: Sealed, bound: str) -> str:
        """The text. Raises CannotOpen."""
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise CannotOpen(
                f"it is encrypted under key {sealed.key_id}, which this node does not have; "
                "add that key to WINDLASS_SECRET_KEY"
            )
        try:
            return cipher.decrypt(sealed.nonce, sealed.box, bound.encode()).decode()
        except InvalidTag:
            raise CannotOpen(
                "its row was changed, or belongs to another name; set the secret again"
            ) from None


def sealer_of(setting: str | None) -> Sealer | None:
    """The sealer that SECRET_KEY means; None: there is no key, and secrets cannot be stored."""
    return Sealer(read_keys(setting)) if setting is not None else None


def key_id(key: bytes) -> str:
    return hmac.digest(key, b"windlass key id", "sha256")[:_ID_BYTES].hex()
