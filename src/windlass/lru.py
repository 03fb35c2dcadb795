"""An LRU cache in memory, bounded by number and by weight (say, bytes), with a time to live.

Promises: never holds more than its bounds; what was asked for or put least recently gives way.
Never: asked by two threads at once, or keeps None, which says that there is none.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from windlass.clock import monotonic

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    def __init__(
        self,
        *,
        entries_max: int,
        weight_max: float = math.inf,
        entry_weight_max: float | None = None,  # of a single one; None: as much as all may have
        believed_seconds: float | None = None,  # None: for ever
    ) -> None:
        self._entries_max = entries_max
        self._weight_max = weight_max
        self._entry_weight_max = weight_max if entry_weight_max is None else entry_weight_max
        self._believed_seconds = believed_seconds
        # key -> value, weight, until when it is believed
        self._kept: OrderedDict[K, tuple[V, int, float]] = OrderedDict()
        self._weight = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        entry = self._kept.get(key)
        if entry is None:
            return None
        if self._believed_seconds is not None and entry[2] <= monotonic():
            self.drop((key,))
            return None
        self._kept.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, weight: int = 0) -> None:
        """Instead of what it had before. One that is too heavy is not kept."""
        self.drop((key,))
        if weight > self._entry_weight_max:
            return
        seconds = self._believed_seconds
        until = math.inf if seconds is None else monotonic() + seconds
        self._kept[key] = (value, weight, until)
        self._weight += weight
        while len(self._kept) > self._entries_max or self._weight > self._weight_max:
            self._weight -= self._kept.popitem(last=False)[1][1]

    def drop(self, keys: Iterable[K]) -> int:
        """Returns how many were there."""
        before = len(self._kept)
        for key in keys:
            if (entry := self._kept.pop(key, None)) is not None:
                self._weight -= entry[1]
        return before - len(self._kept)

    def clear(self) -> int:
        dropped = len(self._kept)
        self._kept.clear()
        self._weight = 0
        return dropped
