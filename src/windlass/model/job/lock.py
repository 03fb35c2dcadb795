"""Named locks (mutex, semaphore): what they are called, and which waiter may go.

The wait list of a lock is in order of rank: the instant since when somebody waits, moved back by
LOCK_LEAD_SECONDS for each level of priority. So the more urgent go first, and nobody is passed by
for ever: whoever comes much later stands behind.

A waiter takes all its locks at once or none, so that nobody holds one while waiting for another.

    free          a: 1   b: 0
    waiters       W1 wants a b      not yet: b is taken. Patient: a is left to others
                  W2 wants a        goes
                  W3 wants a        waits
    later         W1 has waited for LOCK_PATIENCE_SECONDS: now it keeps what is free of `a`,
                  and those behind it wait for it

Without that patience a busy `b` would leave `a` idle; without its end W1 might wait until the one
instant at which both are free by chance. Of all who keep capacity, the first waiter waits for
nobody but holders, and they end: so nobody starves. Of those who lack the same lock one keeps what
they all want besides: behind a hundred jobs of one customer the others do not stand. Who waits for
a rate keeps nothing: only the clock ends that, and it may be a day.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass.limits import LOCK_CAPACITY_MAX, NAME_CHARS_MAX
from windlass.model.json.printable import CHAR_PATTERN, is_printable
from windlass.model.json.whole import read_whole

# The name stands in paths: nothing in it may lead elsewhere.
NAME_PATTERN: Final = f"[A-Za-z0-9_]{CHAR_PATTERN.replace('[^', '[^/')}*"
_NAME: Final = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockAsk:
    """A lock that a job asks for."""

    name: str
    capacity: int | None = None  # when the lock is made by this; None: 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    id: UUID
    locks: tuple[str, ...]  # all that it wants
    rank: datetime
    keeps_capacity: bool  # it has waited long enough


@dataclass(slots=True)
class Grants:
    """Who may go, of those that wait."""

    granted: list[Waiter] = field(default_factory=list)
    # May go as far as can be seen here: one of their locks is not among those looked at.
    unsure: list[Waiter] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)  # capacity that nobody took


def decide_grants(
    waiters: Iterable[Waiter], free: Mapping[str, int], by_rate: Collection[str] = ()
) -> Grants:
    """Who may go. `free` is the free capacity of each lock, of those that were looked at; `by_rate`
    are limits that have places, and whose rate lets so many go.
    """
    grants = Grants(left=dict(free))
    left = grants.left
    awaited: set[str] = set()  # for these somebody keeps what is free of other locks
    for waiter in sorted(waiters, key=lambda one: (one.rank, one.id)):
        lacking = {name for name in waiter.locks if left.get(name, 1) <= 0}
        if not lacking:
            if all(name in left for name in waiter.locks):
                grants.granted.append(waiter)
                _take(waiter, left)
                continue
            grants.unsure.append(waiter)
        if waiter.keeps_capacity and lacking.isdisjoint(awaited) and lacking.isdisjoint(by_rate):
            _take(waiter, left)
            awaited |= lacking
    return grants


def _take(waiter: Waiter, left: dict[str, int]) -> None:
    for name in waiter.locks:
        if left.get(name, 0) > 0:
            left[name] -= 1


def read_lock_ask(value: object) -> LockAsk:
    """A name, or `{"name": …, "capacity": …}`. Raises ValueError.

    A capacity is never part of the text: names are often made of data, and "card:3" is a card.
    """
    if isinstance(value, str):
        return LockAsk(name=read_lock_name(value))
    if not isinstance(value, dict) or not {"name"} <= set(value) <= {"name", "capacity"}:
        raise ValueError('must be a name, or an object such as {"name": "gpu", "capacity": 4}')
    name, capacity = read_lock_name(value["name"]), value.get("capacity")
    return LockAsk(name=name, capacity=None if capacity is None else read_capacity(capacity))


def read_capacity(value: object) -> int:
    """How many may hold a lock at once. Raises ValueError."""
    return read_whole(value, LOCK_CAPACITY_MAX)


def read_lock_name(value: object) -> str:
    """Raises ValueError."""
    is_text = isinstance(value, str) and len(value) <= NAME_CHARS_MAX and is_printable(value)
    if not isinstance(value, str) or not is_text or not _NAME.fullmatch(value):
        raise ValueError(
            f"must be 1 to {NAME_CHARS_MAX} printable characters other than /, and start with a "
            "letter or digit"
        )
    return value
