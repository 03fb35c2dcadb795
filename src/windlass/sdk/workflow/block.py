"""Steps that run only sometimes: `with when(…):` and the cases of `with switch() as way:`."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.step import After, Step, afters_of
from windlass.sdk.workflow.trace import Trace, current_trace
from windlass.sdk.workflow.value import Value


class Block:
    """Open while its `with` is; a step belongs to the innermost block in which it is written."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.above: Block | None = None

    def __enter__(self) -> Self:
        self.above, self._trace.block = self._trace.block, self
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _raised: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._trace.block = self.above

    def and_above(self) -> Iterator[Block]:
        """This one and those that it lies in."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.above


class When(Block):
    def __init__(self, condition: object) -> None:
        super().__init__(current_trace("windlass.when"))
        self.condition = _condition(condition, "when")


class Case(Block):
    """One way of a switch; `go` are the steps that it leads to directly."""

    def __init__(self, trace: Trace, switch: Switch, condition: Value | None) -> None:
        super().__init__(trace)
        self.switch = switch
        self.condition = condition  # None: the default
        self.go: list[str] = []


class Switch:
    """`with windlass.switch() as way:` and below it `with way.case(…):`, `with way.default():`."""

    def __init__(self, after: After = None, id: str | None = None) -> None:  # noqa: A002
        self._trace = current_trace("windlass.switch")
        self.step: Step[Any] = Step(
            self._trace,
            id or "switch",
            {"kind": "switch"},
            after=afters_of(after),
            is_named=bool(id),
        )
        self.step.switch = self
        self.cases: list[Case] = []
        self.otherwise: Case | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        raised: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if raised is None and not self.cases:
            raise CannotTrace("a switch needs a case: with way.case(order['total'] > 100):")

    def named(self, id: str, title: str | None = None) -> Self:  # noqa: A002
        self.step.named(id, title)
        return self

    def case(self, condition: object) -> Case:
        """The first case that holds is taken."""
        if self.otherwise is not None:
            raise CannotTrace("a case after the default is never looked at; write it before")
        self.cases.append(Case(self._trace, self, _condition(condition, "case")))
        return self.cases[-1]

    def default(self) -> Case:
        """Taken when no case holds."""
        if self.otherwise is not None:
            raise CannotTrace("a switch has one default")
        self.otherwise = Case(self._trace, self, None)
        return self.otherwise

    @property
    def ways(self) -> list[Case]:
        return [*self.cases, *([] if self.otherwise is None else [self.otherwise])]


def _condition(given: object, what: str) -> Value:
    if isinstance(given, Value):
        return given
    if isinstance(given, Step):
        raise CannotTrace(f"{what}({given.id}): a step is no condition; ask its .out or its .state")
    raise CannotTrace(
        f"{what}({given!r}) is known already; write a plain `if`, or ask a value of the workflow"
    )
