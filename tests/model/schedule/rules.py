"""Rules for tests, and their instants as short text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from windlass.model.schedule.next import between
from windlass.model.schedule.read import read_rule
from windlass.model.schedule.rule import Rule
from windlass.model.schedule.zone import local

MADE_AT = datetime(2020, 1, 1, tzinfo=UTC)


def rule(cron: str | None = None, timezone: str = "Europe/Berlin", **more: Any) -> Rule:
    given = {"cron": cron, "timezone": timezone, **more}
    return read_rule(given, name="digest", anchor_at=MADE_AT)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def instants(asked: Rule, after: str, until: str) -> list[datetime]:
    """From `after`, inclusive, to `until`, exclusive."""
    tick = timedelta(microseconds=1)
    return [*between(asked, utc(after) - tick, utc(until) - tick, 1_000_000)]


def clock(asked: Rule, after: str, until: str) -> list[str]:
    """What the local clock shows, with its offset: `29 03:00 +2`."""
    found = []
    for instant in instants(asked, after, until):
        there = local(asked.timezone, instant)
        offset = there.utcoffset()
        assert offset is not None
        found.append(f"{there:%d %H:%M} {offset / timedelta(hours=1):+g}")
    return found
