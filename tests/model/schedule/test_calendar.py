"""Days off: a rule's days are left out or moved to a working day, each working day once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.schedule.rules import instants, rule
from windlass.errors import InvalidInput
from windlass.model.schedule.calendar import Calendar
from windlass.model.schedule.calendar_read import read_calendar
from windlass.model.schedule.cron import EPOCH_DAY
from windlass.model.schedule.next import next_after

WEEKENDS = ["saturday", "sunday"]


def days(cron: str, calendar: dict[str, Any], start: str, end: str) -> list[str]:
    asked = rule(cron, "UTC", calendar=calendar)
    return [f"{at:%m-%d}" for at in instants(asked, f"{start}T00:00", f"{end}T00:00")]


def test_a_day_off_is_left_out() -> None:
    # 2026-05-02 is a Saturday.
    assert days("0 9 * * *", {"weekdays": WEEKENDS}, "2026-05-01", "2026-05-06") == [
        "05-01",
        "05-04",
        "05-05",
    ]


@pytest.mark.parametrize(("shift", "to"), [("next", "05-04"), ("previous", "05-01")])
def test_a_day_off_is_moved_to_a_working_day(shift: str, to: str) -> None:
    calendar = {"weekdays": WEEKENDS, "shift": shift}
    assert days("0 9 2 * *", calendar, "2026-05-01", "2026-05-31") == [to]


def test_two_days_that_end_up_on_one_fire_once() -> None:
    calendar = {"weekdays": WEEKENDS, "shift": "next"}
    assert days("0 9 2-5 * *", calendar, "2026-05-01", "2026-05-31") == ["05-04", "05-05"]
    calendar = {"weekdays": WEEKENDS, "shift": "previous"}
    assert days("0 9 1-3 * *", calendar, "2026-05-01", "2026-05-31") == ["05-01"]


def test_a_day_is_moved_over_the_end_of_its_month_and_over_further_days_off() -> None:
    calendar = {"weekdays": WEEKENDS, "dates": ["2026-06-01", "06-02"], "shift": "next"}
    assert days("0 9 L * *", calendar, "2026-05-30", "2026-06-20") == ["06-03"]
    # Asked from the middle of the days off, the answer is the same.
    assert days("0 9 L * *", calendar, "2026-06-02", "2026-06-20") == ["06-03"]
    assert days("0 9 L * *", calendar, "2026-06-04", "2026-06-20") == []


def test_ranges_include_both_ends_and_dates_without_a_year_come_every_year() -> None:
    calendar = {
        "ranges": [
            {"from": "2026-12-27", "to": "2026-12-29"},
            {"from": "2026-12-28", "to": "2026-12-30"},
        ],
        "dates": ["12-25", "12-26", "2027-01-01"],
    }
    assert days("0 9 * * *", calendar, "2026-12-24", "2027-01-03") == ["12-24", "12-31", "01-02"]
    assert days("0 9 * * *", calendar, "2028-12-24", "2028-12-28") == ["12-24", "12-27"]


def test_holidays_of_countries_and_of_their_parts_are_known() -> None:
    # Epiphany, 6 January, is a holiday of Bavaria and not of all of Germany.
    assert days("0 9 1,6 1 *", {"countries": ["DE"]}, "2027-01-01", "2027-02-01") == ["01-06"]
    assert days("0 9 1,6 1 *", {"countries": ["DE-BY"]}, "2027-01-01", "2027-02-01") == []
    easter = {"countries": ["DE"], "weekdays": WEEKENDS, "shift": "next"}
    # Good Friday to Easter Monday 2026 is 3 to 6 April.
    assert days("0 9 3 4 *", easter, "2026-04-01", "2026-05-01") == ["04-07"]


def test_a_moved_instant_keeps_its_local_time() -> None:
    calendar = {"weekdays": WEEKENDS, "shift": "next"}
    # Saturday 28 March 09:00 in winter; Monday 30 March 09:00 in summer.
    moved = rule(at="2026-03-28T08:00:00.5Z", calendar=calendar)
    assert instants(moved, "2026-03-01T00:00", "2026-04-30T00:00") == [
        datetime(2026, 3, 30, 7, 0, 0, 500_000, tzinfo=UTC)
    ]
    # And where that local time does not exist, the end of the gap.
    sunday = {"weekdays": ["saturday"], "shift": "next"}
    late = rule(at="2026-03-28T01:30:00Z", calendar=sunday)
    assert instants(late, "2026-03-01T00:00", "2026-04-30T00:00") == [
        datetime(2026, 3, 29, 1, tzinfo=UTC)
    ]


def test_the_day_is_that_of_the_rules_zone() -> None:
    # Friday 23:30 in New York is Saturday in UTC.
    asked = rule("30 23 1 5 *", "America/New_York", calendar={"weekdays": WEEKENDS})
    assert next_after(asked, datetime(2026, 1, 1, tzinfo=UTC)) is not None
    found = instants(asked, "2026-05-01T00:00", "2026-05-03T00:00")
    assert found == [datetime(2026, 5, 2, 3, 30, tzinfo=UTC)]


@given(
    st.frozensets(st.integers(0, 6), max_size=6),
    st.frozensets(st.integers(20_000, 20_060), max_size=30),
    st.sampled_from(["none", "next", "previous"]),
    st.integers(20_000, 20_060),
)
def test_days_from_anywhere_on_are_the_days_from_the_start(
    weekdays: frozenset[int], dates: frozenset[int], shift: Any, first: int
) -> None:
    calendar = Calendar(weekdays=weekdays, dates=dates, shift=shift)

    def source(since: int) -> Any:
        return iter([day for day in range(19_000, 20_100, 3) if day >= since])

    whole = [*calendar.days(source, 19_000)]
    assert whole == sorted(set(whole))
    assert [*calendar.days(source, first)] == [day for day in whole if day >= first]
    assert not any(calendar.is_off(day) for day in whole)


def test_what_is_moved_somewhere_is_found_from_there() -> None:
    calendar = Calendar(weekdays=frozenset({5, 6}), shift="next")
    monday = date(2026, 5, 4).toordinal() - EPOCH_DAY
    assert [*calendar.sources(monday)] == [monday - 1, monday - 2]
    assert [*calendar.sources(monday - 1)] == []
    assert calendar.moved(monday - 2) == monday


@pytest.mark.parametrize(
    ("value", "pointer", "detail"),
    [
        ([], "", "must be an object"),
        ({}, "", "names no day off; give weekdays, dates, ranges or countries"),
        ({"days": []}, "/days", "unknown field; known are weekdays dates ranges countries shift"),
        ({"weekdays": ["caturday"]}, "/weekdays/0", "must be one of: monday tuesday"),
        ({"weekdays": [6]}, "/weekdays/0", "must be one of: monday tuesday"),
        ({"weekdays": "sunday"}, "/weekdays", "must be a list of at most 7"),
        (
            {"weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]},
            "/weekdays",
            "leaves no day of the week",
        ),
        ({"dates": ["02-30"]}, "/dates/0", "there is no 02-30 in any year"),
        ({"dates": ["2030-02-29"]}, "/dates/0", "2030-02-29 is no date"),
        ({"dates": ["24.12.2030"]}, "/dates/0", 'must be a date such as "2030-12-24"'),
        ({"dates": ["0001-01-01"]}, "/dates/0", "must be a date"),
        ({"dates": ["12-24"] * 2_001}, "/dates", "must be a list of at most 2000"),
        ({"ranges": [{"from": "2030-01-02"}]}, "/ranges/0", "both included"),
        (
            {"ranges": [{"from": "2030-01-02", "to": "2030-01-01"}]},
            "/ranges/0",
            "ends before it begins",
        ),
        ({"countries": ["Germany"]}, "/countries/0", "must be a country as in ISO 3166"),
        ({"countries": ["XX"]}, "/countries/0", "the holidays of XX are not known"),
        ({"countries": ["DE-XX"]}, "/countries/0", "DE has no part XX"),
        ({"weekdays": ["sun"], "shift": "up"}, "/shift", "must be one of: none next previous"),
        ({"weekdays": ["sun"], "shift": [1]}, "/shift", "must be one of: none next previous"),
    ],
)
def test_what_is_wrong_with_a_calendar_is_said_with_its_pointer(
    value: object, pointer: str, detail: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_calendar(value)
    [problem] = refused.value.problems
    assert problem.pointer == pointer
    assert detail in problem.detail
