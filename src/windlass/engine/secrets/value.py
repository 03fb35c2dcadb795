"""What a secret's value is: a key to sign webhooks with (HMAC, Ed25519), or anything else.

Never: shows a value, or a part of one.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from windlass.limits import REDACTED_CHARS_MIN, SECRET_BYTES_MAX
from windlass.strategies.http.auth import sign

Generated = Literal["hmac", "ed25519", "derived"]
GENERATED: Final[tuple[Generated, ...]] = get_args(Generated)
KINDS: Final = (*GENERATED, "other")
_PREFIXES: Final = {sign.SHARED: "hmac", sign.PRIVATE: "ed25519", sign.MASTER: "derived"}
_RANDOM_BYTES: Final = 32
assert _RANDOM_BYTES == sign.SEED_BYTES == sign.MASTER_BYTES >= sign.SHARED_BYTES_MIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value that may be stored."""

    text: str = field(repr=False)
    kind: str  # of KINDS
    public_key: str | None  # None unless ed25519


def read_value(value: object) -> Value:
    """Raises ValueError that says what is allowed, and no part of what was given."""
    if not isinstance(value, str) or not 1 <= _size(value) <= SECRET_BYTES_MAX:
        raise ValueError(
            f"must be text of {REDACTED_CHARS_MIN} characters or more, and of at most "
            f"{SECRET_BYTES_MAX} bytes in UTF-8"
        )
    # No receiver sees the blanks around a header's value.
    if (chars := len(value.strip(" \t"))) < REDACTED_CHARS_MIN:
        raise ValueError(
            f"has {chars} {'character' if chars == 1 else 'characters'}; at least "
            f"{REDACTED_CHARS_MIN}, or it could not be found and concealed in what a receiver "
            "answers"
        )
    kind = next((kind for prefix, kind in _PREFIXES.items() if value.startswith(prefix)), "other")
    public_key = None if kind == "other" else sign.public_key(value)
    return Value(text=value, kind=kind, public_key=public_key)


def generate(kind: Generated) -> Value:
    """A fresh key to sign with."""
    prefix = next(prefix for prefix, made in _PREFIXES.items() if made == kind)
    return read_value(prefix + base64.b64encode(os.urandom(_RANDOM_BYTES)).decode())


def _size(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0  # half of a surrogate pair is no text
