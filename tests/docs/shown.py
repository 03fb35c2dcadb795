"""Does a program say what a page shows? A page is read by people: ids, instants, durations and
sizes are any, `…` is whatever stands there, and columns are as wide as they need to be.
"""

from __future__ import annotations

import re
from typing import Final

_INSTANT: Final = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?"
_DURATION: Final = r"(?:in )?\d[\d.,]* (?:ms|s|min|h|days?)\b(?: ago)?"
# What is written on the left stands for whatever is matched on the right.
_LOOSE: Final = (
    (r"\b(?:wlk|whsec)_…", r"(?:wlk|whsec)_[\w=/+-]+"),
    (r"\b[a-z]+_(?:[0-9a-f]{4,}…?|…)(?!\w)", None),  # an id, of its own sort
    (_INSTANT, _INSTANT),
    (r"\b\d\d:\d\d:\d\d(?:\.\d+)?", r"\d\d:\d\d:\d\d(?:\.\d+)?"),
    (rf"{_DURATION}|\bnow\b", rf"(?:{_DURATION}|now)"),
    (r"\b\d[\d.]* (?:[kMG]B|%)", r"\d[\d.]* (?:[kMG]B|%)"),
    (r"\b\d+\.\d{3,}", r"\d+(?:\.\d+)?"),
    (r'"[0-9a-f]{32}"', r'"[0-9a-f]{32}"'),  # a tag
    (r"-{3,}(?:\+-+)*", r"-[-+]*"),  # a rule of psql's
    (r" ?…", r".*?"),
)
_ANY: Final = re.compile("|".join(f"(?P<p{n}>{left})" for n, (left, _) in enumerate(_LOOSE)))
_ANYTHING: Final = "…"


def is_shown(shown: str, said: str) -> bool:
    """`said` is what `shown` says, from its first line to its last."""
    if shown.startswith("{"):  # a line of JSON is broken where a page ends
        shown = "".join(line.strip() for line in shown.splitlines())
    return re.fullmatch(pattern(shown), _plain(said)) is not None


def holds_shown(shown: str, said: str) -> bool:
    """Each line of `shown` is a line of `said`, in this order, whatever stands between them."""
    lines = (pattern(line) for line in shown.splitlines() if line.strip())
    between = r"(?:.*\n)*?"
    return re.match(between + between.join(lines), _plain(said)) is not None


def pattern(shown: str) -> str:
    lines = _plain(shown).splitlines()
    return "".join(r"(?:.*\n)*" if line == _ANYTHING else f"{_line(line)}\n" for line in lines)


def _line(line: str) -> str:
    parts, at = [], 0
    for found in _ANY.finditer(line):
        parts += [re.escape(line[at : found.start()]), _stands_for(found)]
        at = found.end()
    return "".join([*parts, re.escape(line[at:])])


def _stands_for(found: re.Match[str]) -> str:
    assert found.lastgroup is not None
    loose = _LOOSE[int(found.lastgroup.removeprefix("p"))][1]
    return loose if loose is not None else found[0].split("_")[0] + r"_[0-9a-f]+…?"


def _plain(text: str) -> str:
    """One space between words, and none around lines; no empty lines."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line)
