"""Tables and records for people: one line a thing, or one line a field.

Promises: at a terminal no line of a table is wider than it, by what `fit` does: instants told
shortly, ids shortened to digits that commands take, prose cut, columns left out (and named on
standard error). In a pipe, and with -o id, json and jsonl, ids are whole and every column is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from windlass.cli.limits import CELL_CHARS_MAX
from windlass.cli.show.fit import GAP, Fitted, Strip, cut, fit, folded, total, width
from windlass.cli.show.moment import relative, when
from windlass.cli.show.output import compact, is_tty, plain, say, show_line

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
    return cut(text, CELL_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table, or one line of a record."""

    title: str
    # Name of the field, or what takes the value from the whole object.
    take: Take
    tell: Callable[[Any], str] = _brief
    # Used when the whole table is too wide for the terminal. None: there is no shorter way.
    tell_shortly: Callable[[Any], str] | None = None
    # Where there is no room: words that may be cut at their end; left out before others are; and
    # prose that goes on below itself, rather than being cut.
    is_prose: bool = False
    is_spare: bool = False
    is_folded: bool = False

    def text(self, thing: Mapping[str, Any], *, is_short: bool = False) -> str:
        value = self.take(thing) if callable(self.take) else thing.get(self.take)
        tell = self.tell_shortly if is_short and self.tell_shortly else self.tell
        return plain(tell(value))


def instant(title: str, take: Take) -> Column:
    return Column(title=title, take=take, tell=when, tell_shortly=relative)


def columns(*names: str) -> tuple[Column, ...]:
    """Columns by field name; what ends in `_at` or `_until` is an instant."""
    return tuple(_column(name, name.removesuffix("_at").replace("_", " ")) for name in names)


def spare(*cols: str | Column) -> tuple[Column, ...]:
    """Columns, some by their field names, that are left out first."""
    found = (columns(one)[0] if isinstance(one, str) else one for one in cols)
    return tuple(replace(column, is_spare=True) for column in found)


def prose(title: str, take: Take | None = None, *, is_folded: bool = False) -> Column:
    """Words for people, of any length."""
    return Column(title=title, take=take or title, is_prose=True, is_folded=is_folded)


def _column(name: str, title: str) -> Column:
    is_instant = name.endswith(("_at", "_until"))
    return instant(title, name) if is_instant else Column(title=title, take=name)


def show_table(cols: Sequence[Column], things: Iterable[Mapping[str, Any]], none: str) -> None:
    """Rows under titles; `none` is said when there are no rows."""
    found = list(things)
    if not found:
        say(none)
        return
    table = Fitted(strips=_strips(cols, found, is_short=False))
    if is_tty() and total(table.strips) > (room := _columns()):
        table = fit(_strips(cols, found, is_short=True), room)
    widths = [strip.width for strip in table.strips]
    for number, lines in enumerate(table.lines()):
        for cells in lines:
            shown = [
                _coloured(cell, BOLD if number == 0 else COLOURS.get(cell))
                + " " * (wide - width(cell))
                for cell, wide in zip(cells, widths, strict=True)
            ]
            sys.stdout.write(GAP.join(shown).rstrip() + "\n")
    if table.left_out:
        sys.stdout.flush()
        told = f"no room for {', '.join(table.left_out).lower()}; -o json has all"
        say("\n".join(folded(told, _columns())))


def show_sentence(text: str) -> None:
    """What is said beside a table, on as many lines as it takes."""
    for line in folded(plain(text), _columns()) if is_tty() else [text]:
        show_line(line)


def show_record(cols: Sequence[Column], thing: Mapping[str, Any]) -> None:
    """One thing, a line for each field that holds something."""
    lines = [(column.title, text) for column in cols if (text := column.text(thing))]
    width = max((len(title) for title, _ in lines), default=0)
    for title, text in lines:
        sys.stdout.write(f"{title:<{width}}{GAP}{_coloured(text, COLOURS.get(text))}\n")


def _columns() -> int:
    from shutil import get_terminal_size  # brings compression along, and a pipe has no size

    return get_terminal_size().columns


def _strips(
    cols: Sequence[Column], things: Sequence[Mapping[str, Any]], *, is_short: bool
) -> list[Strip]:
    return [
        Strip(
            title=column.title.upper(),
            cells=[column.text(thing, is_short=is_short) for thing in things],
            is_prose=column.is_prose,
            is_spare=column.is_spare,
            is_folded=column.is_folded,
        )
        for column in cols
    ]


def _coloured(text: str, code: int | None) -> str:
    if code is None or not is_tty() or os.environ.get("NO_COLOR") or _is_dumb():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def _is_dumb() -> bool:
    return os.environ.get("TERM", "dumb") == "dumb"
