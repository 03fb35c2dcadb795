"""Judging a stale coordinator in a sweep: what is asked, and the words of the verdict.

Two judges say the same: by Lua script (fastlane.sweep_scripted), and by WATCH and MULTI where
scripts are refused (fastlane.sweep_pipelined).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from redis.exceptions import AskError, RedisError, TryAgainError

from windlass.fastlane.keys import COORDINATORS, coordinator

# Braces would move the end of the hash tag: such an id is nobody's, and nothing is done about it.
ID: Final = re.compile(rb"[^{}]+")
OWNED: Final = re.compile(
    re.escape(coordinator("\0", "").encode()).replace(b"\0", b"([^{}]+)") + b".+", re.DOTALL
)
BEATS: Final = COORDINATORS.encode()
# Every coordinator may have these, whether its set of names says so or not.
FIXED: Final = ("beat", "activity", "signals", "keys")

# See sweep_judge.lua; and `moving`: its slot is on the way to another server of a Cluster.
Word = Literal["dead", "more", "later", "kept", "unreadable", "unknown", "moving"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleCoordinator:
    """One that looks dead, until it is judged."""

    id: bytes
    # Its score says that it is dead, or its beat did: keys without a beat may go.
    is_dead_without_beat: bool
    names: tuple[bytes, ...] = ()  # keys of its own that a scan found

    @property
    def prefix(self) -> bytes:
        return coordinator("\0", "").encode().replace(b"\0", self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    word: Word
    keys: int  # that went, or would go


MOVING: Final = Verdict(word="moving", keys=0)


def is_moving(refusal: RedisError) -> bool:
    """Some of its keys are here and some are there, so no call sees them all; it did nothing.

    "TTL exhausted": the client was sent to and fro between the two until it had enough.
    """
    words = str(refusal)
    is_told = isinstance(refusal, TryAgainError | AskError)
    return is_told or "non local key" in words or "TTL exhausted" in words


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for all who are judged in one sweep."""

    cutoff_ms: float  # the newest beat that is stale
    stale_seconds: float
    is_dry_run: bool


class Judge(Protocol):
    """Looks at stale coordinators again and removes what the dead among them own."""

    @property
    def mode(self) -> Literal["scripted", "pipelined"]: ...

    async def judge(self, coordinators: list[StaleCoordinator]) -> list[Verdict]:
        """A verdict on each, in order."""
        ...

    async def forget(self, ids: list[bytes]) -> None:
        """Take these out of the set of beats, except for whoever has beaten meanwhile."""
        ...
