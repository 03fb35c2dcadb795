"""Spool of a large body: its bytes wait for their reader in memory that goes back to the system.

What Python frees the allocator may keep, and a node that has had one large body would be as large
for ever.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from typing import Final

_SEGMENT_BYTES: Final = 1024 * 1024


class Spool:
    """First in, first out."""

    def __init__(self) -> None:
        self._segments: deque[mmap.mmap] = deque()

    def add(self, piece: bytes) -> None:
        rest = memoryview(piece)
        while rest:
            last = self._segments[-1] if self._segments else None
            if last is None or last.tell() == _SEGMENT_BYTES:
                last = mmap.mmap(-1, _SEGMENT_BYTES)
                self._segments.append(last)
            taken = rest[: _SEGMENT_BYTES - last.tell()]
            last.write(taken)
            rest = rest[len(taken) :]

    def take(self) -> bytes:
        """The next piece, which it has no longer; empty at the end."""
        if not self._segments:
            return b""
        with self._segments.popleft() as first:
            return first[: first.tell()]


def give_back() -> None:
    """Let the allocator return what it does not use. Some milliseconds; where there is no glibc,
    nothing.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
