"""Which instants are due: all of them, and no more than can be handled are named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from windlass.limits import PENDING_MAX
from windlass.model.schedule.cron import read_cron
from windlass.model.schedule.decision import pending
from windlass.model.schedule.rule import At, Rule

MIDNIGHT = datetime(2030, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
EVERY_MINUTE = Rule(when=read_cron("* * * * *"))
EVERY_SECOND = Rule(when=read_cron("* * * * * *"))


def at_once(instant: datetime) -> datetime:
    return instant


def test_one_that_is_due_is_followed_by_the_next() -> None:
    found = pending(EVERY_MINUTE, MIDNIGHT, MIDNIGHT + MINUTE / 2, at_once)
    assert (found.instants, found.older, found.next_at) == ([MIDNIGHT], 0, MIDNIGHT + MINUTE)


def test_an_instant_that_comes_right_now_is_due() -> None:
    found = pending(EVERY_MINUTE, MIDNIGHT, MIDNIGHT + 2 * MINUTE, at_once)
    assert found.instants == [MIDNIGHT, MIDNIGHT + MINUTE, MIDNIGHT + 2 * MINUTE]
    assert found.next_at == MIDNIGHT + 3 * MINUTE


def test_after_a_long_silence_the_newest_are_named_and_the_others_counted() -> None:
    days = timedelta(days=30)
    found = pending(EVERY_SECOND, MIDNIGHT, MIDNIGHT + days, at_once)
    assert found.older + len(found.instants) == days // timedelta(seconds=1) + 1
    assert PENDING_MAX // 2 < len(found.instants) <= PENDING_MAX
    assert found.instants[-1] == MIDNIGHT + days
    assert found.next_at == MIDNIGHT + days + timedelta(seconds=1)


def test_a_rule_may_have_no_more_instants() -> None:
    once = Rule(when=At(instants=(MIDNIGHT,)))
    found = pending(once, MIDNIGHT, MIDNIGHT + MINUTE, at_once)
    assert (found.instants, found.next_at) == ([MIDNIGHT], None)


def test_one_whose_jitter_is_not_over_waits_for_it() -> None:
    def later(instant: datetime) -> datetime:
        return instant + timedelta(seconds=90)

    found = pending(EVERY_MINUTE, MIDNIGHT, MIDNIGHT + 3 * MINUTE, later)
    assert found.instants == [MIDNIGHT, MIDNIGHT + MINUTE]
    assert found.next_at == MIDNIGHT + 2 * MINUTE
