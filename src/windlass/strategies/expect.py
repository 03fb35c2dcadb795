"""`expect`: a CEL condition on a receiver's answer.

It sees `status` (a number), `headers` (a map by lower-case name), `body` (text) and `json` (the
body parsed, or null).

The library cannot be interrupted and holds the interpreter while it works, so what an expression
may cost is bounded before it runs: its text is short, its functions are on a list (without
`matches`: one pattern with two counted repeats takes seconds), its loops are few, and the work of
its loops over an answer is estimated first:

    (longest list) ^ loops  x  size of the answer  x  words of the expression

Every unit of that was measured at about a nanosecond, and thirty where lists or texts are added up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from windlass.limits import (
    EXPECT_CACHE_MAX,
    EXPECT_CHARS_MAX,
    EXPECT_LOOPS_MAX,
    EXPECT_WORK_MAX,
)
from windlass.model.harmless import harmless_text

if TYPE_CHECKING:
    import cel

NAMES: Final = ("status", "headers", "body", "json")
_FUNCTIONS: Final = frozenset(
    (
        "size",
        "contains",
        "startsWith",
        "endsWith",
        "int",
        "uint",
        "double",
        "string",
        "bool",
        "type",
    )
)
_NAMED: Final = re.compile(r"[A-Za-z]\w*")
_WORD: Final = re.compile(r"\w+")
# Counted wherever they stand, even inside a text: too many is refused, too few would be a hole.
_LOOP: Final = re.compile(r"\b(?:all|exists|exists_one|existsOne|map|filter)\b")
_ADDING_COSTS: Final = 30
_MESSAGE_CHARS_MAX: Final = 300

T = TypeVar("T")


class Unanswerable(Exception):
    """The expression has no answer here: it failed, or would take too long."""


class Answer(Protocol):
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

    __slots__ = ("_cost", "_loops", "_names", "_program", "_source")

    def __init__(self, source: str) -> None:
        """Raises ValueError that says what is wrong with `source`."""
        program = _compiled(source)
        self._source, self._program = source, program
        self._loops = len(_LOOP.findall(source))
        self._names = frozenset(program.variables()) & frozenset(NAMES)
        self._cost = len(_WORD.findall(source)) * (_ADDING_COSTS if "+" in source else 1)
        if self._loops > EXPECT_LOOPS_MAX:
            raise ValueError(f"has {self._loops} loops; at most {EXPECT_LOOPS_MAX} are allowed")
        strange = set(program.variables()) - self._names
        # The names that loops bind are among them, and cannot be told from mistakes.
        if strange and not self._loops:
            raise ValueError(f"knows no {min(strange)!r}; there are: {' '.join(NAMES)}")
        unknown = {n for n in program.functions() if _NAMED.fullmatch(n)} - _FUNCTIONS
        if unknown:
            known = " ".join(sorted(_FUNCTIONS))
            raise ValueError(f"has no function {min(unknown)!r}; there are: {known}")

    def holds(self, answer: Answer) -> bool:
        """Whether the answer is as expected. Raises Unanswerable."""
        if self._loops:
            self._refuse_long_work(answer)
        seen = {name: _SIGHT[name](answer) for name in self._names}
        try:
            said = _guarded(lambda: self._program.execute(seen))
        except Unanswerable as trouble:
            if "json" not in seen or seen["json"] is not None:
                raise
            raise Unanswerable(f"{trouble} (the answer is not JSON, so json is null)") from None
        if not isinstance(said, bool):
            raise Unanswerable(f"it gave {type(said).__name__}, and must give true or false")
        return said

    def _refuse_long_work(self, answer: Answer) -> None:
        longest = 1 + max(answer.text.count(","), self._source.count(","), len(answer.fields))
        size = len(answer.text) + len(self._source)
        if longest**self._loops * size * self._cost > EXPECT_WORK_MAX:
            raise Unanswerable(
                f"an answer of {len(answer.text)} characters is too much for its loops; "
                "look at less of it"
            )


_SIGHT: Final[dict[str, Callable[[Answer], Any]]] = {
    "status": lambda answer: answer.status,
    "headers": lambda answer: dict(answer.fields),
    "body": lambda answer: answer.text,
    "json": lambda answer: answer.json,
}


@lru_cache(maxsize=EXPECT_CACHE_MAX)
def expectation(source: str) -> Expectation:
    """The compiled expression, or ValueError that says what is wrong with it."""
    return Expectation(source)


def _compiled(source: str) -> cel.Program:
    if not 1 <= len(source) <= EXPECT_CHARS_MAX:
        raise ValueError(f"must be a CEL expression of 1 to {EXPECT_CHARS_MAX} characters")
    # The package brings a command line of its own along: a fifth of a second that most nodes save.
    import cel

    try:
        return _guarded(lambda: cel.compile(source))
    except Unanswerable as trouble:
        raise ValueError(f"is not CEL: {trouble}") from None


def _guarded(work: Callable[[], T]) -> T:
    """Run the library; whatever it throws, a panic of its own included, becomes Unanswerable."""
    try:
        return work()
    except KeyError as trouble:
        raise Unanswerable(f"there is no key {_said(trouble.args[0])}") from None
    except Exception as trouble:
        raise Unanswerable(_said(trouble)) from None
    except BaseException as panic:
        if type(panic).__name__ != "PanicException":
            raise
        raise Unanswerable("the expression broke the evaluator") from None


def _said(trouble: object) -> str:
    """The first telling sentence; the library repeats the source and draws arrows below it."""
    before, found, place = harmless_text(str(trouble)).partition("ERROR: <input>:")
    text = f"line {place}" if found else before
    return text.splitlines()[0].partition(". ")[0][:_MESSAGE_CHARS_MAX] if text else "no reason"
