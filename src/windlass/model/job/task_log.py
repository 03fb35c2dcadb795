"""What a task says while it runs: a line for its log, or its progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from windlass.limits import LOG_FIELDS_BYTES_MAX, LOG_LINE_CHARS_MAX, LOG_LINES_MAX
from windlass.model.json.storable import harmless_json, harmless_text

LEVELS: Final = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    place: int  # among the lines of its attempt
    at: float  # by the monotonic clock of its process
    level: str
    message: str
    fields: str | None  # JSON; None: none


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    at: float
    done: float
    total: float | None  # None: nobody knows
    message: str | None


def line(place: int, at: float, level: str, message: object, fields: Mapping[str, Any]) -> Line:
    """A line that can be stored, whatever was said. Raises ValueError for an unknown level."""
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is unknown; known are {' '.join(LEVELS)}")
    if place >= LOG_LINES_MAX - 1:
        level, fields = "warning", {}
        message = f"an attempt keeps {LOG_LINES_MAX} lines; what it says after this is left out"
    return Line(place=place, at=at, level=level, message=_text(message), fields=_fields(fields))


def progress(at: float, done: float, total: float | None, message: str | None) -> Progress:
    """Raises ValueError for what is no number."""
    return Progress(
        at=at,
        done=_number("done", done),
        total=None if total is None else _number("total", total),
        message=None if message is None else _text(message),
    )


def _text(message: object) -> str:
    text = harmless_text(str(message))
    return text if len(text) <= LOG_LINE_CHARS_MAX else text[: LOG_LINE_CHARS_MAX - 1] + "…"


def _fields(fields: Mapping[str, Any]) -> str | None:
    if not fields:
        return None
    text = harmless_json(dict(fields))
    size = len(text.encode())
    if size <= LOG_FIELDS_BYTES_MAX:
        return text
    return harmless_json({"left_out": f"{size} bytes; at most {LOG_FIELDS_BYTES_MAX} are kept"})


def _number(name: str, value: float) -> float:
    number = float(value)
    if not abs(number) < float("inf"):
        raise ValueError(f"{name} must be a number, not {value}")
    return number
