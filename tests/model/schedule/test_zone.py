"""Zones as spans: no change of clocks is missed, and unknown names are met with a hint."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, available_timezones

import pytest

from windlass.model.schedule.zone import local, read_zone, span_at

SINCE, UNTIL = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2008, 2032))


def compiled(name: str) -> bytes:
    """The file that the standard library reads."""
    for folder in TZPATH:
        if (path := Path(folder, name)).is_file():
            return path.read_bytes()
    return files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


def changes(data: bytes) -> list[tuple[int, int]]:
    """(instant, offset from then on) as RFC 8536 has them, of 64 bits."""

    def counts(at: int) -> tuple[int, ...]:
        return struct.unpack(">6l", data[at + 20 : at + 44])

    is_ut, is_std, leaps, times, types, chars = counts(0)
    at = 44 + times * 5 + types * 6 + chars + leaps * 8 + is_std + is_ut
    _, _, _, times, types, _ = counts(at)
    at += 44
    instants = struct.unpack(f">{times}q", data[at : at + 8 * times])
    which = data[at + 8 * times : at + 9 * times]
    kinds = at + 9 * times
    offsets = [
        struct.unpack(">l", data[kinds + 6 * n : kinds + 6 * n + 4])[0] for n in range(types)
    ]
    return [(instant, offsets[kind]) for instant, kind in zip(instants, which, strict=True)]


@pytest.mark.slow
def test_every_change_that_the_database_lists_begins_a_span() -> None:
    wrong, seen = [], set()
    for name in sorted(available_timezones()):
        data = compiled(name)
        if data in seen:
            continue
        seen.add(data)
        listed = changes(data)
        for (_, before), (instant, offset) in pairwise(listed):
            if SINCE <= instant < UNTIL and offset != before:
                span = span_at(name, instant)
                if (span.start, span.offset) != (instant, offset):
                    wrong.append((name, instant, span))
    assert wrong == []
    assert len(seen) > 300


def test_spans_follow_on_one_another_and_know_their_neighbours() -> None:
    at, previous = SINCE, span_at("Europe/Berlin", SINCE)
    gaps = overlaps = 0
    while at < UNTIL:
        span = span_at("Europe/Berlin", at)
        assert span.start == at or at == SINCE
        jump = span.first_reading - previous.end_reading
        if at != SINCE and jump:
            assert span.seen_until == previous.end_reading
            gaps, overlaps = gaps + (jump > 0), overlaps + (jump < 0)
            assert (previous.again_from < previous.end_reading) == (jump < 0)
        at, previous = span.end, span
    assert (gaps, overlaps) == (24, 24)


def test_offsets_are_those_of_the_standard_library_far_ahead() -> None:
    for year in (1970, 2026, 2500, 9_989):
        instant = datetime(year, 7, 1, tzinfo=UTC)
        seconds = int((instant - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
        offset = instant.astimezone(ZoneInfo("America/New_York")).utcoffset()
        assert timedelta(seconds=span_at("America/New_York", seconds).offset) == offset


def test_a_zone_is_read_by_its_name() -> None:
    assert read_zone("Europe/Berlin") == "Europe/Berlin"
    assert read_zone("UTC") == "UTC"
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert local("Asia/Kathmandu", noon).isoformat() == "2026-07-01T17:45:00+05:45"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Berlin", "did you mean Europe/Berlin?"),
        ("Europe/Berlim", "did you mean Europe/Berlin?"),
        ("America/New York", "did you mean America/New_York?"),
        ("+02:00", "must be a time zone"),
        ("../../etc/passwd", "must be a time zone"),
        ("x" * 100_000, "must be a time zone"),
        ("", "must be a time zone"),
        (None, "must be a time zone"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_name(name: object, hint: str) -> None:
    with pytest.raises(ValueError, match="IANA") as refused:
        read_zone(name)
    assert hint in str(refused.value)


@pytest.mark.parametrize("name", ["localtime", "posixrules", "Factory"])
def test_what_is_another_zone_on_every_machine_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="must be a time zone"):
        read_zone(name)
