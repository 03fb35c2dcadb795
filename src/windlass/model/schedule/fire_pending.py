"""Which instants of a rule are due: those from its next one on whose time has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from windlass.limits import PENDING_MAX
from windlass.model.schedule.next import between, count_between, next_after
from windlass.model.schedule.rule import Rule

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    instants: Sequence[datetime]  # due, oldest first; at most PENDING_MAX, the newest of them
    older: int  # due as well, and too many to be named
    next_at: datetime | None  # the first that is not due; None: the rule has no more


def pending(
    rule: Rule, next_at: datetime, now: datetime, fire_at: Callable[[datetime], datetime]
) -> Pending:
    """`fire_at` says when an instant goes: with its jitter. The first is due whatever it says."""
    following = next_after(rule, next_at)
    if following is None or fire_at(following) > now:
        return Pending(instants=[next_at], older=0, next_at=following)
    count = 1 + count_between(rule, next_at, now)
    since = next_at - _MICROSECOND
    if count > PENDING_MAX:
        since = _since(rule, next_at, now)
    instants = list(between(rule, since, now, PENDING_MAX))
    older = count - len(instants)
    # In order: one whose jitter is short does not overtake one whose jitter is long.
    while len(instants) > 1 and fire_at(instants[-1]) > now:
        instants.pop()
    return Pending(instants=instants, older=older, next_at=next_after(rule, instants[-1]))


def _since(rule: Rule, first: datetime, now: datetime) -> datetime:
    """An instant after which there are at most PENDING_MAX, and nearly as many."""
    low, high = first, now
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        if count_between(rule, middle, now) > PENDING_MAX:
            low = middle
        else:
            high = middle
    return high
