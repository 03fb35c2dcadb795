"""The functions that a CEL expression may call.

Those of the language, and of its common extension for texts. `matches` is left out: a pattern of
somebody else's can take longer than anybody waits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

from windlass.model.expression.operators import whole
from windlass.model.expression.times import (
    PARTS,
    part,
    read_duration,
    read_timestamp,
    seconds,
    written_timestamp,
)
from windlass.model.expression.values import Run, Unanswerable, type_of

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER: Final = re.compile(
    # Each digit can be matched in one way alone: who may try several tries them all.
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?"
)
_DIGITS_MAX: Final = 1_000
_UPPER: Final = str.maketrans(ascii_lowercase, ascii_uppercase)
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_TRUTHS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Function:
    """`arguments` counts what it is called on, too. `cost` is that of a call in units of work; what
    depends on the size of its arguments is charged by the work itself.
    """

    work: Callable[..., Any]
    arguments: range
    cost: int = 3
    is_method: bool = False
    is_global: bool = True


def _size(run: Run, value: Any) -> int:
    if type(value) in (str, list, dict, bytes):
        return len(value)
    raise _unfit("size", value)


def _int(run: Run, value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is float and math.isfinite(value):
        return whole(int(value))
    if type(value) is str and _WHOLE.fullmatch(value):
        return whole(int(value))
    if type(value) is datetime:
        return math.floor(value.timestamp())
    raise _unfit("int", value)


def _double(run: Run, value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(whole(value))
    run.spend_text(8 * min(len(value), _DIGITS_MAX) if type(value) is str else 0)
    if type(value) is str and _NUMBER.fullmatch(value):
        return float(value)
    raise _unfit("double", value)


def _string(run: Run, value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
        case int():
            return str(whole(value))
        case float():
            is_whole = value.is_integer() and abs(value) < 1e21
            return str(int(value)) if is_whole else repr(value)
        case datetime():
            return written_timestamp(value)
        case timedelta():
            return f"{seconds(value)}s"
        case bytes():
            run.spend_text(len(value))
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise Unanswerable("the bytes are no UTF-8 text") from None
        case _:
            raise _unfit("string", value)


def _bool(run: Run, value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str and value in _TRUTHS:
        return _TRUTHS[value]
    raise _unfit("bool", value)


def _bytes(run: Run, value: Any) -> bytes:
    if type(value) is bytes:
        return value
    run.spend_text(len(_text("bytes", value)))
    try:
        return bytes(value.encode())
    except UnicodeEncodeError:  # an answer that a receiver wrote may hold half of a pair
        raise Unanswerable("the text holds half of a surrogate pair, which has no bytes") from None


def _timestamp(run: Run, value: Any) -> datetime:
    if type(value) is datetime:
        return value
    if type(value) is int:
        try:
            return datetime.fromtimestamp(value, UTC)
        except (ValueError, OverflowError, OSError):
            raise Unanswerable("overflow: years go from 1 to 9999") from None
    return read_timestamp(_text("timestamp", value))


def _duration(run: Run, value: Any) -> timedelta:
    return value if type(value) is timedelta else read_duration(run, _text("duration", value))


def _part(name: str) -> Callable[..., int]:
    def work(run: Run, value: Any, *zone: Any) -> int:
        return part(run, name, value, _text(name, zone[0]) if zone else None)

    return work


def _looking(name: str, look: Callable[[str, str], Any]) -> Callable[..., Any]:
    def work(run: Run, text: Any, wanted: Any) -> Any:
        _spend_search(run, _text(name, text), _text(name, wanted))
        return look(text, wanted)

    return work


def _spend_search(run: Run, text: str, wanted: str) -> None:
    """Python looks for a text at each character of a short one, and may compare half of it."""
    size, length = len(text), len(wanted)
    run.spend_text(size + length)
    if size < 2_500 or length < 6 or (length < 100 and size < 30_000):
        run.spend(max(0, size - length) * length // 1_000)


def _changing(name: str, change: Callable[[str], str]) -> Callable[..., str]:
    def work(run: Run, text: Any) -> str:
        # Letters beyond ASCII are looked up one by one.
        is_quick = _text(name, text).isascii() or name == "trim"
        run.spend_text(len(text) if is_quick else 16 * len(text))
        return change(text)

    return work


def _split(run: Run, text: Any, by: Any) -> list[str]:
    _spend_search(run, _text("split", text), _text("split", by))
    _spend_search(run, text, by)
    run.spend(text.count(by))
    return list(text.split(by) if by else text)


def _join(run: Run, parts: Any, by: Any = "") -> str:
    if type(parts) is not list:
        raise _unfit("join", parts)
    between = len(_text("join", by))
    run.spend(len(parts))
    for text in parts:
        run.spend_text(len(_text("join", text)) + between)
    return str(by.join(parts))


def _replace(run: Run, text: Any, old: Any, new: Any) -> str:
    _spend_search(run, _text("replace", text), _text("replace", old))
    _spend_search(run, text, old)
    run.spend_text(text.count(old) * len(_text("replace", new)))
    return str(text.replace(old, new))


def _substring(run: Run, text: Any, start: Any, *ends: Any) -> str:
    end = ends[0] if ends else len(_text("substring", text))
    _text("substring", text)
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= len(text):
        raise Unanswerable(f"substring goes from 0 to {len(text)} at most")
    run.spend_text(end - start)
    return str(text[start:end])


def _text(function: str, value: Any) -> str:
    if type(value) is not str:
        raise _unfit(function, value)
    return value


def _unfit(function: str, value: Any) -> Unanswerable:
    shown = f" {value[:40]!r}" if type(value) is str else ""
    return Unanswerable(f"{function}() does not take {type_of(value)}{shown}")


def _method(
    work: Callable[..., Any], least: int, most: int | None = None, cost: int = 3
) -> Function:
    taken = range(least, (most or least) + 1)
    return Function(work, taken, cost=cost, is_method=True, is_global=False)


_ONE: Final = range(1, 2)
_TIME_COSTS: Final = 20  # a time is read, moved to a zone, or taken apart
FUNCTIONS: Final[dict[str, Function]] = {
    "size": Function(_size, _ONE, is_method=True),
    "int": Function(_int, _ONE),
    "double": Function(_double, _ONE),
    "string": Function(_string, _ONE, cost=6),
    "bool": Function(_bool, _ONE),
    "bytes": Function(_bytes, _ONE),
    "dyn": Function(lambda run, value: value, _ONE),
    "type": Function(lambda run, value: type_of(value), _ONE),
    "timestamp": Function(_timestamp, _ONE, cost=_TIME_COSTS),
    "duration": Function(_duration, _ONE, cost=_TIME_COSTS),
    "contains": _method(_looking("contains", lambda text, wanted: wanted in text), 2),
    "startsWith": _method(_looking("startsWith", str.startswith), 2),
    "endsWith": _method(_looking("endsWith", str.endswith), 2),
    "indexOf": _method(_looking("indexOf", str.find), 2),
    "lowerAscii": _method(_changing("lowerAscii", lambda text: text.translate(_LOWER)), 1),
    "upperAscii": _method(_changing("upperAscii", lambda text: text.translate(_UPPER)), 1),
    "trim": _method(_changing("trim", str.strip), 1),
    "split": _method(_split, 2),
    "join": _method(_join, 1, 2),
    "replace": _method(_replace, 3),
    "substring": _method(_substring, 2, 3),
    **{name: _method(_part(name), 1, 2, cost=_TIME_COSTS) for name in PARTS},
}
