"""Is a workflow being traced here? Tasks ask, so this file is light; the rest loads when it is so.

@app.workflow       called once, with a Value for every parameter    -> sdk.workflow.code
  task.step(…)      notes a step in the current trace                -> sdk.workflow.work
  windlass.when(…)  opens a block in it                              -> sdk.workflow.block
what was noted      who waits for whom, and the document             -> sdk.workflow.needs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from windlass.sdk.workflow.step import Step
    from windlass.sdk.workflow.trace import Trace

TRACE: Final[ContextVar[Trace | None]] = ContextVar("windlass_trace", default=None)


def is_tracing() -> bool:
    return TRACE.get() is not None


def task_step(
    task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]
) -> Step[Any]:
    """`task.step(…)`: `options` are fields of a job; `after` and `join` stand among `kwargs`."""
    from windlass.sdk.workflow.tracing_task import step_of

    return step_of(task, args, kwargs, options)


def task_map(
    task: Any, items: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]
) -> Step[Any]:
    """`task.map(items, …)` of a workflow: what is known of the items is where they will be."""
    from windlass.sdk.workflow.tracing_task import map_of

    return map_of(task, items, kwargs, options)


def refuse_call(name: str) -> NoReturn:
    """A task was called like a function while a workflow is traced: it would run now, and once."""
    from windlass.sdk.workflow.cannot_trace import CannotTrace

    raise CannotTrace(f"{name}(…) would run while the workflow is traced; write {name}.step(…)")


def refuse_await(asked: str) -> NoReturn:
    """A word of durable functions in a workflow: nobody would ever await it."""
    from windlass.sdk.workflow.cannot_trace import CannotTrace

    raise CannotTrace(f"{asked} is for @app.durable; in a workflow write task.step(…)")
