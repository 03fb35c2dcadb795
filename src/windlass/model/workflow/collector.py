"""What is collected while a definition is read: the problems found, and the expressions met.

Readers go on after a mistake, so that one answer holds all of them. Expressions are only collected:
what they may name is known when the whole graph is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from windlass.errors import InvalidInput
from windlass.limits import DEFINITION_PROBLEMS_MAX
from windlass.model.json.pointer import step as pointer_to
from windlass.model.workflow.definition import Problem
from windlass.model.workflow.known_kinds import KnownKinds

T = TypeVar("T")


class Enough(Exception):
    """Nobody reads more problems than these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """An expression, or a template of them, and where it stands."""

    pointer: str
    value: Any  # a template, or CEL as it stands
    is_template: bool
    step: int | None = None  # the index of the step that it belongs to; None: no step's
    sees_item: bool = False  # `item` and `index` are there
    sees_itself: bool = False  # and so is the end of its own step
    sees_steps: bool = True  # False: it is asked before there are any


@dataclass(slots=True, kw_only=True)
class Collector:
    kinds: KnownKinds | None  # None: it was checked when it was published, and is only read
    problems: list[Problem] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    # Something about the shape of the graph could not be read: what follows from it is not judged.
    has_gaps: bool = False

    def say(self, pointer: str, detail: str) -> None:
        """Raises Enough, so that a million mistakes are not a million times the work."""
        self.problems.append(Problem(pointer=pointer, detail=detail))
        if len(self.problems) == DEFINITION_PROBLEMS_MAX:
            raise Enough

    def take(self, pointer: str, read: Callable[[Any], T], value: Any) -> T | None:
        """What `read` makes of the value, or None and its complaint is noted."""
        try:
            return read(value)
        except ValueError as trouble:
            self.say(pointer, str(trouble))
        except InvalidInput as trouble:
            for inner in trouble.problems:
                self.say(pointer + inner.pointer, inner.detail)
        return None

    def collect(self, pointer: str, value: Any, **sight: Any) -> None:
        """Note a template."""
        if self.kinds is not None:
            self.uses.append(Use(pointer=pointer, value=value, is_template=True, **sight))


def is_open(value: object) -> bool:
    """Is it known only when the step runs?"""
    return isinstance(value, str) and "${" in value


def open_texts(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Every text with an expression in it, and its pointer."""
    rest = [(at, value)]
    while rest:
        pointer, found = rest.pop()
        if isinstance(found, str):
            if "${" in found:
                yield pointer, found
        elif isinstance(found, dict):
            rest += [(pointer + pointer_to(name), inner) for name, inner in reversed(found.items())]
        elif isinstance(found, list):
            rest += [(f"{pointer}/{n}", found[n]) for n in reversed(range(len(found)))]
