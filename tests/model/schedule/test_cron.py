"""Cron rules are read as Vixie's cron reads them, and more; what is wrong is said all at once."""

from __future__ import annotations

from collections import Counter
from datetime import date
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import InvalidInput
from windlass.model.schedule.cron import EPOCH_DAY, NICKNAMES, Cron, read_cron


def days_of(text: str, year: int, month: int, most: int = 31) -> list[int]:
    """The days of a month that a rule means."""
    first = date(year, month, 1).toordinal() - EPOCH_DAY
    found = (date.fromordinal(day + EPOCH_DAY) for day in read_cron(text).days(first))
    return [on.day for on in islice(found, most) if (on.year, on.month) == (year, month)]


def fields_of(cron: Cron) -> list[tuple[int, ...]]:
    fields = (cron.second, cron.minute, cron.hour, cron.day, cron.month, cron.weekday)
    return [field.values for field in fields]


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        ("5 * * * *", 1, (5,)),
        ("1,3,5 * * * *", 1, (1, 3, 5)),
        ("10-13 * * * *", 1, (10, 11, 12, 13)),
        ("*/20 * * * *", 1, (0, 20, 40)),
        ("5/20 * * * *", 1, (5, 25, 45)),
        ("10-20/5,0 * * * *", 1, (0, 10, 15, 20)),
        ("*/60 * * * *", 1, (0,)),
        ("* 22-23,0-1 * * *", 2, (0, 1, 22, 23)),
        ("* * 1-31/10 * *", 3, (1, 11, 21, 31)),
        ("* * * jan,JUL *", 4, (1, 7)),
        ("* * * Mar-may *", 4, (3, 4, 5)),
        ("* * * * 0", 5, (0,)),
        ("* * * * 7", 5, (0,)),
        ("* * * * 5-7", 5, (0, 5, 6)),
        ("* * * * FRI-SUN", 5, (0, 5, 6)),
        ("* * * * sun-tue", 5, (0, 1, 2)),
        ("* * * * */2", 5, (0, 2, 4, 6)),
        ("* * * * MON,wed", 5, (1, 3)),
        ("*/30 1 2 3 4 5", 0, (0, 30)),
        ("*/30 1 2 3 4 5", 1, (1,)),
        (" 1   2\t3 4 5 ", 2, (2,)),
    ],
)
def test_a_field_holds_numbers_names_lists_ranges_and_steps(
    text: str, field: int, values: tuple[int, ...]
) -> None:
    assert fields_of(read_cron(text))[field] == values


@pytest.mark.parametrize("name", NICKNAMES)
def test_a_nickname_is_the_rule_that_it_stands_for(name: str) -> None:
    assert fields_of(read_cron(name)) == fields_of(read_cron(NICKNAMES[name]))
    assert fields_of(read_cron(name.upper())) == fields_of(read_cron(name))


@pytest.mark.parametrize(
    ("text", "year", "month", "days"),
    [
        ("0 0 L * *", 2028, 2, [29]),
        ("0 0 L * *", 2026, 2, [28]),
        ("0 0 L-3 * *", 2026, 4, [27]),
        ("0 0 L-30 * *", 2026, 5, [1]),
        ("0 0 L-30 * *", 2026, 6, []),
        ("0 0 LW * *", 2026, 5, [29]),  # the 31st is a Sunday
        ("0 0 15W * *", 2026, 8, [14]),  # a Saturday goes back
        ("0 0 15W * *", 2026, 3, [16]),  # a Sunday goes on
        ("0 0 15W * *", 2026, 4, [15]),
        ("0 0 1W * *", 2026, 8, [3]),  # Saturday the 1st does not leave its month
        ("0 0 31W * *", 2026, 5, [29]),  # nor does Sunday the 31st
        ("0 0 31W * *", 2026, 4, []),
        ("0 0 * * 5L", 2026, 5, [29]),
        ("0 0 * * FRIL", 2026, 5, [29]),
        ("0 0 * * 7L", 2026, 5, [31]),
        ("0 0 * * 5#2", 2026, 5, [8]),
        ("0 0 * * sun#5", 2026, 5, [31]),
        ("0 0 * * 1#5", 2026, 5, []),
        ("0 0 * * 1#1,1#3", 2026, 5, [4, 18]),
        ("0 0 1W,15,L * *", 2026, 8, [3, 15, 31]),
    ],
)
def test_days_may_be_counted_from_the_end_from_weekdays_and_by_number(
    text: str, year: int, month: int, days: list[int]
) -> None:
    assert days_of(text, year, month) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 0 13 * 5", [1, 8, 13, 15, 22, 29]),  # either
        ("0 0 13 * *", [13]),
        ("0 0 ? * 5", [1, 8, 15, 22, 29]),
        ("0 0 13 * ?", [13]),
        ("0 0 */2 * 5", [1, 15, 29]),  # begins with a star: both
        ("0 0 1-7 * */5", [1, 3]),  # of Friday and Sunday, those that also are 1 to 7
        ("0 0 H * 5", sorted({1, 8, 15, 22, 29, read_cron("0 0 H * *").day.values[0]})),
    ],
)
def test_of_two_restricted_days_either_counts_unless_one_begins_with_a_star(
    text: str, days: list[int]
) -> None:
    assert days_of(text, 2026, 5) == days


def test_h_is_chosen_by_the_name_and_never_changes() -> None:
    # Another function would move every schedule that has an H.
    found = fields_of(read_cron("H H H H H H", "nightly report"))
    assert [value for (value,) in found] == [38, 29, 22, 16, 10, 3]
    assert read_cron("H(0-29)/10 * * * *", "nightly report").minute.values == (9, 19, 29)


