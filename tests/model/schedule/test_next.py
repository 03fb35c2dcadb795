"""Due instants: the next one, those of a stretch, and how many they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.schedule.rules import MADE_AT, instants, rule, utc
from windlass.model.schedule.next import between, count_between, due, next_after
from windlass.model.schedule.rule import Rule, fire_at
from windlass.model.schedule.zone import local

WEEKENDS = {"weekdays": ["saturday", "sunday"]}
RULES = [
    rule("30 2 * * *"),
    rule("30 2 * * *", dst={"overlap": "both", "gap": "skip"}),
    rule("30 2 * * *", dst={"overlap": "second"}),
    rule("*/20 1-3 * * 0", "Australia/Lord_Howe"),
    rule("0 * * * *", "Africa/Casablanca"),
    rule("5,35 */30 2 * * *", "America/St_Johns"),
    rule("0 9 L,15W * *", "Pacific/Apia", calendar={**WEEKENDS, "shift": "next"}),
    rule("0 9 1,2 * *", "Asia/Tehran", calendar={**WEEKENDS, "shift": "previous"}),
    rule("0 0 * * *", "America/Sao_Paulo", calendar=WEEKENDS),
    rule(every="7h"),
    rule(every="90.5s", calendar=WEEKENDS),
    rule(every="31d", starts_at="2024-02-29T12:34:56.789Z"),
    rule(at=[f"2026-0{month}-01T08:00:00Z" for month in range(1, 10)]),
    rule("0 8 * * *", starts_at="2026-02-01T07:00:00Z", ends_at="2026-05-01T06:00:00Z"),
]
MOMENTS = st.datetimes(
    datetime(2025, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC)
)  # holds each change of clocks twice


@given(st.sampled_from(RULES), MOMENTS, st.integers(1, 20))
def test_one_after_the_other_is_what_a_stretch_holds(
    asked: Rule, after: datetime, most: int
) -> None:
    found, at = [], after
    for _ in range(most):
        following = next_after(asked, at)
        if following is None:
            break
        assert following > at
        found.append(following)
        at = following
    assert [*between(asked, after, datetime.max.replace(tzinfo=UTC), most)] == found


@given(st.sampled_from(RULES), MOMENTS, st.timedeltas(timedelta(0), timedelta(days=9)))
def test_stretches_laid_end_to_end_miss_nothing_and_have_nothing_twice(
    asked: Rule, after: datetime, length: timedelta
) -> None:
    middle, end = after + length, after + length + timedelta(days=2)
    whole = [*between(asked, after, end, 1_000_000)]
    parts = [*between(asked, after, middle, 1_000_000), *between(asked, middle, end, 1_000_000)]
    assert whole == parts
    assert count_between(asked, after, end) == len(whole)


def test_an_instant_that_is_due_is_not_after_itself() -> None:
    daily = rule("0 8 * * *", "UTC")
    eight = utc("2026-05-01T08:00")
    assert next_after(daily, eight) == utc("2026-05-02T08:00")
    assert next_after(daily, eight - timedelta(microseconds=1)) == eight
    assert next_after(daily, eight + timedelta(microseconds=1)) == utc("2026-05-02T08:00")


def test_a_period_goes_by_elapsed_time_from_its_anchor() -> None:
    daily = rule(every="1d", starts_at="2026-03-28T08:00:00+01:00")
    found = instants(daily, "2026-03-01T00:00", "2026-03-31T12:00")
    # 08:00, and from the change of clocks on 09:00: a day is 24 hours.
    assert [f"{at:%d %H:%M}" for at in found] == ["28 07:00", "29 07:00", "30 07:00", "31 07:00"]
    assert next_after(rule(every="7h"), MADE_AT - timedelta(days=9)) == MADE_AT
    assert next_after(rule(every="7h"), MADE_AT) == MADE_AT + timedelta(hours=7)


@pytest.mark.parametrize(
    ("zone", "start", "off"),
    [
        ("Europe/Berlin", "2026-05-01T00:00", "saturday"),
        # The clocks go back over midnight: a minute of Sunday, again an hour of Saturday.
        ("America/St_Johns", "2010-11-05T00:00", "sunday"),
        ("America/St_Johns", "2010-11-05T00:00", "saturday"),
        ("Pacific/Apia", "2011-12-28T00:00", "thursday"),
        ("Pacific/Apia", "2011-12-28T00:00", "friday"),  # there was none
    ],
)
def test_a_period_leaves_out_days_off_and_comes_back_in_step(
    zone: str, start: str, off: str
) -> None:
    until = utc(start) + timedelta(days=5)
    given: dict[str, Any] = {"every": "20s", "starts_at": f"{start}Z", "timezone": zone}
    every = rule(**given, calendar={"weekdays": [off]})
    all_of_them = between(rule(**given), utc(start), until, 100_000)
    kept = [at for at in all_of_them if f"{local(zone, at):%A}".lower() != off]
    assert len(kept) > 10_000
    assert [*between(every, utc(start), until, 100_000)] == kept
    assert count_between(every, utc(start), until) == len(kept)


def test_instants_fire_in_order_and_each_once() -> None:
    named = rule(at=["2026-05-02T00:00:00Z", "2026-05-01T00:00:00Z", "2026-05-02T02:00:00+02:00"])
    found = instants(named, "2026-01-01T00:00", "2027-01-01T00:00")
    assert found == [utc("2026-05-01T00:00"), utc("2026-05-02T00:00")]
    assert next_after(named, found[-1]) is None


def test_a_rule_fires_from_its_start_on_and_before_its_end() -> None:
    bounded = rule(
        "0 8 * * *", "UTC", starts_at="2026-05-01T08:00:00Z", ends_at="2026-05-04T08:00:00Z"
    )
    found = [*due(bounded, utc("2020-01-01T00:00"))]
    assert [at.day for at in found] == [1, 2, 3]
    assert count_between(bounded, utc("2020-01-01T00:00"), utc("2030-01-01T00:00")) == 3
    assert next_after(bounded, utc("2026-05-03T08:00")) is None


def test_millions_are_counted_without_being_visited() -> None:
    start, end = utc("2016-01-01T00:00"), utc("2026-01-01T00:00")
    seconds = int((end - start).total_seconds())
    assert count_between(rule("* * * * * *"), start, end) == seconds
    assert count_between(rule(every="1s", starts_at="2016-01-01T00:00:00Z"), start, end) == seconds
    with pytest.raises(ValueError, match="longer than 100 years"):
        count_between(rule("* * * * *"), start, start + timedelta(days=40_000))


def test_time_before_1970_and_after_the_last_year_is_empty() -> None:
    yearly = rule("0 0 1 1 *", "UTC")
    assert next_after(yearly, datetime.min.replace(tzinfo=UTC)) == utc("1970-01-01T00:00")
    assert next_after(yearly, datetime.max.replace(tzinfo=UTC)) is None
    assert next_after(rule("0 0 29 2 *"), utc("9989-01-01T00:00")) is None
    assert next_after(rule(every="366d"), datetime.max.replace(tzinfo=UTC)) is None


def test_a_rule_that_never_fires_ends_its_search() -> None:
    assert next_after(rule("0 0 30 2 *"), MADE_AT) is None
    sundays = rule("0 0 * * 0", calendar={"weekdays": ["sunday"]})
    assert next_after(sundays, MADE_AT) is None
    for_ever = {"ranges": [{"from": "2020-01-01", "to": "9000-01-01"}]}
    assert next_after(rule(every="1s", calendar=for_ever), MADE_AT) is None
    assert next_after(rule("* * * * * *", calendar={**for_ever, "shift": "next"}), MADE_AT) is None
    late = rule(every="9d", starts_at="9989-01-01T00:00:00Z", calendar=WEEKENDS)
    assert len([*due(late, MADE_AT)]) > 30


@given(st.uuids(), MOMENTS, st.floats(0, 86_400))
def test_jitter_is_a_delay_that_is_always_the_same(
    schedule_id: UUID, instant: datetime, jitter_seconds: float
) -> None:
    fires = fire_at(schedule_id, instant, jitter_seconds)
    assert timedelta(0) <= fires - instant <= timedelta(seconds=jitter_seconds)
    assert fire_at(schedule_id, instant, jitter_seconds) == fires


def test_jitter_spreads_schedules_and_instants() -> None:
    instant = utc("2026-05-01T00:00")
    delays = {fire_at(UUID(int=n), instant, 60.0) for n in range(1_000)}
    assert len(delays) == 1_000
    assert {(at - instant).seconds // 6 for at in delays} == set(range(10))
    days = {fire_at(UUID(int=1), at, 60.0) - at for at in (instant, instant + timedelta(days=1))}
    assert len(days) == 2
