"""The operators of CEL: arithmetic, comparison, `&&` and `||`; and its loops (`all`, `map`, …).

As in CEL, arithmetic does not mix whole numbers with others and does not leave 64 bits; `==`
compares anything with anything, and numbers by their value; `<` wants two of a kind.

Of `&&`, `||`, `all` and `exists` one part that decides is enough, even if another has no answer:
`x.exists(i, i.y == 1)` is true as soon as one is, although the first has no `y`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from windlass.model.expression.parse import INT_MAX
from windlass.model.expression.values import Program, Run, Spent, Unanswerable, type_of

_NUMBERS: Final = (int, float)
_HOLDER_COSTS: Final = 4
_LOOP_COSTS: Final = 3
# What it takes to find that a part has no answer, and to go on without it.
_TROUBLE_COSTS: Final = 25
_ORDERED: Final = (str, bool, bytes, datetime, timedelta)


def add(run: Run, left: Any, right: Any) -> Any:
    kinds = (type(left), type(right))
    match kinds:
        case (a, b) if a is b is int:
            return whole(left + right)
        case (a, b) if a is b is float:
            return left + right
        case (a, b) if a is b and (a is str or a is bytes):
            run.spend_text(len(left) + len(right))
            return left + right
        case (a, b) if a is b is list:
            run.spend(1 + len(left) + len(right))
            return left + right
        case (a, b) if b is timedelta and (a is datetime or a is timedelta):
            return _in_time(lambda: left + right)
        case (a, b) if a is timedelta and b is datetime:
            return _in_time(lambda: left + right)
    raise _unfit("+", left, right)


def subtract(run: Run, left: Any, right: Any) -> Any:
    kinds = (type(left), type(right))
    if kinds == (int, int):
        return whole(left - right)
    if kinds == (float, float):
        return left - right
    if kinds in ((datetime, datetime), (datetime, timedelta), (timedelta, timedelta)):
        return _in_time(lambda: left - right)
    raise _unfit("-", left, right)


def multiply(run: Run, left: Any, right: Any) -> Any:
    kinds = (type(left), type(right))
    if kinds == (int, int):
        _spend_digits(run, left, right)
        return whole(left * right)
    if kinds == (float, float):
        return left * right
    raise _unfit("*", left, right)


def divide(run: Run, left: Any, right: Any) -> Any:
    kinds = (type(left), type(right))
    if kinds == (float, float):
        if right:
            return left / right
        return (
            math.nan
            if not left or left != left
            else math.copysign(math.inf, left) * (math.copysign(1.0, right))
        )
    if kinds != (int, int):
        raise _unfit("/", left, right)
    if not right:
        raise Unanswerable("division by zero")
    _spend_digits(run, left, right)
    # Towards zero, where Python goes down.
    size = abs(left) // abs(right)
    return whole(size if (left < 0) == (right < 0) else -size)


def remainder(run: Run, left: Any, right: Any) -> Any:
    if (type(left), type(right)) != (int, int):
        raise _unfit("%", left, right)
    if not right:
        raise Unanswerable("division by zero")
    _spend_digits(run, left, right)
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def negated(value: Any) -> Any:
    if type(value) is int:
        return whole(-value)
    if type(value) is float:
        return -value
    raise Unanswerable(f"- stands before a number, not {type_of(value)}")


def is_same(run: Run, left: Any, right: Any) -> bool:
    kind, other = type(left), type(right)
    if kind is not other:
        return kind in _NUMBERS and other in _NUMBERS and bool(left == right)
    if kind is list:
        if len(left) != len(right):
            return False
        run.spend(_HOLDER_COSTS + 2 * len(left))
        return all(is_same(run, a, b) for a, b in zip(left, right, strict=True))
    if kind is dict:
        if len(left) != len(right):
            return False
        run.spend(_HOLDER_COSTS + 2 * len(left))
        return all(key in right and is_same(run, left[key], right[key]) for key in left)
    if kind is str or kind is bytes:
        run.spend(min(len(left), len(right)) // 256)
    return bool(left == right)


def is_before(run: Run, sign: str, left: Any, right: Any) -> bool:
    kind, other = type(left), type(right)
    if kind is other and (kind is str or kind is bytes):
        run.spend(min(len(left), len(right)) // 256)
    if (kind is other and kind in _ORDERED) or (kind in _NUMBERS and other in _NUMBERS):
        if sign == "<":
            return bool(left < right)
        if sign == "<=":
            return bool(left <= right)
        return bool(left > right) if sign == ">" else bool(left >= right)
    raise _unfit(sign, left, right)


def is_in(run: Run, wanted: Any, holder: Any) -> bool:
    if type(holder) is dict:
        return type(wanted) in (str, int) and wanted in holder
    if type(holder) is list:
        run.spend(1 + 2 * len(holder))
        return any(is_same(run, wanted, found) for found in holder)
    raise Unanswerable(f"`in` looks into a list or a map, not {type_of(holder)}")


def _spend_digits(run: Run, left: int, right: int) -> None:
    """A number that somebody sent may have thousands of digits."""
    if long := left.bit_length() * right.bit_length() >> 17:
        run.spend(long)


def whole(value: int) -> int:
    if not -INT_MAX - 1 <= value <= INT_MAX:
        raise Unanswerable("overflow: whole numbers have 64 bits")
    return value


def truth(value: Any) -> bool:
    if type(value) is not bool:
        raise Unanswerable(f"true or false is needed, and there is {type_of(value)}")
    return value


def _in_time(work: Any) -> Any:
    try:
        return work()
    except OverflowError:
        raise Unanswerable("overflow: years go from 1 to 9999") from None


def _unfit(sign: str, left: Any, right: Any) -> Unanswerable:
    a, b = type_of(left), type_of(right)
    text = f"there is no overload of {sign} for {a} and {b}"
    if {a, b} == {"int", "double"}:
        text += "; say double(x) or int(x)"
    elif "string" in (a, b) and sign == "+":
        text += "; say string(x)"
    elif "null_type" in (a, b):
        text += "; ask x != null first"
    return Unanswerable(text)


def decided(parts: tuple[Program, ...], by: bool) -> Program:
    """`||`, decided by a true part, and `&&`, decided by a false one."""
    return lambda run: _decide(run, iter(parts), by)


def loop(
    kind: str, of: Program, slot: int, only: Program | None, body: Program, cost: int
) -> Program:
    """`cost` is that of one turn. `only` is a `map`'s condition, if it has one."""
    over = _over(of, slot, cost)
    match kind:
        case "map":
            return lambda run: [body(run) for _ in over(run) if only is None or truth(only(run))]
        case "filter":
            return lambda run: [found for found in over(run) if truth(body(run))]
        case "exists_one" | "existsOne":
            return lambda run: sum(truth(body(run)) for _ in over(run)) == 1
        case _:
            by = kind == "exists"
            return lambda run: _decide(run, (body for _ in over(run)), by)


def _decide(run: Run, parts: Iterator[Program], by: bool) -> bool:
    trouble: Unanswerable | None = None
    for part in parts:
        try:
            if truth(part(run)) is by:
                return by
        except Spent:
            raise
        except Unanswerable as unknown:
            run.spend(_TROUBLE_COSTS)
            trouble = trouble or unknown
    if trouble is not None:
        raise trouble
    return not by


def _over(of: Program, slot: int, cost: int) -> Callable[[Run], Iterator[Any]]:
    """The elements of a list, or the keys of a map, each bound in its turn."""

    def over(run: Run) -> Iterator[Any]:
        elements = of(run)
        if type(elements) is not list and type(elements) is not dict:
            raise Unanswerable(f"a loop goes through a list or a map, not {type_of(elements)}")
        run.spend(_LOOP_COSTS)
        bound = run.bound
        for element in elements:
            run.spend(cost)
            bound[slot] = element
            yield element

    return over
