"""Claims of marks: which of this node's shards have some in Redis, taking and acknowledging them.

A shard is looked into when somebody says that marks were left there; and for what others claimed
and never acknowledged when it becomes ours, when Redis comes back, or when something of our own was
not acknowledged. Shards with few marks are taken together in one round trip, one with many alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from windlass.clock import monotonic
from windlass.fastlane.lane import LaneDown
from windlass.fastlane.marks import Claim, Marks
from windlass.limits import REFRESH_CLAIM_MAX
from windlass.runtime.refresh.shards import Shards

# Of a shard of which nobody knows how many it has; so many shards at once.
_UNKNOWN: Final = 250
_SHARDS_AT_ONCE: Final = REFRESH_CLAIM_MAX // _UNKNOWN
_AGAIN_SECONDS: Final = 1.0  # after Redis gave no answer
_SLACK_SECONDS: Final = 0.05


class MarkClaims:
    def __init__(self, marks: Marks, shards: Shards, *, hold_seconds: float) -> None:
        self._marks = marks
        self._shards = shards
        self._hold_seconds = hold_seconds
        self._expected: dict[int, int] = {}  # by shard: how many marks were left there
        self._look_at: dict[int, float] = {}  # by shard: when to look for what is overdue
        self._not_before = 0.0  # Redis gave no answer: nothing is asked until then

    @property
    def due_at(self) -> float:
        due_at = 0.0 if self._expected else min(self._look_at.values(), default=math.inf)
        return max(due_at, self._not_before)

    @property
    def are_due(self) -> bool:
        return self.due_at <= monotonic()

    def expect(self, counts: Mapping[int, int]) -> None:
        for shard, count in counts.items():
            if shard in self._shards.own:
                self._expected[shard] = self._expected.get(shard, 0) + count

    def look_back(self, shards: Iterable[int], after_seconds: float = 0.0) -> None:
        at = monotonic() + after_seconds
        for shard in shards:
            self._look_at[shard] = min(at, self._look_at.get(shard, at))

    async def take(self) -> list[Claim]:
        """Some marks, if there are any. Raises LaneDown; then it looks again later."""
        if monotonic() < self._not_before:
            return []
        if not self._marks.is_up:
            # Whoever comes back says so, and then everything is looked at.
            self._expected.clear()
            self._look_at.clear()
            return []
        overdue = self._due_for_a_look()
        most_by_shard = dict.fromkeys(overdue, _UNKNOWN) or self._plan()
        if not most_by_shard:
            return []
        try:
            claims = await self._marks.claim(
                most_by_shard, self._hold_seconds, is_back=bool(overdue)
            )
        except LaneDown:
            self._not_before = monotonic() + _AGAIN_SECONDS
            self.expect(most_by_shard)
            # What it may have given all the same comes back one day.
            self.look_back(most_by_shard, self._hold_seconds + _SLACK_SECONDS)
            raise
        for claim in claims:
            self._note(claim, most_by_shard[claim.shard])
        return [claim for claim in claims if claim.marks or claim.broken]

    async def done(self, claims: Sequence[Claim], lost: set[UUID]) -> None:
        """These are seen to, all but `lost`."""
        self.failed([claim for claim in claims if not lost.isdisjoint(claim.marks.values())])
        for some in _in_calls(claims):
            try:
                await self._marks.acknowledge(
                    {
                        claim.shard: [m for m, named in claim.marks.items() if named not in lost]
                        for claim in some
                    }
                )
            except LaneDown:
                self.failed(some)

    def failed(self, claims: Iterable[Claim]) -> None:
        """They come back by themselves, and are looked for when they do."""
        self.look_back({claim.shard for claim in claims}, self._hold_seconds + _SLACK_SECONDS)

    def _due_for_a_look(self) -> list[int]:
        now = monotonic()
        for shard in [shard for shard in self._look_at if shard not in self._shards.own]:
            del self._look_at[shard]  # it is for others to look there
        due = [shard for shard, at in self._look_at.items() if at <= now][:_SHARDS_AT_ONCE]
        for shard in due:
            del self._look_at[shard]
            self._expected.pop(shard, None)
        return due

    def _plan(self) -> dict[int, int]:
        """From each of these shards so many, together about as much as one alone may give."""
        most_by_shard: dict[int, int] = {}
        room = REFRESH_CLAIM_MAX
        for shard in list(self._expected):
            if room <= 0:
                break
            count = self._expected.pop(shard)
            if shard in self._shards.own:
                # Others may have left some of which we have not heard yet.
                most_by_shard[shard] = min(REFRESH_CLAIM_MAX, max(16, 2 * count))
                room -= count
        return most_by_shard

    def _note(self, claim: Claim, limit: int) -> None:
        if len(claim.marks) >= limit:
            self._expected[claim.shard] = REFRESH_CLAIM_MAX  # there may be any number of them
        if claim.next_seconds is not None:
            self.look_back([claim.shard], claim.next_seconds + _SLACK_SECONDS)


def _in_calls(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """As many together as one call may speak of; no shard twice."""
    some: dict[int, Claim] = {}
    for claim in claims:
        size = len(claim.marks) + sum(len(one.marks) for one in some.values())
        if claim.shard in some or (some and size > REFRESH_CLAIM_MAX):
            yield list(some.values())
            some = {}
        some[claim.shard] = claim
    yield list(some.values())
