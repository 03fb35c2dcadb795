"""A workflow with options: what its next execution, or a step that runs it (child), is to be."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypedDict

from windlass.model.job.states import Priority
from windlass.sdk.tasks.execution_handle import ExecutionHandle
from windlass.sdk.tasks.handle import run
from windlass.sdk.tasks.options import Duration
from windlass.sdk.workflow.step import After, Each, Step
from windlass.sdk.workflow.work import Work, of_each, step_options

if TYPE_CHECKING:
    from windlass.sdk.workflow.code import WorkflowCode

P = ParamSpec("P")


class WorkflowOptions(TypedDict, total=False):
    """`key`, `tags` and `correlation_id` are for a start, `timeout` and `queue` for a step."""

    key: str  # the same key starts it once
    priority: Priority
    tags: Sequence[str]
    correlation_id: str
    timeout: Duration
    queue: str


class BoundWorkflow(Generic[P]):
    def __init__(self, code: WorkflowCode[P], options: Mapping[str, Any]) -> None:
        self._code, self._options = code, options

    def start(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[Any]:
        """Begin an execution. Raises InvalidArguments."""
        return run(self.astart(*args, **kwargs))

    async def astart(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[Any]:
        for name in ("timeout", "queue"):
            if name in self._options:
                raise TypeError(f"{name} of a start: say it in @app.workflow({name}=…)")
        code = self._code
        made = await code.app.client.executions.start(
            code.name, code.by_name(args, kwargs), **self._options
        )
        return ExecutionHandle(code.app, made["id"], lambda output: output)

    def step(
        self, *args: Any, after: After = None, join: int | str | None = None, **kwargs: Any
    ) -> Step[Any]:
        """Inside another workflow: run this one and wait for it."""
        given = self._code.inputs.template(args, kwargs)
        return self._work(given).step(after=after, join=join)

    def map(self, items: Any, *, each: Each | None = None, **options: Any) -> Step[list[Any]]:
        """Inside another workflow: an execution for each item.

        The item is the first input; `each` makes another of it, or a dict of several.
        """
        made = of_each(each or (lambda item: item))
        first = next(iter(inspect.signature(self._code.function).parameters), "")
        return self._work(made if isinstance(made, dict) else {first: made}).map(items, **options)

    def _work(self, given: Mapping[str, Any]) -> Work[Any]:
        return Work(
            kind="workflow",
            input={"workflow": self._code.name, "input": given},
            wish=self._code.name,
            options=step_options(self._options),
        )
