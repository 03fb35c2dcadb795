"""Canonical JSON: one text for one meaning, so that a hash of it tells whether two are the same.

Keys are sorted, nothing stands between the values, and a whole number is written without a point,
whoever wrote it: 2.0 and 2 are the same to JSON, and editors change one into the other.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
# Above this a float does not hold every whole number, and JavaScript would write another one.
_WHOLE_MAX: Final = 2**53
# How a whole number below that is written when it is a float.
_POINT_ZERO: Final = b".0"


def canonical_json(value: Any) -> bytes:
    """`value` must be JSON of bounded depth."""
    text = _ENCODER.encode(value)
    # Looked for before walking: nearly nothing holds such a number.
    return text if _POINT_ZERO not in text else _ENCODER.encode(_plain(value))


def hash_of(text: bytes) -> bytes:
    """Of canonical JSON."""
    return hashlib.sha256(text).digest()


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: _plain(found) for name, found in value.items()}
        case list():
            return [_plain(found) for found in value]
        case float() if value.is_integer() and abs(value) < _WHOLE_MAX:
            return int(value)
        case _:
            return value
