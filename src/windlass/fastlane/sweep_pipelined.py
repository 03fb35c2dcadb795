"""Judging stale coordinators where Lua scripts are refused: WATCH, look, MULTI, EXEC.

As exact as by script: what is looked at is watched first. Whoever beats between the look and EXEC
makes EXEC do nothing; all of that batch are then judged one by one, and the one it happens to alone
lives: it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from redis.asyncio import RedisCluster
from redis.exceptions import NoPermissionError, RedisError, WatchError

from windlass.fastlane.sweep_judge import (
    BEATS,
    FIXED,
    MOVING,
    StaleCoordinator,
    Terms,
    Verdict,
    Word,
    is_moving,
)
from windlass.limits import SWEEP_FORGET_BATCH, SWEEP_NAMES_MAX, SWEEP_TRIES_MAX
from windlass.model.cluster.beat import beat_at_ms

KEPT: Final = Verdict(word="kept", keys=0)


class Pipelined:
    mode: Final[Literal["pipelined"]] = "pipelined"

    def __init__(self, client: Any, terms: Terms) -> None:
        self._client = client
        self._terms = terms
        self._is_cluster = isinstance(client, RedisCluster)

    async def judge(self, coordinators: list[StaleCoordinator]) -> list[Verdict]:
        if self._is_cluster:  # each has a slot of its own
            return [await self._alone(coordinator) for coordinator in coordinators]
        try:
            return await self._together(coordinators)
        except WatchError:
            return [await self._alone(coordinator) for coordinator in coordinators]

    async def forget(self, ids: list[bytes]) -> None:
        for start in range(0, len(ids), SWEEP_FORGET_BATCH):
            await self._forget(ids[start : start + SWEEP_FORGET_BATCH])

    async def _forget(self, ids: list[bytes]) -> None:
        """Beats of the living disturb this one: it is tried again, and left to the next sweep."""
        for _ in range(SWEEP_TRIES_MAX):
            async with self._client.pipeline(transaction=True) as change:
                await change.watch(BEATS)
                scores = await self._client.zmscore(BEATS, ids)
                gone = [
                    one
                    for one, score in zip(ids, scores, strict=True)
                    if score is not None and score <= self._terms.cutoff_ms
                ]
                if not gone:
                    return
                change.multi()
                change.zrem(BEATS, *gone)
                try:
                    await change.execute()
                except WatchError:
                    continue
                return

    async def _alone(self, coordinator: StaleCoordinator) -> Verdict:
        try:
            [verdict] = await self._together([coordinator])
        except WatchError:
            return KEPT
        except RedisError as refusal:
            if not is_moving(refusal):
                raise
            return MOVING
        return verdict

    async def _together(self, coordinators: list[StaleCoordinator]) -> list[Verdict]:
        async with self._client.pipeline(transaction=True) as change:
            watched = [one.prefix + name for one in coordinators for name in (b"beat", b"keys")]
            await change.watch(*watched)
            words = await self._words(coordinators)
            doomed = [one for one, word in zip(coordinators, words, strict=True) if word == "dead"]
            parts = await self._parts(doomed)
            for_dead = await (self._count(parts) if self._terms.is_dry_run else _go(change, parts))
        counts = iter(for_dead)
        more = {part.id for part in parts if part.is_more and not self._terms.is_dry_run}
        return [
            Verdict(word="more" if one.id in more else word, keys=next(counts))
            if word == "dead"
            else Verdict(word=word, keys=0)
            for one, word in zip(coordinators, words, strict=True)
        ]

    async def _words(self, coordinators: list[StaleCoordinator]) -> list[Word]:
        beats = await self._read([("GET", one.prefix + b"beat") for one in coordinators])
        return [await self._word(one, beat) for one, beat in zip(coordinators, beats, strict=True)]

    async def _word(self, coordinator: StaleCoordinator, beat: object) -> Word:
        if beat is None:
            is_dead = coordinator.is_dead_without_beat or await self._is_untouched(coordinator)
            return "dead" if is_dead else "unknown"
        at_ms = beat_at_ms(beat, coordinator.id) if isinstance(beat, bytes) else None
        if at_ms is None:
            return "unreadable"
        return "kept" if at_ms > self._terms.cutoff_ms else "dead"

    async def _is_untouched(self, coordinator: StaleCoordinator) -> bool:
        names = [name for name in coordinator.names if name != coordinator.prefix + b"keys"]
        idle = await self._read([("OBJECT", "IDLETIME", name) for name in names])
        return all(
            seconds is None or (isinstance(seconds, int) and seconds >= self._terms.stale_seconds)
            for seconds in idle
        )

    async def _parts(self, doomed: list[StaleCoordinator]) -> list[_Part]:
        sets = [one.prefix + b"keys" for one in doomed]
        sizes = await self._read([("SCARD", name) for name in sets])
        # Some of a large set, all of a small one; nothing of what is no set.
        listed = await self._read([("SRANDMEMBER", name, SWEEP_NAMES_MAX) for name in sets])
        return [
            _Part.of(one, size if isinstance(size, int) else 0, names)
            for one, size, names in zip(doomed, sizes, listed, strict=True)
        ]

    async def _count(self, parts: list[_Part]) -> list[int]:
        found = await self._read([("EXISTS", *part.going) for part in parts])
        return [
            part.size if part.is_more else count for part, count in zip(parts, found, strict=True)
        ]

    async def _read(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """The answers in order; a refusal stands instead of its answer."""
        if not commands:
            return []
        async with self._client.pipeline(transaction=False) as reads:
            for command in commands:
                reads.execute_command(*command)
            answers: list[Any] = await reads.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, NoPermissionError):
                raise answer
        return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What goes of one coordinator in one transaction."""

    id: bytes
    set_name: bytes
    size: int  # of its set of names
    listed: list[bytes]  # what is dealt with of the set
    going: list[bytes]  # the keys to unlink; never empty

    @property
    def is_more(self) -> bool:
        return self.size > SWEEP_NAMES_MAX

    @classmethod
    def of(cls, coordinator: StaleCoordinator, size: int, listed: object) -> _Part:
        names = listed if isinstance(listed, list) else []
        prefix, own = coordinator.prefix, list(names)
        if size <= SWEEP_NAMES_MAX:
            own += [prefix + name.encode() for name in FIXED]
            own += coordinator.names[:SWEEP_NAMES_MAX]
        elif prefix + b"keys" in own:
            own.remove(prefix + b"keys")  # it names the rest
        going = dict.fromkeys(name for name in own if name.startswith(prefix))
        return cls(
            id=coordinator.id,
            set_name=prefix + b"keys",
            size=size,
            listed=names,
            # A name that is none of its own is struck off the set, and its key is left alone.
            going=list(going) or [prefix + b"activity"],
        )


async def _go(change: Any, parts: list[_Part]) -> list[int]:
    """Remove all of it or nothing. Raises WatchError when somebody lives."""
    if not parts:
        return []
    change.multi()
    for part in parts:
        # A Cluster's pipeline has a method of this name that takes one key.
        change.execute_command("UNLINK", *part.going)
    for part in parts:
        if part.is_more:
            change.execute_command("SREM", part.set_name, *part.listed)
    done: list[int] = await change.execute()
    return done[: len(parts)]
