"""An App: a named set of tasks, workflows and schedules (`windlass up --app module:app`).

Making one costs nothing and reaches nobody. Whatever it sends goes over HTTP to `url`; on a node
and in tests `connect` gives it a shorter way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, overload

from windlass.model.job.states import Priority
from windlass.sdk.tasks.handle import run
from windlass.sdk.tasks.options import Duration, Isolate, Retry, fields_of
from windlass.sdk.tasks.task import AsyncTask, Task
from windlass.sdk.tasks.task_limits import LIMITS, Rate, TaskLimits

if TYPE_CHECKING:
    from windlass.sdk.durable.durable import Durable, DurableRegistrar
    from windlass.sdk.http.async_client import AsyncClient
    from windlass.sdk.http.client import Client
    from windlass.sdk.http.transport import Transport
    from windlass.sdk.tasks.cron import ScheduleCode, ScheduleOptions, Scheduler
    from windlass.sdk.tasks.publish import Published
    from windlass.sdk.workflow.code import WorkflowCode, WorkflowRegistrar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registrar:
    """What `@app.task(…)` puts on a function."""

    app: App
    name: str | None  # None: the function's own
    isolate: Isolate | None
    options: Mapping[str, Any]
    limits: TaskLimits

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...

    def __call__(self, function: Callable[..., Any], /) -> Task[..., Any]:
        name = self.name or function.__name__
        if name in self.app.tasks:
            raise ValueError(f"there is a task {name!r} already; give this one another name")
        kind = AsyncTask if inspect.iscoroutinefunction(function) else Task
        task: Task[..., Any] = kind(
            self.app,
            name,
            function,
            isolate=self.isolate,
            options=self.options,
            limits=self.limits,
        )
        self.app.tasks[name] = task
        return task


class App:
    """A named set of tasks, workflows, durable functions and schedules."""

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,  # None: WINDLASS_URL, or this machine
        token: str | None = None,  # None: WINDLASS_TOKEN, or that of this machine's own server
    ) -> None:
        self.name = name
        self.tasks: dict[str, Task[..., Any]] = {}
        self.workflows: dict[str, WorkflowCode[...]] = {}
        self.durables: dict[str, Any] = {}  # Durable, by name
        self.schedules: dict[str, ScheduleCode] = {}
        self._url, self._token = url, token
        self._transport: Transport | None = None

    def __repr__(self) -> str:
        kinds: dict[str, dict[str, Any]] = {
            "task": self.tasks,
            "workflow": self.workflows,
            "durable function": self.durables,
            "schedule": self.schedules,
        }
        counts = [
            f"{len(known)} {kind}{'' if len(known) == 1 else 's'}"
            for kind, known in kinds.items()
            if known or kind == "task"
        ]
        return f"<App {self.name}: {', '.join(counts)}>"

    @cached_property
    def client(self) -> AsyncClient:
        """What everything of this App goes through; may be used from any event loop."""
        from windlass.sdk.http.async_client import AsyncClient

        return AsyncClient(self._url, self._token, transport=self._transport)

    @cached_property
    def blocking(self) -> Client:
        """The same for code that does not await."""
        from windlass.sdk.http.client import Client

        return Client(transport=self.client.transport)

    def connect(self, transport: Transport | None) -> None:
        """Send everything this way; None: over HTTP again."""
        self._transport = transport
        for kept in ("client", "blocking"):
            self.__dict__.pop(kept, None)

    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...

    @overload
    def task(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        queue: str | None = None,
        retry: Retry | int | None = None,
        timeout: Duration | None = None,
        priority: Priority | None = None,
        tags: Iterable[str] | None = None,
        isolate: Isolate | None = None,
        max_attempts: int | None = None,
        concurrency: int | None = None,  # so many of its jobs run at once, in the whole cluster
        rate: Rate | None = None,  # and so many start: 5 a second, or "100/m"
        per: str | None = None,  # both for each value of this parameter
        unique_for: Duration | None = None,  # one job for the same arguments in this time
        unique_by: str | Iterable[str] | None = None,  # by these parameters; None: all
        debounce: Duration | None = None,  # it runs so long after the last one of its arguments
        debounce_max: Duration | None = None,  # and no later than this after the first
    ) -> Registrar: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        isolate: Isolate | None = None,
        **options: Any,
    ) -> Task[..., Any] | Registrar:
        """Register a function under its own name, or under `name`; the options are its jobs'."""
        limits = TaskLimits(**{name: options.pop(name) for name in LIMITS if name in options})
        register = Registrar(
            app=self, name=name, isolate=isolate, options=fields_of(options), limits=limits
        )
        return register if function is None else register(function)

    @overload
    def durable(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Durable[P, R]: ...

    @overload
    def durable(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        queue: str | None = None,
        retry: Retry | int | None = None,
        timeout: Duration | None = None,  # of one attempt: rests of their own do not count
        priority: Priority | None = None,
    ) -> DurableRegistrar: ...

    def durable(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        **options: Any,
    ) -> Durable[..., Any] | DurableRegistrar:
        """Register an async function that goes on after a crash where it was (sdk.durable)."""
        from windlass.sdk.durable.durable import DurableRegistrar

        register = DurableRegistrar(home=self, name=name, options=fields_of(options))
        return register if function is None else register(function)

    def workflow(
        self,
        name: str | None = None,  # None: the function's own
        *,
        description: str | None = None,  # None: the first paragraph of its docstring
        inputs: Mapping[str, Any] | None = None,  # JSON Schema; None: from its parameters
        vars: Mapping[str, Any] | None = None,  # noqa: A002 (as definitions call it)
        queue: str | None = None,
        priority: Priority | None = None,
        timeout: Duration | None = None,  # of a whole execution
    ) -> WorkflowRegistrar:
        """Register a function that is traced into a workflow (sdk.workflow.code)."""
        from windlass.sdk.workflow.code import WorkflowRegistrar

        settings = {
            "description": description,
            "inputs": inputs,
            "vars": vars,
            "queue": queue,
            "priority": priority,
            "timeout": timeout,
        }
        return WorkflowRegistrar(self, name, settings)

    def cron(
        self, rule: str, *, timezone: str | None = None, **options: Unpack[ScheduleOptions]
    ) -> Scheduler:
        """Run it when the clocks of `timezone` show this. Further options: see ScheduleOptions."""
        from windlass.sdk.tasks.cron import Scheduler

        return Scheduler(self, {"cron": rule, "timezone": timezone}, **options)

    def every(self, period: Duration, **options: Unpack[ScheduleOptions]) -> Scheduler:
        """Run it once in every period."""
        from windlass.sdk.tasks.cron import Scheduler

        return Scheduler(self, {"every": period}, **options)

    async def publish(self) -> Published:
        """Make the server have the workflows, durable functions and schedules of this App."""
        from windlass.sdk.tasks.publish import publish

        return await publish(self)

    def publish_now(self) -> Published:
        """The same for code that does not await."""
        return run(self.publish())
