"""One evaluation of an expression: what it sees, and how much work it may still do.

Work is counted while it is done, so no expression takes longer than its allowance, whatever it is
given: a unit is about one operation, one element made, or some tens of characters copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from windlass.limits import EXPRESSION_WORK_MAX


class Unanswerable(Exception):
    """The expression has no answer here: something is missing, does not fit, or is too much."""


class Spent(Unanswerable):
    """It would take too long. No `||` makes up for that."""


class Run:
    __slots__ = ("bound", "left", "scope")

    def __init__(self, scope: Mapping[str, Any], work_max: int = EXPRESSION_WORK_MAX) -> None:
        self.scope = scope
        self.bound: dict[int | None, Any] = {}  # what loops have bound, by their slot
        self.left = work_max

    def spend(self, units: int) -> None:
        self.left -= units
        if self.left < 0:
            raise Spent("it is too much work; look at less, or make less of it")

    def spend_text(self, characters: int) -> None:
        self.spend(1 + characters // 32)


Step: TypeAlias = Callable[[Run], Any]
