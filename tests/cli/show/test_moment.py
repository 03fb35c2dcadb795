"""Instants and durations as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from windlass.cli.show.moment import clock_time, length, precisely, when

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-01-31T12:00:00Z", "now (2026-01-31 12:00:00Z)"),
        ("2026-01-31T11:59:30Z", "30 s ago (2026-01-31 11:59:30Z)"),
        ("2026-01-31T12:05:00Z", "in 5 min (2026-01-31 12:05:00Z)"),
        ("2026-01-31T13:30:00+02:00", "30 min ago (2026-01-31 11:30:00Z)"),
        ("2026-01-01T12:00:00Z", "30 d ago (2026-01-01 12:00:00Z)"),
        (None, ""),
        ("soon", "soon"),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:00"),
    ],
)
def test_an_instant_is_told_relatively_and_exactly(text: str | None, told: str) -> None:
    assert when(text, NOW) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0004, "0 ms"),
        (0.25, "250 ms"),
        (1.5, "1.5 s"),
        (42.4, "42 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2 h"),
        (172_800, "2 d"),
    ],
)
def test_a_duration_is_told_in_its_natural_unit(seconds: float, told: str) -> None:
    assert length(seconds) == told


def test_an_event_is_told_to_the_millisecond() -> None:
    told = precisely("2026-01-31T11:59:30.250Z", NOW)
    assert told == "2026-01-31 11:59:30.250Z (30 s ago)"
    assert precisely(None) == ""


def test_a_line_of_a_stream_has_the_time_of_day_to_the_millisecond() -> None:
    assert clock_time("2026-01-31T12:00:00.123456Z") == "12:00:00.123"
    assert clock_time(None) == ""
