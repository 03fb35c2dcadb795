"""Reading what a schedule says about time: every problem at once, with its pointer and the fix.

    {"cron": "0 8 * * 1-5", "timezone": "Europe/Berlin", "dst": {"gap": "next", "overlap": "first"},
     "starts_at": …, "ends_at": …, "jitter": "30s", "calendar": {…}}

Instead of `cron` stands `every` (a duration) or `at` (an instant, or a list of them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from windlass.duration import parse_seconds
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    AT_INSTANTS_MAX,
    DURATION_SECONDS_MAX,
    EVERY_SECONDS_MIN,
    JITTER_SECONDS_MAX,
)
from windlass.model.job.submission import read_instant
from windlass.model.json.pointer import step
from windlass.model.schedule.calendar_read import read_calendar
from windlass.model.schedule.cron import YEAR_MAX, read_cron
from windlass.model.schedule.dst import Dst, Gap, Overlap
from windlass.model.schedule.never import why_silent
from windlass.model.schedule.rule import EPOCH, At, Every, Rule, When
from windlass.model.schedule.zone import read_zone

T = TypeVar("T")

WHEN: Final = ("cron", "every", "at")
RULE_FIELDS: Final = (*WHEN, "timezone", "dst", "starts_at", "ends_at", "jitter", "calendar")
_GAPS: Final[dict[str, Gap]] = {"next": "next", "skip": "skip"}
_OVERLAPS: Final[dict[str, Overlap]] = {"first": "first", "second": "second", "both": "both"}
_LAST: Final = datetime(YEAR_MAX, 1, 1, tzinfo=UTC)


def read_rule(
    value: Mapping[str, Any],
    *,
    name: str,
    now: datetime | None = None,
    anchor_at: datetime | None = None,
) -> Rule:
    """The rule in the fields of `RULE_FIELDS`; others, and those that are None, are not looked at.

    `name` is the schedule's, from which H takes its values. With `now`, a rule that never fires
    after it is refused; None: it was accepted before. `anchor_at` is when the schedule was made:
    `every` counts from `starts_at`, else from there, else from `now`.

    Raises InvalidInput with every problem found.
    """
    reading = _Reading(value)
    starts_at = reading.take("starts_at", _bound)
    ends_at = reading.take("ends_at", _bound)
    if starts_at is not None and ends_at is not None and ends_at <= starts_at:
        reading.say("/ends_at", "does not lie after starts_at; between them nothing could fire")
    when = _when(reading, name, starts_at or anchor_at or now or EPOCH)
    jitter = reading.take("jitter", _jitter) or 0.0
    calendar = reading.take("calendar", read_calendar)
    if isinstance(when, Every):
        if jitter * 1_000_000 >= when.microseconds:
            reading.say("/jitter", "must be shorter than every, or firings overtake each other")
        if calendar is not None and calendar.shift != "none":
            reading.say("/calendar/shift", "moves days, and every has none; use none, or a cron")
    zone, dst = reading.take("timezone", read_zone) or "UTC", reading.take("dst", _dst) or Dst()
    if reading.problems or when is None:
        raise InvalidInput(*reading.problems)
    rule = Rule(
        when=when,
        timezone=zone,
        dst=dst,
        starts_at=starts_at,
        ends_at=ends_at,
        jitter_seconds=jitter,
        calendar=calendar,
    )
    if now is not None and (silence := why_silent(rule, now)) is not None:
        raise InvalidInput.at(f"/{silence[0]}", silence[1])
    return rule


class _Reading:
    """What was found wrong so far. Reading goes on, so that one answer holds all of it."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.value = value
        self.problems: list[FieldProblem] = []

    def say(self, pointer: str, detail: str) -> None:
        self.problems.append(FieldProblem(pointer=pointer, detail=detail))

    def take(self, field: str, read: Callable[[object], T]) -> T | None:
        """What `read` makes of the field; None: it is not there, or its problems were noted."""
        found = self.value.get(field)
        if found is None:
            return None
        try:
            return read(found)
        except ValueError as trouble:
            self.say(f"/{field}", str(trouble))
        except InvalidInput as trouble:
            for inner in trouble.problems:
                self.say(f"/{field}{inner.pointer}", inner.detail)
        return None


def _when(reading: _Reading, name: str, anchor_at: datetime) -> When | None:
    given = [field for field in WHEN if reading.value.get(field) is not None]
    if not given:
        reading.say("", 'say when: cron ("0 8 * * 1-5"), every ("90m") or at (an instant)')
    for field in given[1:]:
        reading.say(f"/{field}", f"stands beside {given[0]}; give one of: {' '.join(WHEN)}")

    def every(value: object) -> Every:
        return Every(microseconds=_period(value), anchor_at=anchor_at)

    found: list[When | None] = [
        reading.take("cron", lambda value: read_cron(value, name)),
        reading.take("every", every),
        reading.take("at", _at),
    ]
    return next((when for when in found if when is not None), None)


def _period(value: object) -> int:
    """In microseconds."""
    seconds = parse_seconds(value, DURATION_SECONDS_MAX)
    if seconds < EVERY_SECONDS_MIN:
        raise ValueError(f'must be at least {EVERY_SECONDS_MIN:g} second, such as "1s" or "5m"')
    return round(seconds * 1_000_000)


def _at(value: object) -> At:
    given = value if isinstance(value, list) else [value]
    if not 1 <= len(given) <= AT_INSTANTS_MAX:
        raise ValueError(f"must be an instant or a list of 1 to {AT_INSTANTS_MAX} of them")
    instants, problems = set(), []
    for place, item in enumerate(given):
        try:
            instants.add(_bound(item))
        except ValueError as trouble:
            pointer = f"/{place}" if isinstance(value, list) else ""
            problems.append(FieldProblem(pointer=pointer, detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return At(instants=tuple(sorted(instants)))


def _bound(value: object) -> datetime:
    instant = read_instant(value)
    if instant >= _LAST:
        raise ValueError(f"lies after the year {YEAR_MAX - 1}")
    return instant


def _jitter(value: object) -> float:
    return parse_seconds(value, JITTER_SECONDS_MAX)


def _dst(value: object) -> Dst:
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"gap": "next", "overlap": "first"}')
    problems = [
        FieldProblem(pointer=step(name), detail="unknown field; known are gap overlap")
        for name in value
        if name not in ("gap", "overlap")
    ]
    gap, overlap = value.get("gap", "next"), value.get("overlap", "first")
    for field, found, known in (("gap", gap, [*_GAPS]), ("overlap", overlap, [*_OVERLAPS])):
        if not isinstance(found, str) or found not in known:
            detail = f"must be one of: {' '.join(known)}"
            problems.append(FieldProblem(pointer=f"/{field}", detail=detail))
    if problems:
        raise InvalidInput(*problems)
    return Dst(gap=_GAPS[gap], overlap=_OVERLAPS[overlap])
