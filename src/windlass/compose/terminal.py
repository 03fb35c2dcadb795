"""What a person at the terminal reads of `windlass up` and `windlass node`, from start to stop.

    starting: PostgreSQL and Valkey in .windlass ...

      Windlass 0.1.0
      tasks      3 of shop (shop.tasks:app): charge, pack, ship
      ...

    ready: http://127.0.0.1:5777

Owns: standard output. Log lines go to standard error, so a reader of JSON lines meets no banner.
Promises: at most 80 columns; colours on a terminal alone, and not where NO_COLOR asks for none; a
reader that has gone away harms nobody. Nothing heavy is imported: the first line comes first.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

COLUMNS_MAX: Final = 80
_LABEL: Final = 11
_INDENT: Final = "  "
_BOLD, _DIM, _YELLOW, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"


def say(text: str = "") -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
        print(text, flush=True)


def say_beside_log(text: str) -> None:
    """What the log says as well: at a terminal, where both would be read, the log says it alone."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        say(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Off:
    """Something that this node does not do, and how to have it."""

    what: str
    how: str


def say_starting(what: str) -> None:
    say(f"starting: {what} …")


def banner(version: str, rows: Sequence[tuple[str, str]], off: Sequence[Off]) -> str:
    paint = _painter()
    lines = ["", _INDENT + paint(_BOLD, f"Windlass {version}")]
    for label, value in rows:
        lines += _row(paint(_DIM, label.ljust(_LABEL)), value)
    for number, each in enumerate(off):
        label = paint(_YELLOW, "off".ljust(_LABEL)) if number == 0 else " " * _LABEL
        lines += _row(label, f"{each.what}: {each.how}")
    return "\n".join([*lines, ""])


def some_of(names: Sequence[str], chars_max: int) -> str:
    """As many of them as there is room for, and how many more there are."""
    shown = list(names)
    while True:
        more = len(names) - len(shown)
        text = ", ".join([*shown, *([f"and {more} more"] if more and shown else [])])
        if len(text) <= chars_max or not shown:
            return text
        shown.pop()


def shown_path(path: Path) -> str:
    """Short where one stands in it."""
    here = Path.cwd()
    path = path.absolute()
    return str(path.relative_to(here)) if path.is_relative_to(here) and path != here else str(path)


def shown_server(url: str) -> str:
    """Hosts and database: neither who logs in nor by what."""
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2] or parse_qs(parts.query).get("host", [""])[-1]
    return f"{hosts}/{parts.path.strip('/')}".rstrip("/") if hosts else parts.path


def room() -> int:
    """Characters that a value may have on its first line."""
    return COLUMNS_MAX - len(_INDENT) - _LABEL


def _row(label: str, value: str) -> list[str]:
    first, *rest = _wrapped(value, room())
    return [f"{_INDENT}{label}{first}", *(_INDENT + " " * _LABEL + line for line in rest)]


def _wrapped(text: str, width: int) -> list[str]:
    """Broken between words, and within those that are longer than a line."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if len(longer) <= width:
            lines[-1] = longer
            continue
        pieces = [word[at : at + width] for at in range(0, len(word), width)]
        lines += pieces if lines[-1] else []
        if not lines[-1]:
            lines[-1:] = pieces
    return lines


def _painter() -> _Paint:
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return _Paint(is_on=sys.stdout.isatty() and not is_plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paint:
    is_on: bool

    def __call__(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_PLAIN}" if self.is_on else text
