"""An App: a named set of tasks that a node performs (`windlass up --app module:app`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTask(Generic[P, R]):
    """A function that stays a plain function: calling it calls it."""

    name: str
    function: Callable[P, R]
    isolate: Literal["process"] | None = None  # None: a thread, or the loop for async functions

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registrar:
    """What `@app.task(…)` puts on a function."""

    tasks: dict[str, RegisteredTask[Any, Any]]
    name: str | None  # None: the function's own
    isolate: Literal["process"] | None

    def __call__(self, function: Callable[P, R]) -> RegisteredTask[P, R]:
        name = self.name or function.__name__
        if name in self.tasks:
            raise ValueError(f"there is a task {name!r} already; give this one another name")
        task = RegisteredTask(name=name, function=function, isolate=self.isolate)
        self.tasks[name] = task
        return task


class App:
    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: dict[str, RegisteredTask[Any, Any]] = {}

    @overload
    def task(self, function: Callable[P, R], /) -> RegisteredTask[P, R]: ...

    @overload
    def task(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        isolate: Literal["process"] | None = None,
    ) -> Registrar: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        isolate: Literal["process"] | None = None,
    ) -> RegisteredTask[..., Any] | Registrar:
        """Register a function under its own name, or under `name`."""
        register = Registrar(tasks=self.tasks, name=name, isolate=isolate)
        return register if function is None else register(function)
