"""Tables and records for people: one line a thing, or one line a field.

Promises: an id is never cut; at a terminal a row keeps to one line where that is possible, by
telling instants shortly and by cutting the longest text; in a pipe nothing is cut.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windlass.cli.limits import CELL_CHARS_MAX, CELL_WHOLE_CHARS_MAX
from windlass.cli.show.moment import relative, when
from windlass.cli.show.output import compact, is_tty, plain, say

GAP: Final = "  "
GREEN, YELLOW, RED, MAGENTA, CYAN, BOLD = 32, 33, 31, 35, 36, 1
# The word that a reader looks for.
COLOURS: Final = {
    "succeeded": GREEN,
    "done": GREEN,
    "ok": GREEN,
    "active": GREEN,
    "running": CYAN,
    "dead": RED,
    "lost": RED,
    "down": RED,
    "failed": RED,
    "expired": YELLOW,
    "degraded": YELLOW,
    "draining": YELLOW,
    "paused": YELLOW,
    "rolled_back": YELLOW,
    "cancelled": MAGENTA,
    "skipped": MAGENTA,
}

Take = str | Callable[[Mapping[str, Any]], Any]


def _brief(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        text = ", ".join(value)
    else:
        text = value if isinstance(value, str) else compact(value)
    return _cut(text, CELL_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table, or one line of a record."""

    title: str
    # Name of the field, or what takes the value from the whole object.
    take: Take
    tell: Callable[[Any], str] = _brief
    # Used when the whole table is too wide for the terminal. None: there is no shorter way.
    tell_shortly: Callable[[Any], str] | None = None

    def text(self, thing: Mapping[str, Any], *, is_short: bool = False) -> str:
        value = self.take(thing) if callable(self.take) else thing.get(self.take)
        tell = self.tell_shortly if is_short and self.tell_shortly else self.tell
        return plain(tell(value))


def instant(title: str, take: Take) -> Column:
    return Column(title=title, take=take, tell=when, tell_shortly=relative)


def columns(*names: str) -> tuple[Column, ...]:
    """Columns by field name; what ends in `_at` or `_until` is an instant."""
    return tuple(_column(name, name.removesuffix("_at").replace("_", " ")) for name in names)


def _column(name: str, title: str) -> Column:
    is_instant = name.endswith(("_at", "_until"))
    return instant(title, name) if is_instant else Column(title=title, take=name)


def show_table(cols: Sequence[Column], things: Iterable[Mapping[str, Any]], none: str) -> None:
    """Rows under titles; `none` is said when there are no rows."""
    found = list(things)
    if not found:
        say(none)
        return
    rows = _rows(cols, found, is_short=False)
    if is_tty() and _total(rows) > (room := _columns()):
        rows = _fitted(_rows(cols, found, is_short=True), room)
    widths = _widths(rows)
    for number, row in enumerate(rows):
        cells = [
            _coloured(cell, BOLD if number == 0 else COLOURS.get(cell))
            + " " * (width - _width(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        sys.stdout.write(GAP.join(cells).rstrip() + "\n")


def show_record(cols: Sequence[Column], thing: Mapping[str, Any]) -> None:
    """One thing, a line for each field that holds something."""
    lines = [(column.title, text) for column in cols if (text := column.text(thing))]
    width = max((len(title) for title, _ in lines), default=0)
    for title, text in lines:
        sys.stdout.write(f"{title:<{width}}{GAP}{_coloured(text, COLOURS.get(text))}\n")


def _columns() -> int:
    from shutil import get_terminal_size  # brings compression along, and a pipe has no size

    return get_terminal_size().columns


def _rows(
    cols: Sequence[Column], things: list[Mapping[str, Any]], *, is_short: bool
) -> list[list[str]]:
    titles = [column.title.upper() for column in cols]
    return [
        titles,
        *([column.text(thing, is_short=is_short) for column in cols] for thing in things),
    ]


def _fitted(rows: list[list[str]], room: int) -> list[list[str]]:
    """The rows with their longest column cut to what is left of a line."""
    widths = _widths(rows)
    longest = widths.index(max(widths))
    if widths[longest] <= CELL_WHOLE_CHARS_MAX:
        return rows
    left = max(room - (_total(rows) - widths[longest]), len(rows[0][longest]))
    return [
        [_cut(cell, left) if column == longest else cell for column, cell in enumerate(row)]
        for row in rows
    ]


def _widths(rows: list[list[str]]) -> list[int]:
    return [max(map(_width, column)) for column in zip(*rows, strict=True)]


def _total(rows: list[list[str]]) -> int:
    return sum(_widths(rows)) + len(GAP) * (len(rows[0]) - 1)


def _width(text: str) -> int:
    """How many columns `text` takes at a terminal: Chinese characters take two each."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def _coloured(text: str, code: int | None) -> str:
    if code is None or not is_tty() or os.environ.get("NO_COLOR") or _is_dumb():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def _is_dumb() -> bool:
    return os.environ.get("TERM", "dumb") == "dumb"
