"""The trace of a workflow function: the steps it has said so far, and the blocks they stand in.

Tasks ask here whether a workflow is being traced, so this file is light; the rest loads then.

    @app.workflow       called once, with a Value for every parameter    -> sdk.workflow.code
      task.step(…)      notes a step in the current trace                -> sdk.workflow.work
      windlass.when(…)  opens a block in it                              -> sdk.workflow.block
    what was noted      who waits for whom, and the document             -> sdk.workflow.needs
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NoReturn

from windlass.limits import STEP_ID_CHARS_MAX
from windlass.sdk.workflow.cannot_trace import CannotTrace

if TYPE_CHECKING:
    from windlass.sdk.workflow.block import Block
    from windlass.sdk.workflow.step import Step

_STRANGE: Final = re.compile(r"[^A-Za-z0-9_]+")


class Trace:
    def __init__(self, workflow: str) -> None:
        self.workflow = workflow
        self.steps: list[Step[Any]] = []
        self.block: Block | None = None  # the innermost that is open
        self.concurrency: dict[str, Any] | None = None

    def add(self, step: Step[Any]) -> None:
        step.position = len(self.steps)
        self.steps.append(step)

    def free_id(self, wish: str) -> str:
        """An id like the wish; numbered when it is taken."""
        plain = _STRANGE.sub("_", wish).strip("_") or "step"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        taken = {step.id for step in self.steps}
        made, number = plain[:STEP_ID_CHARS_MAX], 1
        while made in taken:
            number += 1
            end = f"_{number}"
            made = plain[: STEP_ID_CHARS_MAX - len(end)] + end
        return made


# None: no workflow is being traced here.
TRACE: Final[ContextVar[Trace | None]] = ContextVar("windlass_trace", default=None)


def is_tracing() -> bool:
    return TRACE.get() is not None


def current_trace(what: str) -> Trace:
    """Raises CannotTrace outside of a workflow function."""
    trace = TRACE.get()
    if trace is None:
        raise CannotTrace(f"{what} belongs inside a function with @app.workflow")
    return trace


def task_step(
    task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]
) -> Step[Any]:
    """`task.step(…)`: `options` are fields of a job; `after` and `join` stand among `kwargs`."""
    from windlass.sdk.workflow.work import step_of

    return step_of(task, args, kwargs, options)


def task_map(
    task: Any, items: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]
) -> Step[Any]:
    """`task.map(items, …)` of a workflow: what is known of the items is where they will be."""
    from windlass.sdk.workflow.work import map_of

    return map_of(task, items, kwargs, options)


def refuse_call(name: str) -> NoReturn:
    """A task was called like a function while a workflow is traced: it would run now, and once."""
    raise CannotTrace(f"{name}(…) would run while the workflow is traced; write {name}.step(…)")


def refuse_await(asked: str) -> NoReturn:
    """A word of durable functions in a workflow: nobody would ever await it."""
    raise CannotTrace(f"{asked} is for @app.durable; in a workflow write task.step(…)")
