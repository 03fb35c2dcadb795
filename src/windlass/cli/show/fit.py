"""Make a table as narrow as the terminal: what is shortened, cut and left out, and in which order.

Promises: no line is wider than the room, unless that is narrower than an id. An id is shortened,
never cut: to the digits that tell it from all others of the table, and to enough of them that it
means one thing elsewhere too, so that commands take it (`http/whole_id`).
Pure: from rows of text to rows of text.

Where a table is too wide,

1. instants are told shortly, and columns that hold nothing are left out;
2. ids are shortened, unless it is enough to cut texts to what is worth reading;
3. columns that can be spared are left out, the rightmost first, until that is enough;
4. further ones are left out from the right, if even the shortest texts leave no room;
5. texts are cut, the widest first: prose, as an error or a description, at its end; then names, in
   their middle, for both ends tell them apart; what is folded goes on below itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from windlass.cli.limits import (
    RANDOM_ID_DIGITS,
    TEXT_CHARS_LEAST,
    TEXT_CHARS_MIN,
    TIMED_ID_DIGITS,
)

GAP: Final = "  "
_ID: Final = re.compile(r"\b([a-z]+_)([0-9a-f]{32})\b")
_WHOLE: Final = re.compile(
    rf"[a-z]+_[0-9a-f]{{{RANDOM_ID_DIGITS},}}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ][0-9:.]+Z?"
)
# Where a UUID says its version: a random one tells itself apart from its first digits on, any
# other begins with the time.
_VERSION_AT, _IS_RANDOM = 12, "4"

Row = list[str]


@dataclass(slots=True, kw_only=True)
class Strip:
    """A column of the table that is to fit: its title and its cells."""

    title: str
    cells: Row
    is_prose: bool = False
    is_spare: bool = False
    is_folded: bool = False

    @property
    def width(self) -> int:
        return max(width(line) for cell in (self.title, *self.cells) for line in cell.split("\n"))

    def least(self, chars: int) -> int:
        """How narrow it may become where a text is cut to `chars`."""
        whole = max((width(cell) for cell in self.cells if _is_whole(cell)), default=0)
        return min(self.width, max(chars, whole, width(self.title)))

    def narrow(self, chars: int) -> None:
        """Make its texts so narrow."""
        shorten = cut if self.is_prose else cut_middle
        if self.is_folded:
            self.cells = ["\n".join(folded(cell, chars)) for cell in self.cells]
        else:
            self.cells = [c if _is_whole(c) else shorten(c, chars) for c in self.cells]


def _is_whole(cell: str) -> bool:
    """Whether it means nothing without a part of it: an id, an instant."""
    return _WHOLE.fullmatch(cell) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The table as it is shown."""

    strips: Sequence[Strip]
    left_out: Sequence[str] = ()  # titles of columns that hold something and found no room

    def lines(self) -> list[list[Row]]:
        """For the titles and each row, the lines of it: several where a text goes on below."""
        heads = [[strip.title for strip in self.strips]]
        rows = zip(*(strip.cells for strip in self.strips), strict=True)
        return [heads, *([list(line) for line in self._folded(row)] for row in rows)]

    def _folded(self, row: Sequence[str]) -> Iterable[Sequence[str]]:
        parts = [cell.split("\n") for cell in row]
        height = max(map(len, parts))
        return zip(*(part + [""] * (height - len(part)) for part in parts), strict=True)


