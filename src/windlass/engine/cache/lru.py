"""An LRU cache in memory with a time to live: bounded by number and by about how many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Generic, TypeVar

from windlass.clock import monotonic

V = TypeVar("V")


class Lru(Generic[V]):
    def __init__(
        self,
        *,
        entries_max: int,
        bytes_max: int,
        believed_seconds: float | None,  # None: for ever
    ) -> None:
        self._entries_max = entries_max
        self._bytes_max = bytes_max
        self._believed_seconds = believed_seconds
        # name -> value, size, until when it is believed
        self._kept: OrderedDict[str, tuple[V, int, float]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, name: str) -> V | None:
        entry = self._kept.get(name)
        if entry is None:
            return None
        if entry[2] <= monotonic():
            self.drop((name,))
            return None
        self._kept.move_to_end(name)
        return entry[0]

    def put(self, name: str, value: V, size: int) -> None:
        self.drop((name,))
        if size > self._bytes_max:
            return
        seconds = self._believed_seconds
        until = float("inf") if seconds is None else monotonic() + seconds
        self._kept[name] = (value, size, until)
        self.bytes += size
        while len(self._kept) > self._entries_max or self.bytes > self._bytes_max:
            self.bytes -= self._kept.popitem(last=False)[1][1]

    def drop(self, names: Iterable[str]) -> int:
        """Returns how many were there."""
        before = len(self._kept)
        for name in names:
            if (entry := self._kept.pop(name, None)) is not None:
                self.bytes -= entry[1]
        return before - len(self._kept)

    def clear(self) -> int:
        dropped = len(self._kept)
        self._kept.clear()
        self.bytes = 0
        return dropped
