"""A schedule's rule is read whole: every problem with its pointer, and why it would never fire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.model.schedule.dst import Dst
from windlass.model.schedule.next import next_after
from windlass.model.schedule.read import RULE_FIELDS, read_rule
from windlass.model.schedule.rule import At, Every

NOW = datetime(2026, 3, 26, tzinfo=UTC)


def problems(**given: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        read_rule(given, name="digest", now=NOW)
    return [(problem.pointer, problem.detail) for problem in refused.value.problems]


def test_a_rule_is_read_with_all_that_belongs_to_it() -> None:
    given = {
        "cron": "0 8 * * 1-5",
        "timezone": "Europe/Berlin",
        "dst": {"gap": "skip", "overlap": "both"},
        "starts_at": "2026-04-01T00:00:00+02:00",
        "ends_at": "2027-04-01T00:00:00Z",
        "jitter": "30s",
        "calendar": {"weekdays": ["sat"]},
        "overlap": "skip",
        "every": None,
    }
    rule = read_rule(given, name="digest", now=NOW)
    assert rule.timezone == "Europe/Berlin"
    assert rule.dst == Dst(gap="skip", overlap="both")
    assert rule.starts_at == datetime(2026, 3, 31, 22, tzinfo=UTC)
    assert rule.jitter_seconds == 30.0
    assert rule.calendar is not None
    assert set(given) - set(RULE_FIELDS) == {"overlap"}


def test_without_a_word_the_zone_is_utc_and_clocks_are_met_as_people_expect() -> None:
    rule = read_rule({"cron": "@daily"}, name="digest", now=NOW)
    assert (rule.timezone, rule.dst, rule.calendar) == ("UTC", Dst(), None)


def test_a_period_counts_from_its_start_or_from_when_it_was_made() -> None:
    made_at = datetime(2026, 1, 1, tzinfo=UTC)

    def every(**more: Any) -> Every:
        when = read_rule({"every": "90m", **more}, name="x", anchor_at=made_at).when
        assert isinstance(when, Every)
        return when

    assert every().anchor_at == made_at
    assert every(starts_at="2026-02-01T00:00:00Z").anchor_at == datetime(2026, 2, 1, tzinfo=UTC)
    assert every().microseconds == 5_400_000_000


def test_one_instant_or_several_may_be_named() -> None:
    one = read_rule({"at": "2030-01-01T00:00:00Z"}, name="x", now=NOW).when
    two = ["2031-01-01T00:00:00Z", "2030-01-01T00:00:00Z"]
    several = read_rule({"at": two}, name="x", now=NOW).when
    assert isinstance(one, At)
    assert isinstance(several, At)
    assert [at.year for at in one.instants] == [2030]
    assert [at.year for at in several.instants] == [2030, 2031]


def test_every_problem_is_said_at_once() -> None:
    found = problems(
        cron="61 25 * * *",
        every=0,
        timezone="Mars",
        dst={"gap": "leap", "summer": True},
        starts_at="tomorrow",
        jitter="2d",
        calendar={"shift": "up", "dates": [1]},
    )
    assert [pointer for pointer, _ in found] == [
        "/starts_at",
        "/every",
        "/cron",
        "/cron",
        "/every",
        "/jitter",
        "/calendar/dates/0",
        "/calendar/shift",
        "/timezone",
        "/dst/summer",
        "/dst/gap",
    ]


@pytest.mark.parametrize(
    ("given", "pointer", "detail"),
    [
        ({}, "", "say when: cron"),
        ({"every": 0}, "/every", "must be at least 1 second"),
        ({"every": "0s"}, "/every", "must be at least 1 second"),
        ({"every": "500ms"}, "/every", "must be at least 1 second"),
        ({"every": "367d"}, "/every", "is longer than"),
        ({"every": True}, "/every", "is not a duration"),
        ({"every": "10s", "jitter": "10s"}, "/jitter", "must be shorter than every"),
        (
            {"every": "10s", "calendar": {"weekdays": ["sat"], "shift": "next"}},
            "/calendar/shift",
            "moves days, and every has none",
        ),
        ({"at": []}, "/at", "a list of 1 to 1000"),
        ({"at": ["2030-01-01T00:00:00Z"] * 1_001}, "/at", "a list of 1 to 1000"),
        ({"at": ["2030-01-01T00:00:00Z", "x"]}, "/at/1", "must be an instant with its offset"),
        ({"at": "2030-01-01T00:00:00"}, "/at", "must be an instant with its offset"),
        ({"at": "9999-01-01T00:00:00Z"}, "/at", "lies after the year 9989"),
        ({"cron": "@daily", "dst": "next"}, "/dst", "must be an object"),
        ({"cron": "@daily", "dst": {"overlap": None}}, "/dst/overlap", "first second both"),
        (
            {
                "cron": "@daily",
                "starts_at": "2027-01-01T00:00:00Z",
                "ends_at": "2026-12-01T00:00:00Z",
            },
            "/ends_at",
            "does not lie after starts_at",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(
    given: dict[str, Any], pointer: str, detail: str
) -> None:
    [(found, said)] = problems(**given)
    assert found == pointer
    assert detail in said


@pytest.mark.parametrize(
    ("given", "pointer", "detail"),
    [
        ({"cron": "0 0 30 2 *"}, "/cron", "never: there is no 30 February; use L"),
        ({"cron": "0 0 31 4,6 *"}, "/cron", "never: there is no 31 April or June"),
        ({"cron": "0 0 30,31 FEB *"}, "/cron", "never: there is no 30 or 31 February"),
        ({"cron": "0 0 L-30 2 *"}, "/cron", "never: there is no day L-30 in February"),
        ({"cron": "0 0 */31 2 1#5"}, "/cron", "never: no day is both */31 of February and 1#5"),
        (
            {"cron": "0 0 * * 6", "calendar": {"weekdays": ["sat"]}},
            "/calendar",
            "never: it leaves none of the rule's days within 50 years",
        ),
        (
            {"cron": "0 0 25 12 *", "calendar": {"dates": ["12-25"]}},
            "/calendar",
            "never: it leaves none of the rule's days",
        ),
        (
            {"cron": "@yearly", "ends_at": "2026-12-31T00:00:00Z"},
            "/ends_at",
            "never: the next instant would be 2027-01-01T00:00:00+00:00",
        ),
        ({"cron": "@daily", "ends_at": "2026-01-01T00:00:00Z"}, "/ends_at", "lies in the past"),
        ({"at": "2020-01-01T00:00:00Z"}, "/at", "lies in the past: the last instant"),
        (
            {"at": "2026-05-01T00:00:00Z", "starts_at": "2026-06-01T00:00:00Z"},
            "/starts_at",
            "never: every instant of it lies before starts_at",
        ),
    ],
)
def test_a_rule_that_never_fires_is_refused_with_the_reason(
    given: dict[str, Any], pointer: str, detail: str
) -> None:
    [(found, said)] = problems(**given)
    assert found == pointer
    assert detail in said


def test_a_rule_that_was_accepted_is_read_again_when_its_time_is_over() -> None:
    rule = read_rule({"at": "2020-01-01T00:00:00Z"}, name="x")
    assert next_after(rule, NOW) is None
