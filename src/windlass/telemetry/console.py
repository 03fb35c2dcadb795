"""A log line for people: the time of day, the level, a sentence, and what else is known of it.

    14:02:11 WARNING   send failed (attempt 2 of 5): ValueError: no; next …  job=… event=job_retried

Fields that the sentence tells are not repeated. Colours are for a terminal alone, and for one whose
owner has not set NO_COLOR. Whatever a message holds, it stays one line and moves no cursor: errors
quote what receivers answer. Tracebacks follow in lines of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, TextIO

from windlass.clock import wall
from windlass.telemetry.messages import FIELDS

_RESET, _DIM = "\x1b[0m", "\x1b[2m"
_COLOURS: Final[Mapping[str, str]] = {
    "debug": "\x1b[2m",
    "info": "\x1b[32m",
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[1;31m",
}
_LEVEL_CHARS: Final = len("CRITICAL")
# What stands below the line.
_BLOCKS: Final = ("tail", "traceback", "exception", "stack")
# What the line begins with, and what is for machines.
_SHOWN: Final = frozenset({"event", "level", "timestamp", *_BLOCKS})
# The sentence has told these in its own words.
_FOR_MACHINES: Final = _SHOWN | {"message", "cause", "kind", "target", "task", "term", "where"}


def has_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR")


class ConsoleLines:
    """The last processor of a console's log."""

    def __init__(self, *, is_coloured: bool) -> None:
        self._is_coloured = is_coloured

    def __call__(self, _logger: Any, _method: str, line: MutableMapping[str, Any]) -> str:
        level = str(line.get("level", "info"))
        event = str(line.get("event", ""))
        message = line.get("message") if event in FIELDS else None  # a task's line may have one
        told = _SHOWN if message is None else _FOR_MACHINES | FIELDS[event]
        facts = [f"{_plain(k)}={_value(v)}" for k, v in line.items() if k not in told]
        if message is not None:
            facts.append(f"event={event}")  # by which runbooks and searches know it
        said = _plain(str(event if message is None else message))
        shown = f"{level.upper():<{_LEVEL_CHARS}}"
        rest = " ".join(facts)
        if self._is_coloured:
            shown = f"{_COLOURS.get(level, '')}{shown}{_RESET}"
            rest = f"{_DIM}{rest}{_RESET}" if rest else ""
        text = f"{wall().astimezone():%H:%M:%S} {shown}  {said}" + (f"  {rest}" if rest else "")
        for block in _BLOCKS:
            if line.get(block):
                text += "\n" + _plain_lines(str(line[block]).rstrip("\n"))
        return text


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return repr(text) if not text or " " in text or '"' in text else _plain(text)


def _plain(text: str) -> str:
    """In one line, and without what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _plain_lines(text: str) -> str:
    return "\n".join(_plain(line.replace("\t", "    ")) for line in text.split("\n"))
