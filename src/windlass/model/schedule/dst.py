"""Daylight saving (DST): at which instants a local clock shows the readings of a rule.

A clock that is put forward leaves out some readings (a gap), one that is put back shows some twice
(an overlap). A rule that names hours means readings, and each is to fire once:

- gap `next` (the default): what falls into a gap fires once, together, at its end; `skip`: not.
- overlap `first` (the default): a reading fires when it is shown first; `second`; or `both`.

A rule that means every hour (`*/15 * * * *`) means elapsed time instead. It fires whenever its
reading is shown, twice in an overlap and not at all in a gap, so that an hour between two firings
stays an hour. The policies do not concern it.

Where clocks change by half an hour (Lord Howe) its minutes cannot stay the same and also an hour
apart; the minutes stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from windlass.model.schedule.zone import Span, span_at

Gap: TypeAlias = Literal["next", "skip"]
Overlap: TypeAlias = Literal["first", "second", "both"]

# From a reading on, in order.
Readings: TypeAlias = Callable[[int], Iterator[int]]

# Two offsets differ by no more than this, so an instant is nearer to its reading's.
_OFFSETS_APART: Final = 2 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Dst:
    """What to do where clocks change."""

    gap: Gap = "next"
    overlap: Overlap = "first"


PACE: Final = Dst(gap="skip", overlap="both")


def instants(readings: Readings, zone: str, dst: Dst, first: int) -> Iterator[int]:
    """Every instant from `first` on at which one of the readings fires, in order, once."""
    at = first
    while True:
        span = span_at(zone, at)
        if at == span.start and fires_after_gap(readings, span, dst):
            yield at
            at += 1
        begin, end = shown(span, dst)
        for reading in readings(max(begin, at + span.offset)):
            if reading >= end:
                break
            yield reading - span.offset
        else:
            return
        at = span.end
        if span.again_from >= span.end_reading:
            # Nothing comes again, and no reading lies before this one: on to its surroundings.
            at = max(at, reading - span.offset - _OFFSETS_APART)


def shown(span: Span, dst: Dst) -> tuple[int, int]:
    """The readings of a span that count: from the first on and before the second."""
    match dst.overlap:
        case "first":
            return max(span.first_reading, span.seen_until), span.end_reading
        case "second":
            return span.first_reading, min(span.end_reading, span.again_from)
        case "both":
            return span.first_reading, span.end_reading


def fires_after_gap(readings: Readings, span: Span, dst: Dst) -> bool:
    """Whether a reading was left out on the way to this span that is to be made up for."""
    if dst.gap == "skip" or span.seen_until >= span.first_reading:
        return False
    return next(readings(span.seen_until), span.first_reading) < span.first_reading
