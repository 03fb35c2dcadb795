"""A rule that names hours fires once where clocks change; one for every hour keeps its pace."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.model.schedule.rules import clock, instants, rule

# Europe/Berlin: 02:00 becomes 03:00 on 29 March 2026, and 03:00 becomes 02:00 on 25 October.
SPRING = ("2026-03-28T12:00", "2026-03-29T12:00")
AUTUMN = ("2026-10-24T12:00", "2026-10-25T12:00")


@pytest.mark.parametrize(
    ("cron", "dst", "shown"),
    [
        ("30 2 * * *", {}, ["29 03:00 +2"]),
        ("0 2 * * *", {}, ["29 03:00 +2"]),
        ("30 2 * * *", {"gap": "skip"}, []),
        ("*/15 2 * * *", {}, ["29 03:00 +2"]),  # four of them, once
        ("30 2,3 * * *", {}, ["29 03:00 +2", "29 03:30 +2"]),
        ("0 2,3 * * *", {}, ["29 03:00 +2"]),  # both, once
        ("59 59 1 * * *", {}, ["29 01:59 +1"]),
        ("0 3 * * *", {"gap": "skip"}, ["29 03:00 +2"]),
        ("0 */2 29 * *", {}, ["29 00:00 +1", "29 03:00 +2", "29 04:00 +2"]),
        ("0 */2 29 * *", {"gap": "skip"}, ["29 00:00 +1", "29 04:00 +2"]),
    ],
)
def test_a_time_that_clocks_skip_fires_once_at_the_end_of_the_gap_or_not_at_all(
    cron: str, dst: dict[str, Any], shown: list[str]
) -> None:
    assert clock(rule(cron, dst=dst), *SPRING)[: len(shown) or None] == shown


@pytest.mark.parametrize(
    ("cron", "dst", "shown"),
    [
        ("30 2 * * *", {}, ["25 02:30 +2"]),
        ("30 2 * * *", {"overlap": "second"}, ["25 02:30 +1"]),
        ("30 2 * * *", {"overlap": "both"}, ["25 02:30 +2", "25 02:30 +1"]),
        ("30 2 * * 0", {"overlap": "both"}, ["25 02:30 +2", "25 02:30 +1"]),  # next in a week
        ("30 2 25 10 *", {"overlap": "second"}, ["25 02:30 +1"]),
        ("0 2 * * *", {}, ["25 02:00 +2"]),
        ("0 3 * * *", {"overlap": "both"}, ["25 03:00 +1"]),
        ("*/30 2 * * *", {}, ["25 02:00 +2", "25 02:30 +2"]),
        ("*/30 2 * * *", {"overlap": "second"}, ["25 02:00 +1", "25 02:30 +1"]),
    ],
)
def test_a_time_that_clocks_show_twice_fires_once_unless_both_are_asked_for(
    cron: str, dst: dict[str, Any], shown: list[str]
) -> None:
    assert clock(rule(cron, dst=dst), *AUTUMN) == shown


@pytest.mark.parametrize("stretch", [SPRING, AUTUMN])
@pytest.mark.parametrize("dst", [{}, {"gap": "next", "overlap": "second"}, {"gap": "skip"}])
@pytest.mark.parametrize(
    ("cron", "seconds"),
    [("30 * * * *", 3600), ("0 */1 * * *", 3600), ("*/15 * * * *", 900), ("*/10 * * * * *", 10)],
)
def test_a_rule_for_every_hour_goes_by_elapsed_time_whatever_the_policy(
    stretch: tuple[str, str], dst: dict[str, Any], cron: str, seconds: int
) -> None:
    found = instants(rule(cron, dst=dst), *stretch)
    assert {(b - a).total_seconds() for a, b in pairwise(found)} == {seconds}
    assert len(found) == 24 * 3600 / seconds


def test_where_clocks_change_by_half_an_hour_the_minute_stays() -> None:
    # Lord Howe: 02:00 becomes 02:30 on 4 October 2026, and 02:00 becomes 01:30 on 5 April.
    hourly = rule("15 * * * *", "Australia/Lord_Howe")
    assert clock(hourly, "2026-10-03T14:00", "2026-10-03T17:00") == [
        "04 01:15 +10.5",
        "04 03:15 +11",
    ]
    daily = rule("15 2 * * *", "Australia/Lord_Howe")
    assert clock(daily, "2026-10-03T12:00", "2026-10-04T12:00") == ["04 02:30 +11"]
    twice = rule("45 1 * * *", "Australia/Lord_Howe", dst={"overlap": "both"})
    assert clock(twice, "2026-04-04T12:00", "2026-04-05T12:00") == [
        "05 01:45 +11",
        "05 01:45 +10.5",
    ]


def test_a_day_that_never_was_fires_once_at_its_end() -> None:
    # Samoa went from 29 to 31 December 2011.
    stretch = ("2011-12-29T00:00", "2011-12-31T18:00")
    noon = rule("0 12 * * *", "Pacific/Apia")
    assert clock(noon, *stretch) == ["29 12:00 -10", "31 00:00 +14", "31 12:00 +14"]
    assert clock(rule("0 12 30 12 *", "Pacific/Apia"), *stretch) == ["31 00:00 +14"]
    assert clock(rule("0 12 30 12 *", "Pacific/Apia", dst={"gap": "skip"}), *stretch) == []
    hourly = instants(rule("0 * * * *", "Pacific/Apia"), *stretch)
    assert len(hourly) == 66
    # A rule for every hour of that day has no hour to fire in.
    assert clock(rule("0 * 30 12 *", "Pacific/Apia"), *stretch) == []


def test_midnight_may_be_skipped_or_come_twice() -> None:
    # São Paulo: 00:00 became 01:00 on 4 November 2018, and 00:00 became 23:00 on 18 February.
    midnight = rule("0 0 * * *", "America/Sao_Paulo")
    assert clock(midnight, "2018-11-03T12:00", "2018-11-04T12:00") == ["04 01:00 -2"]
    late = rule("30 23 * * *", "America/Sao_Paulo")
    assert clock(late, "2018-02-17T12:00", "2018-02-18T12:00") == ["17 23:30 -2"]
    # St John's: 00:01 became 23:01 on 7 November 2010, so that the seventh began twice.
    daily = rule("0 0 * * *", "America/St_Johns")
    assert clock(daily, "2010-11-06T12:00", "2010-11-07T12:00") == ["07 00:00 -2.5"]
    second = rule("0 0 * * *", "America/St_Johns", dst={"overlap": "second"})
    assert clock(second, "2010-11-06T12:00", "2010-11-07T12:00") == ["07 00:00 -3.5"]


def test_the_same_local_time_is_another_instant_in_summer() -> None:
    found = instants(rule("0 8 * * *"), "2026-03-28T00:00", "2026-03-31T00:00")
    assert [f"{instant:%H:%M}" for instant in found] == ["07:00", "06:00", "06:00"]
