"""Values as people type them on a command line (JSON, @file, durations), read for the API."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final

from windlass.cli.exits import BadUsage
from windlass.cli.limits import FILE_BYTES_MAX
from windlass.clock import wall
from windlass.duration import parse_seconds
from windlass.errors import MalformedBody
from windlass.model.json import strict as strict_json

_SPAN: Final = re.compile(r"[0-9.]+(ms|s|m|h|d)")
_CLOCK: Final = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def json_value(flag: str, text: str) -> Any:
    """JSON given as it is, as `@file`, or as `-` for standard input."""
    raw = read_text(flag, text[1:]) if text.startswith("@") else None
    raw = read_text(flag, "-") if text == "-" else raw
    try:
        return strict_json.parse(text.encode("utf-8", "surrogatepass") if raw is None else raw)
    except MalformedBody as trouble:
        what = trouble.problems[0].detail.removeprefix("the body ")
        raise BadUsage(f"{flag} {what}{_quoting_hint(text, what)}") from None


def json_object(flag: str, text: str) -> dict[str, Any]:
    value = json_value(flag, text)
    if not isinstance(value, dict):
        raise BadUsage(f'{flag} must be a JSON object such as {{"name": "value"}}')
    return value


def read_text(flag: str, path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
        else:
            with Path(path).open("rb") as file:
                raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as trouble:
        raise BadUsage(f"{flag}: cannot read {path}: {trouble.strerror}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise BadUsage(f"{flag}: {path} is larger than {FILE_BYTES_MAX} bytes")
    return raw


def duration(text: str) -> str | float:
    """`30s` as it is, `30` as thirty seconds; the server judges the rest."""
    try:
        return float(text)
    except ValueError:
        return text


def seconds(flag: str, text: str) -> float:
    """A duration that the command itself needs."""
    try:
        return parse_seconds(duration(text))
    except ValueError as trouble:
        raise BadUsage(f"{flag}: {trouble}") from None


def instant(flag: str, text: str) -> str:
    """An instant for the API, from how people say it: 1h for an hour ago, 14:05 for the last time
    that it was so late, a day, or a whole instant. UTC unless it says otherwise, as all that is
    shown.
    """
    now = wall()
    try:
        if _SPAN.fullmatch(text):
            found = now - timedelta(seconds=parse_seconds(text))
        elif _CLOCK.fullmatch(text):
            found = datetime.combine(now.date(), time.fromisoformat(text), UTC)
            found -= timedelta(days=found > now)
        else:
            # Python takes more for a date than anybody means by it: 2030W05 and 20300131.
            found = datetime.fromisoformat(text.upper() if _DAY.match(text) else "")
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        shown = text if len(text) <= 60 else text[:60] + "…"
        raise BadUsage(
            f"{flag}: {shown!r} is no instant; give 1h (so long ago: 30s, 5m, 2h, 7d), 14:05, "
            "2030-01-31 or 2030-01-31T12:00:00Z; UTC unless it says otherwise"
        ) from None
    return found.isoformat().removesuffix("+00:00") + "Z"


def instant_or_none(flag: str, text: str | None) -> str | None:
    return None if text is None else instant(flag, text)


def _quoting_hint(text: str, what: str) -> str:
    # The commonest cause by far: the shell ate the quotes.
    quoteless = text.startswith("{") and '"' not in text
    return '\n  is it in single quotes? \'{"name": "value"}\'' if quoteless else ""


def limit_or_none(flag: str, text: str) -> int | float | None:
    """A number, or `none` for no limit."""
    if text == "none":
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise BadUsage(f"{flag} must be a number, or none for no limit") from None
