"""Identifiers: UUIDv7 inside, `job_<32 hex digits>` outside.

The first 48 bits are the creation time in milliseconds, so the primary key is also the order of
creation: lists page by it and new rows land on the right-hand edge of the index.
"""

from __future__ import annotations

import os
import struct
import time
from datetime import UTC, datetime
from uuid import UUID

PREFIXES = {
    "job": "job_",
    "execution": "exe_",
    "schedule": "sch_",
    "workflow": "wf_",
    "operation": "op_",
    "node": "node_",
    "event": "evt_",
    "key": "key_",
    "user": "user_",
    "session": "ses_",
    "signal": "sig_",
    "approval": "apr_",
    "audit": "aud_",
}

_DIGITS = frozenset("0123456789abcdef")
_VERSION_7 = 0x7 << 76
_VARIANT = 0x2 << 62
_RAND_B = (1 << 62) - 1
_COUNTER_SIZE = 1 << 12
_AHEAD_MAX = 1000 * _COUNTER_SIZE
_made_last = 0  # milliseconds and counter, as one number


def uuid7() -> UUID:
    """A fresh time-ordered id."""
    return uuid7_many(1)[0]


def uuid7_many(count: int) -> list[UUID]:
    """`count` fresh ids in ascending order, and behind all that this process has made.

    The 12 bits after the timestamp count upward within a millisecond, so what was done first comes
    first in a list.
    """
    global _made_last
    begin = time.time_ns() // 1_000_000 * _COUNTER_SIZE
    # Unless the clock was set back by more than that: what is new must not look old for hours.
    if begin <= _made_last < begin + _AHEAD_MAX:
        begin = _made_last + 1
    _made_last = begin + count - 1
    noise = struct.unpack(f">{count}Q", os.urandom(8 * count))
    millisecond, first = divmod(begin, _COUNTER_SIZE)
    if first + count <= _COUNTER_SIZE:
        head = millisecond << 80 | _VERSION_7 | _VARIANT
        return [
            UUID(int=head | n << 64 | low & _RAND_B) for n, low in enumerate(noise, start=first)
        ]
    # More than fit into one millisecond borrow the next ones.
    head = _VERSION_7 | _VARIANT
    return [
        UUID(int=head | n // _COUNTER_SIZE << 80 | n % _COUNTER_SIZE << 64 | low & _RAND_B)
        for n, low in enumerate(noise, start=begin)
    ]


def uuid7_at(instant: datetime) -> UUID:
    """The lowest id that could have been made at `instant`; for ranges over the primary key."""
    return UUID(int=int(instant.timestamp() * 1000) << 80 | _VERSION_7 | _VARIANT)


def created_at(value: UUID) -> datetime:
    return datetime.fromtimestamp((value.int >> 80) / 1000, UTC)


def show(noun: str, value: UUID) -> str:
    return PREFIXES[noun] + value.hex


def parse(noun: str, text: str) -> UUID:
    """The id inside `text`. Raises ValueError that says what such an id looks like."""
    prefix = PREFIXES[noun]
    digits = text.removeprefix(prefix)
    if digits == text or len(digits) != 32 or not set(digits) <= _DIGITS:
        shown = text if len(text) <= 60 else text[:60] + "…"
        what = f"{'an' if noun[0] in 'aeiou' else 'a'} {noun} id"
        raise ValueError(f"{shown!r} is not {what}; one looks like {prefix}<32 hex digits>")
    return UUID(hex=digits)


def range_of(noun: str, text: str) -> tuple[UUID, UUID] | None:
    """The lowest and the highest id of which `text` is the beginning, with or without the prefix of
    its noun. None: it is the beginning of none.
    """
    digits = text.removeprefix(PREFIXES[noun])
    if not 1 <= len(digits) <= 32 or not set(digits) <= _DIGITS:
        return None
    return UUID(hex=f"{digits:0<32}"), UUID(hex=f"{digits:f<32}")
