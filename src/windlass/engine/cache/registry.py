"""The caches of this node: made here, listed here, and invalidated here (cache invalidation).

Two ways to invalidate. `Cache.drop` tells the others through Redis: a hint, usually there within
milliseconds; what a lost one leaves behind is believed for CACHE_BELIEVED_SECONDS at most, and not
beyond the moment at which Redis is heard again. The signal `invalidate` ends in `invalidate` on
each node, and whoever sent it knows who has done it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from windlass.engine.announce import Announcer
from windlass.engine.cache.cache import Cache, Codec, Result
from windlass.fastlane.lane import FastLane
from windlass.fastlane.shared_cache import SharedCache
from windlass.limits import (
    CACHE_BELIEVED_SECONDS,
    CACHE_BYTES_MAX,
    CACHE_ENTRIES_MAX,
    CACHE_KEPT_SECONDS,
    CACHE_NAME_CHARS_MAX,
)
from windlass.lru import Lru
from windlass.store.database import Database

K = TypeVar("K")
V = TypeVar("V")


async def scope_of(database: Database) -> bytes:
    """Eight bytes that values in Redis carry: those of another database are not believed."""
    [row] = await database.read("installation_get")
    return hashlib.sha256(row["text"].encode()).digest()[:8]


class Caches:
    def __init__(
        self,
        lane: FastLane,
        announcer: Announcer,
        scope: bytes,
        observe: Callable[[str, Result, int], None] = lambda _cache, _result, _count: None,
    ) -> None:
        self._lane = lane
        self._scope = scope
        self._announcer = announcer
        self._observe = observe
        self._by_name: dict[str, Cache[Any, Any]] = {}
        self._changing: list[Cache[Any, Any]] = []  # those whose values may change
        announcer.on_cache(self._hear)
        lane.on_change(self._on_lane)

    def make(
        self,
        name: str,
        load_many: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]],
        codec: Codec[K, V],
        *,
        believed_seconds: float | None = CACHE_BELIEVED_SECONDS,  # None: a value never changes
        kept_seconds: int = CACHE_KEPT_SECONDS,
        entries_max: int = CACHE_ENTRIES_MAX,
        bytes_max: int = CACHE_BYTES_MAX,
    ) -> Cache[K, V]:
        assert ":" not in name, "the name ends at its first colon"
        assert len(name) <= CACHE_NAME_CHARS_MAX, name
        assert name not in self._by_name, f"there is a cache {name!r}"
        kept: Lru[str, V] = Lru(
            entries_max=entries_max, weight_max=bytes_max, believed_seconds=believed_seconds
        )
        shared = SharedCache(self._lane, name, kept_seconds, self._scope)
        made = Cache(
            name,
            load_many,
            codec=codec,
            shared=shared,
            kept=kept,
            observe=self._observe,
            announce=self._announcer.caches,
        )
        self._by_name[name] = made
        if believed_seconds is not None:
            self._changing.append(made)
        return made

    def __iter__(self) -> Iterator[Cache[Any, Any]]:
        return iter(self._by_name.values())

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    async def invalidate(self, names: Iterable[str]) -> int:
        """`<cache>:<key>`, or `<cache>` for all that it has; returns how many were kept here.

        When this has ended no value that was read before is believed here, nor put in Redis.
        """
        dropped = 0
        for name, texts in _by_cache(names).items():
            if (cache := self._by_name.get(name)) is not None:
                dropped += await cache.invalidate(texts)
        return dropped

    async def close(self) -> None:
        for cache in self._by_name.values():
            await cache.close()

    def _hear(self, names: list[str]) -> None:
        for name, texts in _by_cache(names).items():
            if (cache := self._by_name.get(name)) is not None:
                cache.forget_all() if texts is None else cache.forget(texts)

    def _on_lane(self, is_up: bool) -> None:
        """Hints may have been lost while Redis was away: what can have changed is read again."""
        if is_up:
            for cache in self._changing:
                cache.forget_all()


def _by_cache(names: Iterable[str]) -> dict[str, list[str] | None]:
    """Keys by cache; None: all of them."""
    found: dict[str, list[str] | None] = {}
    for each in names:
        name, colon, text = each.partition(":")
        texts = found.setdefault(name, [] if colon else None)
        if not colon:
            found[name] = None
        elif texts is not None:
            texts.append(text)
    return found
