"""Values as people type them on a command line (JSON, @file, durations), read for the API."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from windlass.cli.exits import BadUsage
from windlass.cli.limits import FILE_BYTES_MAX
from windlass.duration import parse_seconds
from windlass.errors import MalformedBody
from windlass.model.json import strict as strict_json


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
