"""`expect`: a CEL condition on a receiver's answer.

It sees `status` (a number), `headers` (a map by lower-case name), `body` (text) and `json` (the
body parsed, or null). It may do less work than the expressions of a step (model.expression).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

from windlass.limits import EXPECT_CACHE_MAX, EXPECT_CHARS_MAX, EXPECT_WORK_MAX
from windlass.model.expression import Run, Spent, Unanswerable, compile_expression
from windlass.model.expression.values import type_of

__all__ = ["NAMES", "Expectation", "Spent", "Unanswerable", "expectation"]

NAMES: Final = ("status", "headers", "body", "json")


class AnswerLike(Protocol):
    """What an expression may look at; made only when it does."""

    status: int

    @property
    def text(self) -> str: ...
    @property
    def fields(self) -> Mapping[str, str]: ...
    @property
    def json(self) -> Any: ...


class Expectation:
    """A compiled expression."""

    __slots__ = ("_expression",)

    def __init__(self, source: str) -> None:
        """Raises ValueError that says what is wrong with `source`."""
        if not 1 <= len(source) <= EXPECT_CHARS_MAX:
            raise ValueError(f"must be a CEL expression of 1 to {EXPECT_CHARS_MAX} characters")
        self._expression = compile_expression(source)
        strange = self._expression.names - set(NAMES)
        if strange:
            raise ValueError(f"knows no {min(strange)!r}; there are: {' '.join(NAMES)}")

    def holds(self, answer: AnswerLike, work_max: int = EXPECT_WORK_MAX) -> bool:
        """Whether the answer is as expected. Raises Unanswerable, Spent if that was too much."""
        seen = {name: _SIGHT[name](answer) for name in self._expression.names}
        try:
            said = self._expression.evaluate(seen, Run(seen, work_max))
        except Spent:
            raise
        except Unanswerable as trouble:
            if "json" not in seen or seen["json"] is not None:
                raise
            raise Unanswerable(f"{trouble} (the answer is not JSON, so json is null)") from None
        if not isinstance(said, bool):
            raise Unanswerable(f"it gave {type_of(said)}, and must give true or false")
        return said


_SIGHT: Final[dict[str, Callable[[AnswerLike], Any]]] = {
    "status": lambda answer: answer.status,
    "headers": lambda answer: dict(answer.fields),
    "body": lambda answer: answer.text,
    "json": lambda answer: answer.json,
}


@lru_cache(maxsize=EXPECT_CACHE_MAX)
def expectation(source: str) -> Expectation:
    """The compiled expression, or ValueError that says what is wrong with it."""
    return Expectation(source)
