"""Regular expressions that somebody else wrote, matched in time linear in the text.

Python's own matcher takes exponential time over `(a+)+$`, and it runs where everybody waits. This
one does not go back. What it takes to compile a pattern grows with its counted repeats and
with the classes of letters in them, which are bounded together; each is compiled once and kept.
Linear in the text is not quick: `(?:.?){999}x` may be in a thousand states at every character, and
takes a tenth of a millisecond for each. So who matches a text counts the states, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Final

from windlass.extras import server_parts
from windlass.limits import (
    PATTERN_CHARS_MAX,
    PATTERN_CHEAP_COST_MAX,
    PATTERN_COST_MAX,
    PATTERNS_CHEAP_KEPT_MAX,
    PATTERNS_COSTLY_KEPT_MAX,
)
from windlass.model.json.storable import harmless_text

Match = Callable[[str], bool]

_COUNTED: Final = re.compile(r"\{([0-9]*),?([0-9]*)\}")
# Hundreds of ranges each, and some tens.
_WIDE: Final = re.compile(r"\\[wWpPbB]")
_MIDDLING: Final = re.compile(r"\\[dDsS]")
_WIDE_COSTS, _MIDDLING_COSTS = 20, 2
# Spaces between the signs: `a{ 900 }` would not look like a repeat.
_VERBOSE: Final = re.compile(r"\(\?[A-Za-z-]*x[A-Za-z-]*[:)]")
_PARTS: Final = re.compile(
    r"(?P<open>\((?:\?(?:P?<[^>]*>|[A-Za-z-]*:?))?)|(?P<close>\))"
    r"|\{(?P<least>[0-9]*),?(?P<most>[0-9]*)\}|(?P<silent>[|?*+^$])"
    r"|(?P<letter>\\.|\[\^?\]?(?:\\.|\[[^\]]*\]|[^\]\\])*\]|.)",
    re.DOTALL,
)
_ASCII_CLASS: Final = re.compile(r"\[(?!\^)[^\[\\]*\]")
# Any letter but some, of all that there are.
_NEGATED_COSTS: Final = 8


def pattern_trouble(pattern: object) -> str | None:
    """Why it is no pattern that can be used, or None."""
    if not isinstance(pattern, str) or not 1 <= len(pattern) <= PATTERN_CHARS_MAX:
        return f"must be a regular expression of 1 to {PATTERN_CHARS_MAX} characters"
    if _VERBOSE.search(pattern):
        return "must be written without the flag x; its spaces and comments mean nothing here"
    if cost_of(pattern) > PATTERN_COST_MAX:
        return (
            "repeats too much; count less, name the letters ([A-Za-z0-9_] is a thirtieth of the "
            "work of \\w), or say maxLength beside \\w+"
        )
    found = _found(pattern)
    return found if isinstance(found, str) else None


def compiled(pattern: str) -> Match | None:
    """Tells whether the pattern is found anywhere in a text. None: it is no pattern."""
    found = _found(pattern[: PATTERN_CHARS_MAX + 1])
    return None if isinstance(found, str) else found


def cost_of(pattern: str) -> int:
    """About what it takes to compile it; a unit is less than a tenth of a millisecond."""
    pattern = pattern[:PATTERN_CHARS_MAX]
    if _VERBOSE.search(pattern):
        return PATTERN_COST_MAX
    counts = [max(int(a or 1), int(b or 1)) for a, b in _COUNTED.findall(pattern)]
    wide, middling = len(_WIDE.findall(pattern)), len(_MIDDLING.findall(pattern))
    each = 1 + _WIDE_COSTS * wide + _MIDDLING_COSTS * middling
    return prod(max(1, count) for count in counts) * each


def states_of(pattern: str) -> int:
    """About how many states of it one character of a text can lead to."""
    groups, last = [0], 0
    for found in _PARTS.finditer(pattern[:PATTERN_CHARS_MAX]):
        match found.lastgroup:
            case "open":
                groups.append(0)
            case "close" if len(groups) > 1:
                last = groups.pop()
                groups[-1] += last
            case "letter":
                last = _letter_states(found["letter"])
                groups[-1] += last
            case "least" | "most":
                more = max(int(found["least"] or 1), int(found["most"] or 1), 1) - 1
                groups[-1] += more * last
                last += more * last
            case _:
                pass
    return sum(groups)


def _letter_states(letter: str) -> int:
    if _WIDE.search(letter):
        return _WIDE_COSTS
    is_plain = letter.isascii() and (len(letter) <= 2 or _ASCII_CLASS.fullmatch(letter))
    return 1 if is_plain and letter != "." and not _MIDDLING.search(letter) else _NEGATED_COSTS


def _found(pattern: str) -> Match | str:
    if _VERBOSE.search(pattern):  # of a definition that an earlier release has taken
        return _costly(pattern)
    is_cheap = max(cost_of(pattern), states_of(pattern) // 8) <= PATTERN_CHEAP_COST_MAX
    return _cheap(pattern) if is_cheap else _costly(pattern)


@lru_cache(maxsize=PATTERNS_CHEAP_KEPT_MAX)
def _cheap(pattern: str) -> Match | str:
    return _compile(pattern)


@lru_cache(maxsize=PATTERNS_COSTLY_KEPT_MAX)
def _costly(pattern: str) -> Match | str:
    return _compile(pattern)


def _compile(pattern: str) -> Match | str:
    # Here, because not every process needs it.
    with server_parts("a regular expression"):
        from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True)
        return SchemaValidator(schema).isinstance_python
    except SchemaError as trouble:
        said = harmless_text(str(trouble)).strip().rpartition("error: ")[2]
        return f"is no regular expression: {said.splitlines()[0].partition('. ')[0][:200]}"
