"""A shared cache in Redis, with invalidation: what one node has read, all nodes find here.

A key holds one of

    nothing                  nobody has loaded it lately
    = epoch scope payload    a value, read from the database that the scope tells
    ! random                 a mark: what was read before this instant is not believed

Whoever loads looks first, loads, and puts the value only where the key still holds what it saw. So
an older value cannot come after a mark, whichever nodes are slow. A new epoch makes every value of
the cache an old one, with one write.

Owns: the marks that could not be left because Redis was away. Until they are, no value that they
speak of is taken from here.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown, lua
from windlass.limits import (
    CACHE_EPOCH_SECONDS,
    CACHE_MARK_SECONDS,
    CACHE_MARKS_OWED_MAX,
    CACHE_VALUE_BYTES_MAX,
)
from windlass.supervise import supervisor

_VALUE, _MARK = b"=", b"!"
_EPOCH_BYTES: Final = 8
_NO_EPOCH: Final = bytes(_EPOCH_BYTES)

Command = tuple[int | str | bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSnapshot:
    """What a key held when it was looked at."""

    payload: bytes | None  # None: no value that may be believed
    opening: bytes  # of a value that may be believed
    held: str  # SHA-1 of all that it held; empty: it held nothing


class SharedCache:
    """One cache by its name, on the lane that all nodes share."""

    def __init__(
        self,
        lane: FastLane,
        name: str,
        kept_seconds: int,
        scope: bytes,
        *,
        prefix: str | None = None,  # of its keys; None: as caches are called
        mark_seconds: int = CACHE_MARK_SECONDS,
    ) -> None:
        self._lane = lane
        self._name = name
        self._prefix = keys.CACHE % (name, "") if prefix is None else prefix
        self._mark_seconds = mark_seconds
        self._scope = scope
        self._kept_seconds = kept_seconds
        self._owed: dict[str, bytes] = {}
        self._epoch_owed: bytes | None = None  # None: nothing is owed to all
        self._paying: asyncio.Task[None] | None = None
        lane.on_change(self._on_change)

    async def look(self, texts: Sequence[str]) -> dict[str, CacheSnapshot]:
        """What is there for each. Raises LaneDown."""
        reads: list[Command] = [("GET", keys.CACHE_EPOCH % self._name)]
        reads += [("GETEX", self._key(text), "EX", self._kept_seconds) for text in texts]
        answers = await self._call(reads)
        opening = _VALUE + _epoch_from(answers[0]) + self._scope
        return {
            text: _seen(answer, opening) for text, answer in zip(texts, answers[1:], strict=True)
        }

    async def put(self, payloads: Mapping[str, bytes], seen: Mapping[str, CacheSnapshot]) -> None:
        """Keep what was loaded after a look, where nothing has changed since. Raises LaneDown."""
        script = lua("cache_put")
        commands: list[Command] = [
            (
                *("EVAL", script, 1, self._key(text), seen[text].held),
                *(seen[text].opening + payload, self._kept_seconds),
            )
            for text, payload in payloads.items()
            if len(payload) <= CACHE_VALUE_BYTES_MAX
        ]
        if commands:
            await self._lane.gather(commands)

    async def mark(self, texts: Iterable[str]) -> None:
        """What anybody has read of these until now is not believed. Raises LaneDown: it is owed."""
        self._owed |= {text: _MARK + os.urandom(_EPOCH_BYTES) for text in texts}
        if len(self._owed) > CACHE_MARKS_OWED_MAX:
            self._owed.clear()
            self._epoch_owed = os.urandom(_EPOCH_BYTES)
        await self.settle()

    async def mark_all(self) -> None:
        """The same of everything. Raises LaneDown: it is owed."""
        self._epoch_owed = os.urandom(_EPOCH_BYTES)
        await self.settle()

    async def settle(self) -> None:
        """Leave the marks that are owed. Raises LaneDown."""
        if self._owed or self._epoch_owed is not None:
            await self._call([])

    async def close(self) -> None:
        if self._paying is not None:
            self._paying.cancel()
            await asyncio.gather(self._paying, return_exceptions=True)

    def _key(self, text: str) -> str:
        return self._prefix + text

    async def _call(self, reads: list[Command]) -> list[Any]:
        """Leave the marks that are owed, then read: in one round trip."""
        marks, epoch = dict(self._owed), self._epoch_owed
        writes: list[Command] = [
            ("SET", self._key(text), mark, "EX", self._mark_seconds) for text, mark in marks.items()
        ]
        if epoch is not None:
            key = keys.CACHE_EPOCH % self._name
            writes.append(("SET", key, epoch, "EX", CACHE_EPOCH_SECONDS))
        answers = await self._lane.gather([*writes, *reads])
        if any(isinstance(answer, Exception) for answer in answers[: len(writes)]):
            # Of a Cluster a part may be away: the marks stay owed, and nothing is believed.
            raise LaneDown("Redis refused a mark of the cache")
        for text, mark in marks.items():
            if self._owed.get(text) == mark:  # else it was invalidated again meanwhile
                del self._owed[text]
        if self._epoch_owed == epoch:
            self._epoch_owed = None
        return answers[len(writes) :]

    def _on_change(self, is_up: bool) -> None:
        if is_up and (self._owed or self._epoch_owed):
            self._paying = supervisor().spawn(self._pay(), name=f"marks of cache {self._name}")

    async def _pay(self) -> None:
        try:
            await self.settle()
        except LaneDown:
            return  # the next look settles it, or the next time that Redis comes up


def _epoch_from(answer: Any) -> bytes:
    """Who cannot be asked for the epoch gives one that no value has."""
    if answer is None:
        return _NO_EPOCH
    is_epoch = isinstance(answer, bytes) and len(answer) == _EPOCH_BYTES
    return answer if is_epoch else os.urandom(_EPOCH_BYTES)


def _seen(answer: Any, opening: bytes) -> CacheSnapshot:
    if not isinstance(answer, bytes):  # nothing, or a type that is not ours
        return CacheSnapshot(payload=None, opening=opening, held="")
    payload = answer[len(opening) :] if answer.startswith(opening) else None
    digest = hashlib.sha1(answer, usedforsecurity=False).hexdigest()
    return CacheSnapshot(payload=payload, opening=opening, held=digest)
