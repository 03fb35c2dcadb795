"""Strict JSON at the door: all that a database or a neighbour could choke on is refused here.

Refused: twin keys, NaN and infinities (also 1e999), nesting deeper than the limit, NUL characters
and surrogates that stand alone. The common body costs one C-speed parse with a small hook.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Final

import msgspec

from windlass.errors import MalformedBody
from windlass.limits import JSON_DEPTH_MAX

_NUL_TEXT: Final = b"\\u0000"
# The character, but not the text \u0000, whose backslash is itself escaped.
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name[:60]!r} stands twice in one object")
            seen.add(name)
    return made


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


# Refuses what it can see while it reads; `parse` says it in our words.
DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_without_twins, parse_float=_finite, parse_constant=_no_constant
)


def _in_ascii(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        if not text.isascii():
            raise ValueError("digits are 0 to 9")
        return read(text)

    return number


# The same, written in Python: slower, and other threads have their turn between two values. It
# takes the digits of every script.
_IN_BITES: Final = json.JSONDecoder(
    object_pairs_hook=_without_twins,
    parse_int=_in_ascii(int),
    parse_float=_in_ascii(_finite),
    parse_constant=_no_constant,
)
_IN_BITES.scan_once = py_make_scanner(_IN_BITES)  # type: ignore[attr-defined]


def read_stored(text: str) -> Any:
    """The value in a JSON column, whichever build has put it there: one number that no door takes
    today must not hide the rest. It is infinite then, which our answers show as null.
    """
    try:
        return json.loads(text)
    except ValueError:  # Python makes no int of more than 4,300 digits
        return json.loads(text, parse_int=_int_or_infinity)


def _int_or_infinity(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def parse(body: bytes) -> Any:
    """The value in `body`, or MalformedBody that says what is wrong with it."""
    return _parse(DECODER, body)


def parse_in_bites(body: bytes) -> Any:
    """The same in a thread, one at a time, for a body of very many values: nobody waits for it."""
    return _parse(_IN_BITES, body)


def _parse(decoder: json.JSONDecoder, body: bytes) -> Any:
    try:
        return decoder.decode(body.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise MalformedBody.at("", f"the body is not UTF-8: {problem.reason}") from None
    except RecursionError:
        raise MalformedBody.at("", too_deep()) from None
    except ValueError as problem:
        raise MalformedBody.at("", f"the body is not JSON that can be taken: {problem}") from None


def write(value: Any, depth_max: int = JSON_DEPTH_MAX) -> str:
    """`value` as compact JSON text that PostgreSQL takes. Raises ValueError naming the trouble."""
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair; send whole characters") from None
    except RecursionError:
        raise ValueError(too_deep()) from None
    if _NUL_TEXT in text and _NUL.search(text):
        raise ValueError("holds the character U+0000, which cannot be stored")
    written = text.decode()
    if is_too_deep(written, value, depth_max):
        raise ValueError(too_deep())
    return written


def is_too_deep(text: str, value: Any, depth_max: int = JSON_DEPTH_MAX) -> bool:
    """Whether `value`, which was read from `text` or written to it, is nested too deeply."""
    # Counting brackets costs nothing and clears nearly every body; only the rest is walked.
    return text.count("[") + text.count("{") > depth_max and _depth(value) > depth_max


def too_deep() -> str:
    """What is said of a value that is."""
    return f"is nested deeper than {JSON_DEPTH_MAX} levels"


def _depth(value: Any) -> int:
    """How many lists and objects stand inside one another."""
    level, depth = [value], 0
    while holders := [found for found in level if isinstance(found, dict | list)]:
        depth += 1
        level = [
            child
            for holder in holders
            for child in (holder.values() if isinstance(holder, dict) else holder)
        ]
    return depth
