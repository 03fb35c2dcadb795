"""A workflow that is written as a Python function.

The function is called once, with a Value for each parameter, and never again: what its steps say
is the definition, the same `windlass/v1` document that the API takes and the canvas edits, as a
person would have written it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeAlias, Unpack

from windlass.errors import InvalidInput
from windlass.extras import ServerNotInstalled
from windlass.model.json.canonical import canonical_json, hash_of
from windlass.model.workflow.definition import Definition
from windlass.model.workflow.known_kinds import KnownKinds
from windlass.model.workflow.read import read_definition
from windlass.sdk.workflow.block import Switch
from windlass.sdk.workflow.bound import BoundWorkflow, WorkflowOptions
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.inputs import Inputs
from windlass.sdk.workflow.needs import Graph, Vertex
from windlass.sdk.workflow.render import expression, rendered
from windlass.sdk.workflow.step import After, Each, Step
from windlass.sdk.workflow.trace import TRACE, Trace
from windlass.sdk.workflow.work import written_duration

if TYPE_CHECKING:
    from windlass.sdk.tasks.app import App
    from windlass.sdk.tasks.execution_handle import ExecutionHandle


P = ParamSpec("P")
Document: TypeAlias = dict[str, Any]


def _taken(_given: dict[str, Any]) -> list[tuple[str, str]]:
    """What a kind says of its input; the node that has the kind will say it."""
    return []


class WorkflowCode(Generic[P]):
    """A workflow that is written as a function (`@app.workflow`), traced when it is needed."""

    def __init__(
        self,
        app: App,
        name: str,
        function: Callable[P, Any],
        settings: Mapping[str, Any],  # the fields around the steps, as given to @app.workflow
    ) -> None:
        if inspect.iscoroutinefunction(function):
            said = f"workflow {name!r} is traced, so write `def`; for code that runs and survives"
            raise CannotTrace.of(function, f"{said} there is @app.durable")
        self.app, self.name, self.function = app, name, function
        self._settings = settings

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        said = f"{self.name} is a workflow, which is traced and not called"
        raise CannotTrace(f"{said}; write .start(…), or .step(…) inside another workflow")

    def definition(self) -> Document:
        """The document, traced when it is first asked for. Raises CannotTrace, InvalidInput."""
        return self._document

    @property
    def hash(self) -> str:
        """As the API shows it: the same hash is the same definition."""
        return hash_of(canonical_json(self._document)).hex()

    def start(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[Any]:
        """Begin an execution. Raises InvalidArguments."""
        return self._bound.start(*args, **kwargs)

    async def astart(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[Any]:
        """Begin an execution, for code that awaits."""
        return await self._bound.astart(*args, **kwargs)

    def step(
        self, *args: Any, after: After = None, join: int | str | None = None, **kwargs: Any
    ) -> Step[Any]:
        """Inside another workflow: run this one and wait for it."""
        return self._bound.step(*args, after=after, join=join, **kwargs)

    def map(self, items: Any, *, each: Each | None = None, **options: Any) -> Step[list[Any]]:
        """Inside another workflow: an execution for each item."""
        return self._bound.map(items, each=each, **options)

    def using(self, **options: Unpack[WorkflowOptions]) -> BoundWorkflow[P]:
        """Start it once for a `key`, with tags or a priority; run it as a step with a timeout."""
        return BoundWorkflow(self, options)

    def by_name(self, args: Any, kwargs: Any) -> Document:
        """The arguments as the input of an execution. Raises InvalidArguments."""
        return self.inputs.encode(args, kwargs)

    @cached_property
    def _bound(self) -> BoundWorkflow[P]:
        return BoundWorkflow(self, {})

    @cached_property
    def inputs(self) -> Inputs:
        """Its parameters, as the inputs of the workflow."""
        return Inputs(self.name, self.function)

    @cached_property
    def _document(self) -> Document:
        trace = Trace(self.name)
        token = TRACE.set(trace)
        try:
            args, kwargs = self.inputs.values()
            output = self.function(*args, **kwargs)  # type: ignore[arg-type]
        finally:
            TRACE.reset(token)
        return self._checked(self._written(trace, rendered(output)))

    def _written(self, trace: Trace, output: Any) -> Document:
        settings = dict(self._settings)
        schema = settings.pop("inputs", None) or self.inputs.schema()
        made = {
            "name": self.name,
            "description": settings.pop("description", None) or _summary(self.function),
            "inputs": schema,
            "vars": settings.pop("vars", None),
            "queue": settings.pop("queue", None),
            "priority": settings.pop("priority", None),
            "timeout": written_duration(settings.pop("timeout", None)),
            "concurrency": trace.concurrency,
            "steps": steps_of(trace),
            "output": output,
        }
        if settings:
            raise TypeError(
                f"@app.workflow takes no {' '.join(settings)}; it takes {' '.join(made)}"
            )
        return {field: value for field, value in made.items() if value is not None}

    def _checked(self, document: Document) -> Document:
        """By the model's own checks. What only a node knows is left to it."""
        kinds = {step["kind"] for step in document["steps"]}
        inner = {part["kind"] for step in document["steps"] for part in _inner(step)}
        known = KnownKinds(checks=dict.fromkeys(kinds | inner | {"noop"}, _taken))
        try:
            found = read_definition(document, known)
        except ServerNotInstalled:  # the server looks at it too, and has what that takes
            return document
        if not isinstance(found, Definition):
            raise InvalidInput(*found)
        return document

    def __repr__(self) -> str:
        return f"<workflow {self.name}>"


def _inner(step: Document) -> list[Document]:
    return [step[field] for field in ("step", "undo") if field in step]


def _summary(function: Callable[..., Any]) -> str | None:
    """The first paragraph of the docstring."""
    said = inspect.getdoc(function)
    return " ".join(said.split("\n\n")[0].split()) if said else None


class WorkflowRegistrar:
    """What `@app.workflow(…)` puts on a function."""

    def __init__(self, app: App, name: str | None, settings: Mapping[str, Any]) -> None:
        self._app, self._name, self._settings = app, name, settings

    def __call__(self, function: Callable[P, Any]) -> WorkflowCode[P]:
        name = self._name or function.__name__
        if name in self._app.workflows or name in self._app.durables:
            raise ValueError(f"there is a workflow {name!r} already; give this one another name")
        code = WorkflowCode(self._app, name, function, self._settings)
        self._app.workflows[name] = code
        return code


def steps_of(trace: Trace) -> list[dict[str, Any]]:
    """Raises CannotTrace where the code says what no definition can."""
    graph = Graph(trace)
    return [_step(graph.vertices[step.id]) for step in trace.steps]


def _step(vertex: Vertex) -> dict[str, Any]:
    step = vertex.step
    made: dict[str, Any] = {"id": step.id}
    if step.title is not None:
        made["title"] = step.title
    body = dict(step.body)
    made["kind"] = body.pop("kind")
    if vertex.needs:
        made["needs"] = [
            name if when == "succeeded" else {"step": name, "when": when}
            for name, when in vertex.needs.items()
        ]
    if vertex.join is not None:
        made["join"] = vertex.join
    if vertex.conditions:
        made["if"] = expression(reduce(and_, vertex.conditions))
    made |= body if step.switch is None else _ways(step.switch)
    if step.undo_body is not None:
        made["undo"] = step.undo_body
    return made


def _ways(switch: Switch) -> dict[str, Any]:
    cases = [
        {"if": expression(case.condition), "go": case.go}
        for case in switch.cases
        if case.condition is not None
    ]
    return {"cases": cases, "default": [] if switch.otherwise is None else switch.otherwise.go}
