"""Marks in Redis of executions that are out of date, by shard: left, claimed, acknowledged.

    marks (a set)  --claim-->  inflight (by when they come back)  --acknowledge-->  gone

Promises: a mark is in one of the two until it is acknowledged, and what was claimed comes back by
itself; one that is left during a refresh is a mark of its own. What is no mark at all is told
apart, so that it can be dropped and counted. Raises LaneDown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
import structlog

from windlass import ids
from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown, lua
from windlass.limits import REFRESH_CALL_SECONDS, REFRESH_KEPT_SECONDS
from windlass.model.workflow.refresh import SHARDS, shard_of

log = structlog.get_logger()

_KEPT_MS: Final = REFRESH_KEPT_SECONDS * 1000
_PREFIX: Final = ids.PREFIXES["execution"].encode()
# Behind the id: it may have ended, so nobody waits for a better moment (model.workflow.refresh).
_URGENT: Final = b"!"

# Shards and how many marks were left in each; None: look everywhere.
OnPoke = Callable[[Mapping[int, int] | None], None]
Command = tuple[int | str | bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What was taken from one shard."""

    shard: int
    marks: dict[bytes, UUID | None]  # as they stand in Redis; None: it names no execution
    urgent: set[UUID]
    overdue: int  # that somebody had claimed and not acknowledged in time
    next_seconds: float | None  # until another one is overdue; None: none is under way
    broken: int  # keys that held something else, and were removed

    @property
    def malformed(self) -> int:
        return self.broken + sum(named is None for named in self.marks.values())


class Marks:
    def __init__(self, lane: FastLane) -> None:
        self._lane = lane
        self._listeners: list[OnPoke] = []
        lane.on_message(keys.REFRESH, self._hear)
        # Pokes may have been missed meanwhile.
        lane.on_change(lambda is_up: self._each(None) if is_up else None)

    @property
    def is_up(self) -> bool:
        """Is there a Redis to ask? Whoever listens to pokes hears when it comes."""
        return self._lane.is_up

    def on_poke(self, listener: OnPoke) -> None:
        self._listeners.append(listener)

    async def leave(self, execution_ids: Iterable[UUID], *, is_urgent: bool) -> dict[int, int]:
        """Mark executions, some thousands; returns the shards that took theirs, and how many."""
        suffix = _URGENT if is_urgent else b""
        left: dict[int, list[bytes]] = {}
        for execution_id in execution_ids:
            mark = _PREFIX + execution_id.hex.encode() + suffix
            left.setdefault(shard_of(execution_id), []).append(mark)
        commands: list[Command] = []
        for shard, marks in left.items():
            key = keys.REFRESH_MARKS % shard
            commands += [("SADD", key, *marks), ("PEXPIRE", key, _KEPT_MS)]
        answers = await self._gather(commands)
        return {
            shard: len(marks)
            for (shard, marks), answer in zip(left.items(), answers[::2], strict=True)
            if not isinstance(answer, Exception)
        }

    def poke(self, counts: Mapping[int, int]) -> None:
        """Tell whoever has these shards that there is something to do."""
        self._lane.publish(keys.REFRESH, msgspec.json.encode(list(counts.items())))

    async def claim(
        self, most_by_shard: Mapping[int, int], hold_seconds: float, *, is_back: bool
    ) -> list[Claim]:
        """Take at most so many of each shard; with `is_back` also what is overdue there."""
        script, hold_ms = lua("refresh_claim"), round(hold_seconds * 1000)
        back = "back" if is_back else ""
        commands: list[Command] = [
            (
                *("EVAL", script, 2, keys.REFRESH_MARKS % shard, keys.REFRESH_INFLIGHT % shard),
                *(most, hold_ms, _KEPT_MS, back),
            )
            for shard, most in most_by_shard.items()
        ]
        answers = await self._gather(commands)
        if refusal := next((one for one in answers if isinstance(one, Exception)), None):
            # Of a Cluster a part may be away. What the others gave comes back by itself.
            raise LaneDown(f"Redis gave no marks: {refusal}")
        return [
            _read(shard, answer, hold_ms)
            for shard, answer in zip(most_by_shard, answers, strict=True)
        ]

    async def acknowledge(self, marks: Mapping[int, Sequence[bytes]]) -> None:
        """These were seen to, by shard."""
        commands: list[Command] = [
            ("ZREM", keys.REFRESH_INFLIGHT % shard, *done) for shard, done in marks.items() if done
        ]
        if commands:
            await self._gather(commands)

    async def sizes(self) -> list[tuple[int, int]]:
        """Of every shard: marks that wait, and marks under way."""
        commands: list[Command] = []
        for shard in range(SHARDS):
            commands += [
                ("SCARD", keys.REFRESH_MARKS % shard),
                ("ZCARD", keys.REFRESH_INFLIGHT % shard),
            ]
        counts = [one if isinstance(one, int) else 0 for one in await self._gather(commands)]
        return list(zip(counts[::2], counts[1::2], strict=True))

    async def _gather(self, commands: Sequence[Command]) -> list[Any]:
        return await self._lane.gather(commands, seconds=REFRESH_CALL_SECONDS)

    def _hear(self, message: bytes) -> None:
        self._each(dict(msgspec.json.decode(message, type=list[tuple[int, int]])))

    def _each(self, counts: Mapping[int, int] | None) -> None:
        for hear in self._listeners:
            hear(counts)


def _read(shard: int, answer: list[Any], hold_ms: int) -> Claim:
    overdue, next_ms, broken, *marks = answer
    named = {mark: _execution_in(mark) for mark in marks}
    return Claim(
        shard=shard,
        marks=named,
        urgent={one for mark, one in named.items() if one and mark.endswith(_URGENT)},
        overdue=overdue,
        # The next one may be our own of just now.
        next_seconds=next_ms / 1000 if 0 <= next_ms < hold_ms else None,
        broken=broken,
    )


def _execution_in(mark: bytes) -> UUID | None:
    try:
        return UUID(hex=mark.removeprefix(_PREFIX).removesuffix(_URGENT).decode())
    except ValueError:
        log.warning("mark_malformed", mark=mark[:100])
        return None
