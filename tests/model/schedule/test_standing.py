"""Whatever is filled, every instant keeps exactly one row that tells of it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from windlass.model.schedule.ledger import LedgerRow, split_rows
from windlass.model.schedule.read import read_rule

FIRST = datetime(2030, 1, 1, tzinfo=UTC)
EVERY_MINUTE = read_rule({"cron": "* * * * *"}, name="minutely")


def at(minute: int) -> datetime:
    return FIRST + timedelta(minutes=minute)


def row(minute: int, stands_for: int) -> LedgerRow:
    return LedgerRow(instant=at(minute), stands_for=stands_for, state="skipped", reason="catchup")


def told(rows: dict[datetime, int]) -> list[datetime]:
    """The instants that the rows tell of, with whatever is told twice twice."""
    return sorted(
        instant - timedelta(minutes=back)
        for instant, stands_for in rows.items()
        for back in range(stands_for)
    )


def test_a_stretch_in_the_middle_leaves_a_row_on_either_side() -> None:
    changed = split_rows(EVERY_MINUTE, [at(3), at(4), at(5)], [row(8, 9)])
    assert [(one.instant, one.stands_for) for one in changed] == [(at(8), 3), (at(2), 3)]
    assert {(one.state, one.reason) for one in changed} == {("skipped", "catchup")}


def test_rows_that_stand_for_newer_instants_are_left_alone() -> None:
    assert split_rows(EVERY_MINUTE, [at(3), at(4)], [row(10, 4)]) == []


def test_whatever_is_filled_every_instant_is_told_of_once() -> None:
    for seed in range(500):
        chance = random.Random(seed)
        rows: dict[datetime, int] = {}
        end = -1
        for _ in range(chance.randint(1, 4)):
            stands_for = chance.randint(1, 8)
            end += stands_for
            rows[at(end)] = stands_for
        first = chance.randint(0, end)
        filled = [at(minute) for minute in range(first, chance.randint(first, end) + 1)]
        known = [
            LedgerRow(instant=instant, stands_for=stands_for, state="skipped", reason="catchup")
            for instant, stands_for in rows.items()
            if stands_for > 1 and instant >= filled[0]
        ]
        changed = split_rows(EVERY_MINUTE, filled, known)
        after = rows | {one.instant: one.stands_for for one in changed}
        for instant in filled:
            assert after.get(instant, 1) == 1, seed
            after[instant] = 1
        assert told(after) == [at(minute) for minute in range(end + 1)], seed
