"""Regular expressions that somebody else wrote, matched in time linear in the text.

Python's own matcher takes exponential time over `(a+)+$`, and it runs where everybody waits. The
one inside the CEL library does not go back; what it takes to compile grows with counted repeats,
which are bounded here.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Final

from windlass.model.harmless import harmless_text

if TYPE_CHECKING:
    import cel

CHARS_MAX: Final = 500
REPEATS_MAX: Final = 1_000
_COUNTED: Final = re.compile(r"\{([0-9]*),?([0-9]*)\}")


def pattern_trouble(pattern: object) -> str | None:
    """Why it is no pattern that can be used, or None."""
    if not isinstance(pattern, str) or not 1 <= len(pattern) <= CHARS_MAX:
        return f"must be a regular expression of 1 to {CHARS_MAX} characters"
    if repeats_of(pattern) > REPEATS_MAX:
        return f"repeats more than {REPEATS_MAX} times; count less"
    return _trouble(pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text. It must be without trouble."""
    return bool(_program().execute({"pattern": pattern, "text": text}))


def repeats_of(pattern: str) -> int:
    """The product of its counted repeats: what it costs to compile."""
    counts = [max(int(a or 1), int(b or 1)) for a, b in _COUNTED.findall(pattern[:CHARS_MAX])]
    return prod(max(1, count) for count in counts)


@lru_cache(maxsize=1_000)
def _trouble(pattern: str) -> str | None:
    try:
        matches(pattern, "")
    except Exception as trouble:
        said = harmless_text(str(trouble)).strip().rpartition("error: ")[2]
        return f"is no regular expression: {said.splitlines()[0].partition('. ')[0][:200]}"
    return None


@cache
def _program() -> cel.Program:
    # Here, because the import alone takes a fifth of a second.
    import cel

    return cel.compile("text.matches(pattern)")
