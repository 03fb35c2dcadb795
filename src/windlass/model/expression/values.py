"""The values of CEL: its types and their names, what has no answer, and the work of one evaluation.

Values are those of JSON, and times beside them. A `Run` is one evaluation: what it sees, and how
much work it may still do. Work is counted while it is done, so no expression takes longer than its
allowance, whatever it is given: a unit is about one operation, one element made, or some tens of
characters copied, and takes about a fifth of a microsecond. What takes longer is charged more: a
text that is read as a time, a time zone that is looked up in files, a part without an answer for
which another one makes up. The tests measure every operation beside the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final, TypeAlias

from windlass.limits import EXPRESSION_WORK_MAX


class TypeName(str):
    """What `type(x)` gives and `int`, `string` … stand for."""

    __slots__ = ()


_NAMES: Final[dict[type, TypeName]] = {
    type(None): TypeName("null_type"),
    bool: TypeName("bool"),
    int: TypeName("int"),
    float: TypeName("double"),
    str: TypeName("string"),
    bytes: TypeName("bytes"),
    list: TypeName("list"),
    dict: TypeName("map"),
    datetime: TypeName("timestamp"),
    timedelta: TypeName("duration"),
    TypeName: TypeName("type"),
}
BY_NAME: Final = {str(name): name for name in _NAMES.values()}


def type_of(value: Any) -> TypeName:
    return _NAMES.get(type(value)) or TypeName(type(value).__name__)


class Unanswerable(Exception):
    """The expression has no answer here: something is missing, does not fit, or is too much.

    What it says may be made when somebody asks: most are made up for by an `||` and never read.
    """

    def __init__(self, said: str | Callable[[], str]) -> None:
        super().__init__(said)
        self._said = said

    def __str__(self) -> str:
        return self._said if isinstance(self._said, str) else self._said()


class Spent(Unanswerable):
    """It would take too long. No `||` makes up for that."""


class Run:
    """One evaluation, or several that share an allowance."""

    __slots__ = ("bound", "left", "scope", "zones")

    def __init__(self, scope: Mapping[str, Any], work_max: int = EXPRESSION_WORK_MAX) -> None:
        self.scope = scope
        self.bound: dict[int | None, Any] = {}  # what loops have bound, by their slot
        self.zones: dict[str, tzinfo | None] = {}  # looked up already; None: there is no such zone
        self.left = work_max

    def spend(self, units: int) -> None:
        self.left -= units
        if self.left < 0:
            raise Spent("it is too much work; look at less, or make less of it")

    def spend_text(self, characters: int) -> None:
        self.spend(1 + characters // 32)


# A compiled node: called with a run, it gives the value.
Program: TypeAlias = Callable[[Run], Any]
