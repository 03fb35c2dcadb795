"""Durable functions: plain async code that goes on where it was, on any node, after any crash.

    @app.durable                       the node plays the function from its top and gives it what
    async def order(number: int): …    its steps gave before                  -> sdk.durable.run
      await windlass.step(charge, 9)   done once, kept before it returns      -> sdk.durable.call
      await windlass.sleep("3d")       holds no slot while it lasts
      await windlass.wait_for("paid")  a signal to the execution

One run is an execution of a workflow that has the function's name and one step, so cancel, list,
signals, retries, rescue and results are those of any execution.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property, partial, update_wrapper
from inspect import Parameter, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, Unpack

from windlass.model.job.running import Facts, Running, Session, current
from windlass.sdk.durable.difference import DurableMisuse
from windlass.sdk.tasks.arguments import Arguments
from windlass.sdk.tasks.execution_handle import ExecutionHandle
from windlass.sdk.tasks.handle import HasClient, run
from windlass.sdk.tasks.task import AsyncTask, Task
from windlass.sdk.tasks.type_hints import signature_of

if TYPE_CHECKING:
    from windlass.model.job.checkpoint import Checkpoints
    from windlass.sdk.nouns.executions import StartOptions

P = ParamSpec("P")
R = TypeVar("R")


class Home(HasClient, Protocol):
    """An App."""

    tasks: dict[str, Task[..., Any]]
    durables: dict[str, Any]


class Durable(Generic[P, R]):
    """A durable function: async code that goes on after a crash where it was (`@app.durable`)."""

    def __init__(
        self,
        home: Home,
        name: str,
        function: Callable[P, Coroutine[Any, Any, R]],
        options: Mapping[str, Any],  # fields of its step: queue priority timeout retry
    ) -> None:
        update_wrapper(self, function)
        self.home, self.name, self.function = home, name, function
        self.options = dict(options)
        self._signature = signature_of(function)
        _check(name, function, self._signature.parameters.values())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """A plain call: steps are done here and now, and nothing is kept."""
        return self.function(*args, **kwargs)

    def start(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[R]:
        """An execution of the function with these arguments. Raises InvalidArguments."""
        return self._bound.start(*args, **kwargs)

    async def astart(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[R]:
        """Start an execution, for code that awaits."""
        return await self._bound.astart(*args, **kwargs)

    def using(
        self, *, key: str | None = None, **options: Unpack[StartOptions]
    ) -> BoundDurable[P, R]:
        """Start it once for this `key`, with a priority, tags, a correlation id."""
        return BoundDurable(self, key, options)

    def definition(self) -> dict[str, Any]:
        """The workflow that it is to the node: one step, given the execution's input by name."""
        step = {
            "id": "run",
            "kind": "python",
            "input": {"task": self.name, "args": [], "kwargs": "${inputs}"},
            **self.options,
        }
        return {
            "name": self.name,
            "inputs": self.arguments.input_schema(),
            "steps": [step],
            "output": "${steps.run.output}",
        }

    @cached_property
    def arguments(self) -> Arguments:
        """Its signature, as JSON is checked against it."""
        return Arguments(self.name, self.function)

    @cached_property
    def _bound(self) -> BoundDurable[P, R]:
        return BoundDurable(self, None, {})

    def by_name(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """The arguments as the input of an execution."""
        import msgspec

        named = dict(zip(self._signature.parameters, args, strict=False)) | dict(kwargs)
        if len(args) > len(self._signature.parameters) or len(named) < len(args) + len(kwargs):
            self.arguments.encode(args, kwargs)  # which says what is wrong
        given: dict[str, Any] = msgspec.json.decode(self.arguments.encode((), named))["kwargs"]
        return given

    async def play(self, *args: Any, **kwargs: Any) -> R:
        """What the node calls: the function, from its top."""
        from windlass.sdk.durable.run import Run

        body = partial(self.function, *args, **kwargs)
        running = current.get()
        if running is None:
            return await body()
        # The first attempt of a job has nothing behind it: that is one question less.
        stored = await running.checkpoints.load() if running.facts.attempt > 1 else []
        has_signals = running.facts.execution_id is not None
        played = Run(self.name, running.checkpoints, stored, has_signals=has_signals)
        token = current.set(_WithoutTransaction(running))
        try:
            result: R = await played.drive(body)
        finally:
            current.reset(token)
        return result

    def __repr__(self) -> str:
        return f"<durable function {self.name}>"


class BoundDurable(Generic[P, R]):
    """A durable function and what its next execution is to be."""

    def __init__(self, durable: Durable[P, R], key: str | None, options: StartOptions) -> None:
        self.durable, self._key, self._options = durable, key, options

    def start(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[R]:
        return run(self._start(self.durable.by_name(args, kwargs)))

    async def astart(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionHandle[R]:
        return await self._start(self.durable.by_name(args, kwargs))

    async def _start(self, given: dict[str, Any]) -> ExecutionHandle[R]:
        durable = self.durable
        execution = await durable.home.client.executions.start(
            durable.name, given, key=self._key, **self._options
        )
        return ExecutionHandle(durable.home, execution["id"], durable.arguments.decode_result)


class Player(AsyncTask[P, R]):
    """The task that the node performs: it takes and gives what the function does."""

    def __init__(self, durable: Durable[P, R]) -> None:
        super().__init__(durable.home, durable.name, durable.function, options=durable.options)
        self.durable = durable
        self.function = durable.play

    @cached_property
    def arguments(self) -> Arguments:
        return self.durable.arguments


class _WithoutTransaction:
    """What its node offers a durable function: all but the job's own transaction."""

    __slots__ = ("_running",)

    def __init__(self, running: Running) -> None:
        self._running = running

    @property
    def facts(self) -> Facts:
        return self._running.facts

    @property
    def is_cancelled(self) -> bool:
        return self._running.is_cancelled

    @property
    def db(self) -> Session:
        raise DurableMisuse.transaction()

    @property
    def checkpoints(self) -> Checkpoints:
        return self._running.checkpoints

    def note_progress(self, done: float, total: float | None, message: str | None) -> None:
        self._running.note_progress(done, total, message)

    def note_line(self, level: str, message: str, fields: Mapping[str, Any]) -> None:
        self._running.note_line(level, message, fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableRegistrar:
    """What `@app.durable(…)` puts on a function."""

    home: Home
    name: str | None  # None: the function's own
    options: Mapping[str, Any]

    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Durable[P, R]:
        name = self.name or function.__name__
        if name in self.home.tasks:
            raise ValueError(f"there is a task {name!r} already; give this one another name")
        durable = Durable(self.home, name, function, self.options)
        self.home.tasks[name] = Player(durable)
        self.home.durables[name] = durable
        return durable


def _check(name: str, function: Callable[..., Any], parameters: Any) -> None:
    if not iscoroutinefunction(function):
        raise TypeError(f"a durable function is an async def; {name!r} is not")
    unnamed = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)
    if odd := [p.name for p in parameters if p.kind in unnamed]:
        raise TypeError(
            f"an execution's input has names; {name!r} cannot take {', '.join(odd)} by position"
        )
