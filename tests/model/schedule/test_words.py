"""Rules in words, and notes where an instant is odd."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from tests.model.schedule.rules import rule, utc
from windlass.model.schedule.preview import preview
from windlass.model.schedule.words import words


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("0 8 * * 1-5", "at 08:00 from Monday to Friday"),
        ("@daily", "at 00:00 every day"),
        ("@hourly", "every hour"),
        ("@weekly", "at 00:00 on Sunday"),
        ("@yearly", "at 00:00 on day 1 of January"),
        ("* * * * *", "every minute"),
        ("* * * * * *", "every second"),
        ("*/15 * * * *", "every 15 minutes"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("5 * * * *", "at minute 5 of every hour"),
        ("*/7 * * * *", "at minutes 0 to 56 in steps of 7 of every hour"),
        ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
        ("*/10 9-17 * * MON-FRI", "every 10 minutes from 09:00 to 17:50 from Monday to Friday"),
        ("* 2 * * *", "every minute from 02:00 to 02:59"),
        ("0 */2 * * *", "every 2 hours from 00:00 to 22:00"),
        ("0 8,12,18 * * 0,6", "at 08:00, 12:00 and 18:00 on Saturday and Sunday"),
        ("30 30 2 * * *", "at 02:30:30 every day"),
        (
            "*/20 */30 2,3 * * *",
            "every 20 seconds of the minute, every 30 minutes from 02:00 to 03:30",
        ),
        ("30 4 1,15 * 5", "at 04:30 on days 1 and 15 of the month or on Friday"),
        (
            "0 0 */2 * 1",
            "at 00:00 on Monday if it is also on days 1 to 31 in steps of 2 of the month",
        ),
        ("0 12 L * *", "at 12:00 on the last day of the month"),
        ("0 12 L-1 * *", "at 12:00 on the last day but one of the month"),
        ("0 12 L-3 * *", "at 12:00 on the day 3 days before the last of the month"),
        ("0 12 LW * *", "at 12:00 on the last day from Monday to Friday of the month"),
        (
            "0 9 15W * *",
            "at 09:00 on the day from Monday to Friday nearest to day 15 of the month",
        ),
        ("0 0 * * 5L", "at 00:00 on the last Friday of the month"),
        ("0 0 * * 5#2", "at 00:00 on the second Friday of the month"),
        ("15,45 8 * 6-8 *", "at 08:15 and 08:45 every day from June to August"),
        ("0 0 1 JAN,JUL *", "at 00:00 on day 1 of January and July"),
        ("H H * * *", "at 17:39 every day"),
    ],
)
def test_a_cron_rule_is_said_as_people_say_it(cron: str, said: str) -> None:
    assert words(rule(cron)) == f"{said}, Europe/Berlin"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"every": "90m"}, "every 90 minutes, counted from 2020-01-01T00:00:00Z"),
        ({"every": "1d"}, "every day, counted from 2020-01-01T00:00:00Z"),
        ({"every": 1.5}, "every 1.5 seconds, counted from 2020-01-01T00:00:00Z"),
        ({"at": "2030-01-01T00:00:00Z"}, "once at 2030-01-01T00:00:00Z"),
        (
            {"at": ["2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"]},
            "at 2030-01-01T00:00:00Z and 2031-01-01T00:00:00Z",
        ),
        (
            {"at": [f"20{year}-01-01T00:00:00Z" for year in range(30, 40)]},
            "at 10 instants from 2030-01-01T00:00:00Z to 2039-01-01T00:00:00Z",
        ),
        (
            {"cron": "@daily", "calendar": {"weekdays": ["sat", "sun"]}},
            "at 00:00 every day, Europe/Berlin, except on Saturday and Sunday",
        ),
        (
            {
                "cron": "@daily",
                "calendar": {
                    "dates": ["12-24", "2030-06-07"],
                    "ranges": [{"from": "2030-08-01", "to": "2030-08-14"}],
                    "countries": ["DE-BY"],
                    "shift": "previous",
                },
            },
            (
                "at 00:00 every day, Europe/Berlin, moved to the previous working day from"
                " 2030-06-07, 12-24, 2030-08-01 to 2030-08-14 and holidays of DE-BY"
            ),
        ),
        (
            {"cron": "@daily", "dst": {"gap": "skip", "overlap": "both"}, "jitter": 30},
            (
                "at 00:00 every day, Europe/Berlin, left out when clocks skip it, both times when"
                " clocks show it twice, each up to 30 seconds later"
            ),
        ),
        (
            {
                "cron": "@hourly",
                "dst": {"gap": "skip"},
                "starts_at": "2030-01-01T00:00:00Z",
                "ends_at": "2031-01-01T00:00:00Z",
            },
            "every hour, Europe/Berlin, from 2030-01-01T00:00:00Z on, until 2031-01-01T00:00:00Z",
        ),
    ],
)
def test_what_belongs_to_a_rule_is_said_after_it(given: dict[str, Any], said: str) -> None:
    assert words(rule(**given)) == said


SPRING, AUTUMN = "2026-03-28T12:00", "2026-10-24T12:00"


@pytest.mark.parametrize(
    ("given", "after", "shown"),
    [
        (
            {"cron": "30 2 * * *"},
            SPRING,
            [
                (
                    "2026-03-29T03:00:00+02:00",
                    "clocks go forward here: 02:30 does not exist, fires at 03:00",
                ),
                ("2026-03-30T02:30:00+02:00", None),
            ],
        ),
        (
            {"cron": "*/15 2 * * *"},
            SPRING,
            [
                (
                    "2026-03-29T03:00:00+02:00",
                    "clocks go forward here: 02:00 to 02:45 do not exist, fires at 03:00",
                )
            ],
        ),
        (
            {"cron": "30 2 * * *", "dst": {"gap": "skip"}},
            SPRING,
            [
                (
                    "2026-03-30T02:30:00+02:00",
                    "clocks go forward before: 2026-03-29 02:30 does not exist and is left out",
                ),
                ("2026-03-31T02:30:00+02:00", None),
            ],
        ),
        (
            {"cron": "30 2 * * *"},
            AUTUMN,
            [
                (
                    "2026-10-25T02:30:00+02:00",
                    "clocks go back here: 02:30 comes twice, fires at the first",
                ),
                ("2026-10-26T02:30:00+01:00", "clocks went back: +02:00 became +01:00"),
            ],
        ),
        (
            {"cron": "30 2 * * *", "dst": {"overlap": "both"}},
            AUTUMN,
            [
                (
                    "2026-10-25T02:30:00+02:00",
                    "clocks go back here: 02:30 comes twice, fires both times",
                ),
                (
                    "2026-10-25T02:30:00+01:00",
                    "clocks go back here: 02:30 comes twice, fires both times",
                ),
                ("2026-10-26T02:30:00+01:00", None),
            ],
        ),
        (
            {"cron": "0 * * * *"},
            "2026-03-28T23:30",
            [
                ("2026-03-29T01:00:00+01:00", None),
                ("2026-03-29T03:00:00+02:00", "clocks went forward: +01:00 became +02:00"),
                ("2026-03-29T04:00:00+02:00", None),
            ],
        ),
        (
            {"cron": "0 12 30 12 *", "timezone": "Pacific/Apia"},
            "2011-12-01T00:00",
            [
                (
                    "2011-12-31T00:00:00+14:00",
                    (
                        "clocks go forward here: 2011-12-30 12:00 does not exist,"
                        " fires at 2011-12-31 00:00"
                    ),
                )
            ],
        ),
        (
            {"cron": "0 9 1,3 * *", "calendar": {"weekdays": ["sat", "sun"], "shift": "next"}},
            "2026-07-31T12:00",
            [
                ("2026-08-03T09:00:00+02:00", "also for Saturday 2026-08-01, a day off"),
                ("2026-09-01T09:00:00+02:00", None),
            ],
        ),
        (
            {
                "at": "2026-08-01T07:00:00Z",
                "calendar": {"weekdays": ["sat", "sun"], "shift": "previous"},
            },
            "2026-07-01T12:00",
            [("2026-07-31T09:00:00+02:00", "moved from Saturday 2026-08-01, a day off")],
        ),
    ],
)
def test_a_preview_says_where_clocks_change_and_what_was_moved(
    given: dict[str, Any], after: str, shown: list[tuple[str, str | None]]
) -> None:
    found = preview(rule(**given), utc(after), len(shown))
    assert [(entry.local.isoformat(), entry.note) for entry in found] == shown
    # Compared in one zone: of two, a time that comes twice is never equal (PEP 495).
    assert all(entry.local.astimezone(UTC) == entry.instant for entry in found)
