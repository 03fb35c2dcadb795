"""A read-through cache with single-flight loading: memory, then Redis, then PostgreSQL.

    get -> in memory? -> on its way? join -> look in Redis -> load_many -> keep here, put in Redis

Promises: however many ask at once for a key, one loads it; what goes wrong reaches all of them and
is not kept, nor is "there is none". A value whose reading began before an invalidation is given to
those who asked before it and to nobody else: its flight is no longer the one that may keep it, and
Redis holds a mark that its loader has not seen. Redis slow, flushed or gone costs time only.
Made by engine.cache.registry, which also hears what other nodes invalidate.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
import structlog

from windlass.clock import monotonic
from windlass.fastlane.lane import LaneDown
from windlass.fastlane.shared_cache import CacheSnapshot, SharedCache
from windlass.limits import CACHE_MARK_SECONDS
from windlass.lru import Lru
from windlass.supervise import supervisor

log = structlog.get_logger()

K = TypeVar("K")
V = TypeVar("V")

Result = Literal["hit", "redis", "load", "error"]
RESULTS: Final[tuple[Result, ...]] = ("hit", "redis", "load", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec(Generic[K, V]):
    """How keys and values are written. What cannot be decoded counts as not there."""

    decode: Callable[[bytes], V]
    encode: Callable[[V], bytes] = msgspec.msgpack.encode
    text: Callable[[K], str] = str  # of a key: the end of its name in Redis, one for each key


@dataclass(slots=True, eq=False)
class _Flight(Generic[K, V]):
    """One key on its way. It may be kept only while it is the flight of its key."""

    key: K
    landed: asyncio.Future[V | None]  # None: there is none
    result: Result = "load"


class Cache(Generic[K, V]):
    def __init__(
        self,
        name: str,
        load_many: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]],
        *,
        codec: Codec[K, V],
        shared: SharedCache,
        kept: Lru[str, V],
        observe: Callable[[str, Result, int], None],
        announce: Callable[[list[str]], None],  # tells all nodes what not to believe
    ) -> None:
        self.name = name
        self.counts: Counter[Result] = Counter()
        self._load_many = load_many
        self._codec = codec
        self._shared = shared
        self._kept = kept
        self._observe = observe
        self._announce = announce
        self._flights: dict[str, _Flight[K, V]] = {}
        # The loop itself holds tasks only weakly, and those who asked may have gone away.
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Values in memory."""
        return len(self._kept)

    def peek(self, key: K) -> V | None:
        """What is in memory; None: it is not, which says nothing of PostgreSQL."""
        value = self._kept.get(self._codec.text(key))
        if value is not None:
            self._count("hit")
        return value

    async def get(self, key: K) -> V | None:
        """None: there is none."""
        return (await self.get_many([key])).get(key)

    async def get_many(self, keys: Iterable[K]) -> dict[K, V]:
        """Those that there are. Raises what `load_many` raised."""
        found: dict[K, V] = {}
        awaited: list[_Flight[K, V]] = []
        begun: dict[str, _Flight[K, V]] = {}
        for key in dict.fromkeys(keys):
            text = self._codec.text(key)
            if (value := self._kept.get(text)) is not None:
                found[key] = value
                continue
            flight = self._flights.get(text)
            if flight is None:
                landed: asyncio.Future[V | None] = asyncio.get_running_loop().create_future()
                flight = begun[text] = self._flights[text] = _Flight(key, landed)
            awaited.append(flight)
        hits = len(found)
        if begun:
            self._begin(begun)
        if awaited:
            await asyncio.wait([flight.landed for flight in awaited])
            joined = len(awaited) - len(begun)
            hits += 0 if any(flight.result == "error" for flight in awaited) else joined
        self._count("hit", hits)
        for flight in awaited:
            if (landing := flight.landed.result()) is not None:
                found[flight.key] = landing
        return found

    def hit(self, count: int) -> None:
        """So many were answered by whoever asks here for the rest."""
        if count:
            self._count("hit", count)

    def put(self, key: K, value: V) -> None:
        """Keep here what the caller knows to be the newest; other nodes load it themselves."""
        text = self._codec.text(key)
        self._flights.pop(text, None)
        self._kept.put(text, value, len(self._codec.encode(value)))

    async def drop(self, keys: Iterable[K]) -> None:
        """These have changed, and the change is committed: tell everybody."""
        texts = [self._codec.text(key) for key in keys]
        # Marked in Redis before anybody hears of it: who hears looks there next.
        await self.invalidate(texts)
        self._announce([f"{self.name}:{text}" for text in texts])

    def forget(self, texts: Iterable[str]) -> int:
        """Believe nothing that this process has read of these; returns how many it kept."""
        names = list(texts)
        for text in names:
            self._flights.pop(text, None)
        return self._kept.drop(names)

    def forget_all(self) -> int:
        self._flights.clear()
        return self._kept.clear()

    async def invalidate(self, texts: Sequence[str] | None) -> int:
        """As forget (None: all), and no node finds them in Redis; returns how many were kept here.

        While Redis is away this node remembers what it owes, and takes nothing from there before.
        """
        dropped = self.forget_all() if texts is None else self.forget(texts)
        with contextlib.suppress(LaneDown):
            await (self._shared.mark_all() if texts is None else self._shared.mark(texts))
        return dropped

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._shared.close()

    # -- flights ---------------------------------------------------------------------------------

    def _begin(self, flights: dict[str, _Flight[K, V]]) -> None:
        task = supervisor().spawn(self._fly(flights), name=f"load cache {self.name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fly(self, flights: dict[str, _Flight[K, V]]) -> None:
        begun = monotonic()
        loaded: dict[str, bytes] = {}
        seen: dict[str, CacheSnapshot] = {}
        try:
            with contextlib.suppress(LaneDown):
                seen = await self._shared.look(list(flights))
            self._land_from_redis(flights, seen)
            loaded = await self._load(flights)
        except BaseException as trouble:
            self._crash(flights, trouble)
            if not isinstance(trouble, Exception):
                raise
        finally:
            for text, flight in flights.items():
                if self._flights.get(text) is flight:
                    del self._flights[text]
                else:
                    loaded.pop(text, None)  # invalidated meanwhile
        # A mark that was left after our look must not have ended before our put.
        if loaded and seen and monotonic() - begun < CACHE_MARK_SECONDS / 2:
            with contextlib.suppress(LaneDown):
                await self._shared.put(loaded, seen)

    def _land_from_redis(
        self, flights: dict[str, _Flight[K, V]], seen: Mapping[str, CacheSnapshot]
    ) -> None:
        for text, sight in seen.items():
            if sight.payload is None:
                continue
            try:
                value = self._codec.decode(sight.payload)
            except Exception as trouble:  # whatever a decoder makes of what is not ours
                log.warning("cache_value_unreadable", cache=self.name, error=str(trouble))
                continue
            self._land(text, flights[text], value, len(sight.payload), "redis")

    async def _load(self, flights: dict[str, _Flight[K, V]]) -> dict[str, bytes]:
        """Land what Redis did not have; returns what to put there."""
        wanted = {text: one for text, one in flights.items() if not one.landed.done()}
        if not wanted:
            return {}
        values = await self._load_many([flight.key for flight in wanted.values()])
        loaded = {}
        for text, flight in wanted.items():
            value = values.get(flight.key)
            if value is not None:
                loaded[text] = self._codec.encode(value)
            self._land(text, flight, value, len(loaded.get(text, b"")), "load")
        return loaded

    def _land(
        self, text: str, flight: _Flight[K, V], value: V | None, size: int, result: Result
    ) -> None:
        if value is not None and self._flights.get(text) is flight:
            self._kept.put(text, value, size)
        flight.result = result
        flight.landed.set_result(value)
        self._count(result)

    def _crash(self, flights: dict[str, _Flight[K, V]], trouble: BaseException) -> None:
        for flight in flights.values():
            if not flight.landed.done():
                flight.result = "error"
                if isinstance(trouble, asyncio.CancelledError):
                    flight.landed.cancel()
                else:
                    flight.landed.set_exception(trouble)
                    flight.landed.exception()  # it may be that nobody waits for it any more
                self._count("error")

    def _count(self, result: Result, count: int = 1) -> None:
        if count:
            self.counts[result] += count
            self._observe(self.name, result, count)


def cache_stats(cache: Cache[Any, Any]) -> dict[str, Any]:
    """What the API tells of a cache, as this node has seen it."""
    counts = cache.counts
    asked = counts.total()
    return {
        "cache": cache.name,
        "entries": len(cache),
        "hits": counts["hit"],
        "redis_hits": counts["redis"],
        "loads": counts["load"],
        "errors": counts["error"],
        "hit_rate": round((counts["hit"] + counts["redis"]) / asked, 4) if asked else None,
    }
