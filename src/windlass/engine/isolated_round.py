"""Background rounds over many items: a failing batch is bisected, and a bad item backs off alone.

    all at once -> it failed -> both halves -> … -> one alone -> it failed: its own trouble, and
                                                                 it rests; everybody else is done

Promises: whatever one item raises, its neighbours are looked after in the same round. An item that
fails alone is logged with its traceback, counted, and rests before it is tried again, longer every
time. A value that PostgreSQL will never take is no trouble but an answer, where the caller has one.
Deeds are idempotent: what a half did before its neighbour failed is recognised when it comes again.
Where a row that somebody holds had to be waited for, who else is held is asked once, and all of
those are left for later: such a round waits a few times at most, however many are held.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import structlog

from windlass.clock import monotonic
from windlass.engine.effects import Effects
from windlass.errors import Unavailable
from windlass.limits import (
    SIFT_WAITS_MAX,
    TROUBLED_KEPT_MAX,
    TROUBLED_REST_SECONDS,
    TROUBLED_REST_SECONDS_MAX,
)
from windlass.store.database import BadValue, RowLocked, TooSlow

log = structlog.get_logger()

T = TypeVar("T")

# So many alone, one after the other: then it is PostgreSQL that is away, and not what they need.
AWAY_AFTER: Final = 2


class ItemBackoff:
    """Items that failed, and until when each of them rests. Forgotten with the process: whoever
    looks next finds out again.
    """

    def __init__(self, on_failed: Callable[[str], None] = lambda _: None) -> None:
        self._on_failed = on_failed  # is told which deed
        self._resting: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()

    def failed(self, what: str, key: Hashable) -> float:
        """Note it; returns for how many seconds it rests."""
        self._on_failed(what)
        times, _ = self._resting.pop(key, (0, 0.0))
        seconds = min(TROUBLED_REST_SECONDS * float(1 << min(times, 30)), TROUBLED_REST_SECONDS_MAX)
        self._resting[key] = times + 1, monotonic() + seconds
        if len(self._resting) > TROUBLED_KEPT_MAX:
            self._resting.popitem(last=False)
        return seconds

    def went_well(self, keys: Sequence[Hashable]) -> None:
        if self._resting:
            for key in keys:
                self._resting.pop(key, None)

    def rests(self, key: Hashable) -> bool:
        return key in self._resting and self._resting[key][1] > monotonic()

    @property
    def resting_ids(self) -> list[UUID]:
        """Jobs and executions that need not be looked for now."""
        return [key for key in self._resting if isinstance(key, UUID) and self.rests(key)]


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolatedRound(Generic[T]):
    """One round: what is done, and to whom it is told."""

    what: str  # for the log and the counter
    deed: Callable[[list[T]], Awaitable[Effects]]
    tell: Callable[[Effects], None]  # hears what came of each part
    backoff: ItemBackoff
    key: Callable[[T], Hashable] = lambda item: item
    # Ends for good an item whose values PostgreSQL refuses. None: it rests like any other.
    bury: Callable[[T, BadValue], Awaitable[Effects]] | None = None
    # Finds the keys of items whose rows somebody holds. None: only by trying them.
    held: Callable[[list[T]], Awaitable[set[UUID]]] | None = None
    put_off: Callable[[T], None] = lambda _: None  # hears of each that is held

    async def each(self, items: Collection[T]) -> None:
        """Raises Unavailable when PostgreSQL is away; what was not done then is found again."""
        left = [[item for item in items if not self.backoff.rests(self.key(item))]]
        away, waits_left = 0, SIFT_WAITS_MAX
        while left:
            part = left.pop()
            if not part:
                continue
            try:
                self.tell(await self.deed(part))
            except RowLocked:
                waits_left -= 1
                is_last = self.held is not None and waits_left <= 0
                left = await self._sift(part, left, is_last=is_last)
            except Exception as trouble:
                if len(part) > 1:
                    half = len(part) // 2
                    left += [part[half:], part[:half]]
                    continue
                away = away + 1 if _is_away(trouble) else 0
                await self._failed(part[0], trouble)
                if away >= AWAY_AFTER:
                    raise
            else:
                away = 0
                self.backoff.went_well([self.key(item) for item in part])

    async def _sift(self, part: list[T], left: list[list[T]], *, is_last: bool) -> list[list[T]]:
        """What is to be done yet: all but what somebody holds. `part` had to wait for something."""
        half = len(part) // 2
        parts = [*left, part[half:], part[:half]]
        every = [item for some in parts for item in some]
        keys = {self.key(item) for item in every if is_last}
        if not is_last:
            keys |= await self.held(every) if self.held is not None else set()
            keys |= {self.key(part[0])} if len(part) == 1 else set()
        for item in every:
            if self.key(item) in keys:
                self.put_off(item)
        log.debug("tending_held", what=self.what, count=len(keys))
        return [[item for item in some if self.key(item) not in keys] for some in parts]

    async def _failed(self, item: T, trouble: Exception) -> None:
        if isinstance(trouble, BadValue) and self.bury is not None:
            try:
                self.tell(await self.bury(item, trouble))
            except Exception as again:
                trouble = again
            else:
                return
        facts: dict[str, Any] = {"what": self.what, "item": str(self.key(item))}
        if isinstance(trouble, Unavailable):
            log.warning("tending_put_off", reason=str(trouble), **facts)
            return
        seconds = self.backoff.failed(self.what, self.key(item))
        log.error("tending_failed", rest_seconds=seconds, exc_info=trouble, **facts)


def _is_away(trouble: Exception) -> bool:
    """Is it PostgreSQL, and not what this item needs?"""
    return isinstance(trouble, Unavailable) and not isinstance(trouble, RowLocked | TooSlow)