def fit(strips: Sequence[Strip], room: int) -> Fitted:
    """The columns, told shortly, made to fit; see above for the steps."""
    kept = [strip for strip in strips if any(strip.cells)] or list(strips[:1])
    if _narrowest(kept, TEXT_CHARS_LEAST) > room:
        _shorten_ids(kept)
    left_out: list[str] = []
    for strip in [one for one in reversed(kept[1:]) if one.is_spare]:
        if _narrowest(kept, TEXT_CHARS_LEAST) > room:
            kept = [one for one in kept if one is not strip]
            left_out.insert(0, strip.title)
    while _narrowest(kept, TEXT_CHARS_MIN) > room and len(kept) > 1:
        left_out.insert(0, kept.pop().title)
    wide = [strip.width for strip in kept]
    for some, chars in (
        ([n for n, strip in enumerate(kept) if strip.is_prose], TEXT_CHARS_LEAST),
        (range(len(kept)), TEXT_CHARS_LEAST),
        (range(len(kept)), TEXT_CHARS_MIN),
    ):
        _narrow(wide, {n: kept[n].least(chars) for n in some}, room)
    for strip, chars in zip(kept, wide, strict=True):
        if chars < strip.width:
            strip.narrow(chars)
    return Fitted(strips=kept, left_out=left_out)


def total(strips: Sequence[Strip]) -> int:
    return sum(strip.width for strip in strips) + len(GAP) * (len(strips) - 1)


def _narrowest(strips: Sequence[Strip], chars: int) -> int:
    """How wide it is when all texts are cut to `chars`."""
    return sum(strip.least(chars) for strip in strips) + len(GAP) * (len(strips) - 1)


def _narrow(wide: list[int], least: Mapping[int, int], room: int) -> None:
    """Make columns narrower, the widest first, each to its least at most, until all fit."""
    over = sum(wide) + len(GAP) * (len(wide) - 1) - room
    slack = sum(wide[n] - chars for n, chars in least.items())
    for _ in range(min(over, slack)):
        widest = max((n for n in least if wide[n] > least[n]), key=wide.__getitem__)
        wide[widest] -= 1


def _shorten_ids(strips: Sequence[Strip]) -> None:
    shorter = short_ids(cell for strip in strips for cell in strip.cells)
    for strip in strips:
        strip.cells = [_ID.sub(lambda found: shorter[found[0]], cell) for cell in strip.cells]


def short_ids(texts: Iterable[str]) -> dict[str, str]:
    """The ids in `texts`, each with as much of it as is needed."""
    found = sorted({match[0] for text in texts for match in _ID.finditer(text)})
    shorter: dict[str, str] = {}
    for place, one in enumerate(found):
        neighbours = found[max(0, place - 1) : place] + found[place + 1 : place + 2]
        alike = max((_same_chars(one, other) for other in neighbours), default=0)
        prefix, digits = one.split("_")
        is_random = digits[_VERSION_AT] == _IS_RANDOM
        least = len(prefix) + 1 + (RANDOM_ID_DIGITS if is_random else TIMED_ID_DIGITS)
        shorter[one] = one[: max(least, alike + 1)]
    return shorter


def _same_chars(one: str, other: str) -> int:
    return next((n for n, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), 0)


# -- text in columns of a terminal -----------------------------------------------------------------


def width(text: str) -> int:
    """How many columns `text` takes at a terminal: Chinese characters take two each."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, chars: int) -> str:
    """`text` without its end, where it is too wide."""
    return text if width(text) <= chars else _first(text, chars - 1) + "…"


def cut_middle(text: str, chars: int) -> str:
    """`text` without its middle, where it is too wide."""
    if width(text) <= chars:
        return text
    before = chars // 2
    behind = _first(text[::-1], chars - 1 - before)[::-1]
    return f"{_first(text, before)}…{behind}"


def folded(text: str, chars: int) -> list[str]:
    """`text` in lines of at most `chars`, broken at spaces where there are any."""
    lines = []
    while width(text) > chars:
        head = _first(text, chars)
        space = head.rfind(" ") if not text[len(head)].isspace() else len(head)
        at = space if space > chars // 3 else len(head)
        lines.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*lines, text]


def _first(text: str, chars: int) -> str:
    """As much of the beginning of `text` as takes so many columns."""
    taken = 0
    for number, char in enumerate(text):
        taken += _char_width(char)
        if taken > chars:
            return text[:number]
    return text