@given(st.text(max_size=20))
def test_h_stays_in_its_range(name: str) -> None:
    cron = read_cron("H H(0-5) H * H(mon-fri)", name)
    assert cron.minute.values[0] in range(60)
    assert cron.hour.values[0] in range(6)
    assert cron.day.values[0] in range(1, 29)
    assert cron.weekday.values[0] in range(1, 6)
    stepped = read_cron("H/15 H(0-29)/10 * * * *", name)
    assert len(stepped.second.values) == 4
    assert len(stepped.minute.values) == 3
    assert stepped.minute.values[-1] < 30


def test_h_spreads_names_over_the_hour() -> None:
    minutes = Counter(read_cron("H * * * *", f"job {n}").minute.values[0] for n in range(2_000))
    assert len(minutes) == 60
    assert max(minutes.values()) < 4 * min(minutes.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("61 * * * *", ["minute: 61 lies outside 0-59"]),
        (
            "0 25 32 13 8",
            [
                "hour: 25 lies outside 0-23",
                "day of month: 32 lies outside 1-31",
                "month: 13 lies outside 1-12",
                "day of week: 8 lies outside 0-7",
            ],
        ),
        ("60,61 x * * *", ["60 lies outside", "61 lies outside", "hour: 'X' is not understood"]),
        ("*/90 * * * *", ['for other periods use "every", such as "90m"']),
        ("*/0 * * * *", ["a step is a whole number from 1"]),
        ("5/ * * * *", ["a step is a whole number from 1"]),
        ("0 22-6 * * *", ["'22-6' runs backwards; write 22-23,0-6"]),
        ("0 0 * * L", ["write 5L for the last Friday"]),
        ("0 0 * * 5#6", ["write #1 to #5"]),
        ("0 0 L-31 * *", ["L-0 to L-30"]),
        ("0 0 32W * *", ["32 lies outside 1-31"]),
        ("0 0 5#2 * *", ["day of month: '5#2' is not understood; allowed are 1-31"]),
        ("0 0 1W/2 * *", ["'1W' is not understood"]),
        ("0 0 1, * *", ["an empty item is not understood"]),
        ("? * * * *", ["? stands only for a day of month or of week; write *"]),
        ("h * * * *", ["H is a capital"]),
        ("H(5) * * * *", ["H takes a range, such as H(0-59)"]),
        ("H(0-4)/10 * * * *", ["the step is longer than the range of 5"]),
        ("H(30-10) * * * *", ["runs backwards"]),
        ("-5 * * * *", ["an empty item is not understood"]),
        ("٣ * * * *", ["is not understood"]),
        ("0 0 * *", ["has 4 fields; five are: minute hour day-of-month month day-of-week"]),
        ("0 0 0 1 1 * 2030", ["has 7 fields", "years are bounded by starts_at and ends_at"]),
        ("@reboot", ["'@reboot' is unknown; known are @yearly"]),
        ("@every 5m", ['use "every" for periods']),
        ("TZ=UTC 0 0 * * *", ["a zone belongs in timezone"]),
        ("", ["must be text of 1 to 256 characters"]),
        ("*" * 300, ["must be text of 1 to 256 characters"]),
        (5, ["must be text of 1 to 256 characters"]),
    ],
)
def test_what_is_wrong_is_said_of_every_field_with_what_is_allowed(
    text: object, said: list[str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_cron(text)
    details = "\n".join(problem.detail for problem in refused.value.problems)
    for part in said:
        assert part in details


@given(st.text(alphabet="0123456789*/,-?LWH#() @MONFEB", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        cron = read_cron(text)
    except InvalidInput:
        return
    assert all(fields_of(cron)[field] for field in (0, 1, 2, 4))


@pytest.mark.parametrize(
    "text",
    ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 L-29 2 *", "0 0 31W 6 *", "0 0 */31 2 1#5"],
)
def test_a_rule_without_a_day_is_known_at_once(text: str) -> None:
    cron = read_cron(text)
    assert cron.is_silent
    assert list(cron.days(0)) == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("0 0 29 2 *", date(2104, 2, 29)),
        ("0 0 */28 2 1#5", date(2112, 2, 29)),
        ("0 0 30 2 1#1", date(2098, 2, 3)),
        ("0 0 L-28 2 *", date(2104, 2, 1)),
    ],
)
def test_a_rare_day_is_found_however_far_it_is(text: str, first: date) -> None:
    cron = read_cron(text)
    assert not cron.is_silent
    start = date(2097, 3, 1).toordinal() - EPOCH_DAY
    assert date.fromordinal(next(cron.days(start)) + EPOCH_DAY) == first


@given(st.integers(0, 86_399), st.sampled_from(["*/7 */3 1,2,9 * * *", "0 0 * * *", "5 * * * * *"]))
def test_times_of_a_day_are_counted_as_they_are_listed(since: int, text: str) -> None:
    cron = read_cron(text)
    every = list(cron.times(0))
    assert every == sorted(every)
    assert len(every) == cron.times_a_day
    assert list(cron.times(since)) == [time for time in every if time >= since]
    assert cron.times_before(since) == sum(time < since for time in every)


@given(st.integers(-30, 30_000), st.integers(0, 2_000))
def test_days_are_counted_as_they_are_listed(first: int, length: int) -> None:
    for text in ("0 0 L,13 2-11 5", "0 0 * * *", "0 0 29 2 *"):
        cron = read_cron(text)
        listed = [day for day in islice(cron.days(first), length + 1) if day < first + length]
        assert cron.count_days(first, first + length) == len(listed)
