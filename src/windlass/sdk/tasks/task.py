"""A task: a plain function that can also be enqueued.

Calling a task calls the function, with nothing in between. `Handle[R]` is typed by what the
function returns, and its arguments by what it takes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack, overload

from windlass.errors import InvalidInput
from windlass.sdk.tasks.arguments import Arguments
from windlass.sdk.tasks.handle import Handle, Handles, HasClient, run
from windlass.sdk.tasks.job_body import Job, batches_of, job_of
from windlass.sdk.tasks.options import Duration, Isolate, Using, fields_of, seconds_of
from windlass.sdk.tasks.task_limits import UNIQUE, TaskLimits, unique_key
from windlass.sdk.workflow import trace

if TYPE_CHECKING:
    from windlass.sdk.workflow.step import Step
    from windlass.sdk.workflow.value import Value

P = ParamSpec("P")
R = TypeVar("R")


class Bound(Generic[P, R]):
    """A task and what its next jobs are to be: `task.using(queue="mail", run_after="10m")`."""

    def __init__(
        self,
        task: Task[P, R],
        fields: Mapping[str, Any],  # of POST /v1/jobs
        connection: Any = None,  # None: over HTTP
        room_seconds: float = 0.0,  # how long a full queue is waited for
    ) -> None:
        self.task, self.fields, self.connection = task, fields, connection
        self.room_seconds = room_seconds

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """A job that calls the function with these arguments. Raises InvalidArguments."""
        return self._handle(self._make([self._input(args, kwargs)])[0])

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """`enqueue` for code that awaits."""
        return self._handle((await self._amake([self._input(args, kwargs)]))[0])

    @overload
    def map(self, items: Value, /, **fixed: Any) -> Step[list[R]]: ...

    @overload
    def map(self, items: Iterable[Any], /, **fixed: Any) -> Handles[R]: ...

    def map(self, items: Any, /, **fixed: Any) -> Handles[R] | Step[list[R]]:
        """A job for each item, in one round trip; what is `fixed` is the same for all.

        An item is the first argument, or a tuple of several, or a dict of names; a tuple or dict is
        the first argument if the function says that it takes one. While a workflow is traced, this
        is a step that fans out.
        """
        if trace.is_tracing():
            return trace.task_map(self.task, items, fixed, self._said())
        return self._handles(self._make(self._inputs(items, fixed)))

    async def amap(self, items: Iterable[Any], /, **fixed: Any) -> Handles[R]:
        """`map` for code that awaits."""
        return self._handles(await self._amake(self._inputs(items, fixed)))

    def using(self, **options: Unpack[Using]) -> Bound[P, R]:
        """The same, and this too; what is said later wins."""
        connection = options.pop("connection", None) or self.connection
        room = options.pop("wait_for_room", None)
        seconds = self.room_seconds if room is None else _room_seconds(room)
        if connection is not None and seconds:
            raise InvalidInput.at("/wait_for_room", "a transaction cannot wait for room")
        return Bound(self.task, {**self.fields, **fields_of(options)}, connection, seconds)

    def step(self, *args: Any, **kwargs: Any) -> Step[R]:
        """A step of the workflow that is traced; `after=` and `join=` are the step's own."""
        return trace.task_step(self.task, args, kwargs, self._said())

    def _said(self) -> dict[str, Any]:
        """What was said here and not of the task itself."""
        usual = {**self.task.options, **self.task.unique_fields}
        return {name: value for name, value in self.fields.items() if usual.get(name) != value}

    def _input(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        return self.task.arguments.encode(args, kwargs)

    def _inputs(self, items: Iterable[Any], fixed: Mapping[str, Any]) -> list[bytes]:
        inputs = self.task.arguments.encode_many(items, fixed)
        if len(inputs) > 1 and "key" in self.fields:
            raise InvalidInput.at("/key", "belongs to one job; these would all be the same one")
        return inputs

    def _job(self, given: bytes) -> Job:
        """Of an input. What is unique or debounced has a key, of its arguments unless told."""
        if "key" in self.fields or self.fields.keys().isdisjoint(UNIQUE):
            return job_of(given, self.fields)
        task = self.task
        key = unique_key(task.name, task.function, given, task.unique_names)
        return job_of(given, {**self.fields, "key": key})

    def _make(self, inputs: list[bytes]) -> list[str]:
        """The ids of the jobs that were made."""
        if self.connection is None:
            return run(self._post(inputs))
        from windlass.sdk.tasks.enqueue_sql import enqueue_in

        return enqueue_in(self.connection, inputs, self._job, self._tell)

    async def _amake(self, inputs: list[bytes]) -> list[str]:
        if self.connection is None:
            return await self._post(inputs)
        from windlass.sdk.tasks.enqueue_sql import aenqueue_in

        return await aenqueue_in(self.connection, inputs, self._job, self._tell)

    def _tell(self, job_ids: list[str]) -> None:
        from windlass.sdk.tasks.commit_hints import hint

        hint(self.task.home, job_ids)

    async def _post(self, inputs: list[bytes]) -> list[str]:
        jobs = self.task.home.client.jobs
        if len(inputs) == 1:
            job = self._job(inputs[0])
            return [(await jobs.submit(**job, room_seconds=self.room_seconds))["id"]]
        made: list[str] = []
        for batch in batches_of(inputs, self._job):
            answer = await jobs.submit_many(batch, room_seconds=self.room_seconds)
            made += [job["id"] for job in answer]
        return made

    def _handle(self, job_id: str) -> Handle[R]:
        return Handle(self.task.home, job_id, self.task.decode_result)

    def _handles(self, job_ids: list[str]) -> Handles[R]:
        return Handles(self.task.home, job_ids, self.task.decode_result)


def _room_seconds(given: Duration) -> float:
    try:
        return seconds_of(given)
    except ValueError as trouble:
        raise InvalidInput.at("/wait_for_room", str(trouble)) from None


class Task(Generic[P, R]):
    """A function that can also be enqueued (`@app.task`); calling it calls the function."""

    __name__: str  # the function's, as its documentation and its signature are

    def __init__(
        self,
        home: HasClient,
        name: str,
        function: Callable[P, Any],  # gives R, or a coroutine that does
        *,
        isolate: Isolate | None = None,  # None: a thread, or the loop for async functions
        options: Mapping[str, Any] | None = None,  # fields of POST /v1/jobs; None: the API's own
        limits: TaskLimits = TaskLimits(),  # noqa: B008 (frozen)
    ) -> None:
        functools.update_wrapper(self, function)
        self.home, self.name, self.function = home, name, function
        self.isolate: Isolate | None = isolate
        self.options: dict[str, Any] = dict(options or {})
        if limited := limits.limits(name, function):
            self.options["limits"] = limited
        self.unique_fields = limits.unique_fields()
        self.unique_names = limits.unique_names(name, function)
        # What a test has called instead of the function when this is a step of a durable function.
        self.stand_in: Callable[..., Any] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if trace.is_tracing():
            trace.refuse_call(self.name)
        result: R = self.function(*args, **kwargs)
        return result

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """A job that calls the function with these arguments. Raises InvalidArguments."""
        return self._bound.enqueue(*args, **kwargs)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """`enqueue` for code that awaits."""
        return await self._bound.aenqueue(*args, **kwargs)

    @overload
    def map(self, items: Value, /, **fixed: Any) -> Step[list[R]]: ...

    @overload
    def map(self, items: Iterable[Any], /, **fixed: Any) -> Handles[R]: ...

    def map(self, items: Any, /, **fixed: Any) -> Handles[R] | Step[list[R]]:
        """A job for each item, in one round trip (see Bound.map)."""
        made: Handles[R] | Step[list[R]] = self._bound.map(items, **fixed)
        return made

    async def amap(self, items: Iterable[Any], /, **fixed: Any) -> Handles[R]:
        """`map` for code that awaits."""
        return await self._bound.amap(items, **fixed)

    def using(self, **options: Unpack[Using]) -> Bound[P, R]:
        """Enqueue with a delay, a key, in a queue, in a transaction…: see Using."""
        return self._bound.using(**options)

    def step(self, *args: Any, **kwargs: Any) -> Step[R]:
        """A step of the workflow that is traced (see Bound.step)."""
        return self._bound.step(*args, **kwargs)

    # What follows is for the node that performs the task, which knows no SDK (strategies.python).

    @property
    def is_async(self) -> bool:
        """Whether the function is an `async def`."""
        return inspect.iscoroutinefunction(self.function)

    def decode(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """What the function is called with, from what JSON gave. Raises InvalidArguments."""
        return self.arguments.decode(args, kwargs)

    def encode_result(self, value: Any) -> bytes | None:
        """The result as JSON; None if there is none. Raises InvalidArguments."""
        return self.arguments.encode_result(value)

    def decode_result(self, value: Any) -> R:
        """The result, of its type, from what JSON gave."""
        result: R = self.arguments.decode_result(value)
        return result

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return self.arguments.input_schema()

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of its result; None: it may be anything."""
        return self.arguments.output_schema()

    @cached_property
    def arguments(self) -> Arguments:
        """Compiled when it is first needed: a hint may name what stands further down."""
        return Arguments(self.name, self.function)

    @cached_property
    def _bound(self) -> Bound[P, R]:
        return Bound(self, {**self.options, **self.unique_fields})

    def __repr__(self) -> str:
        try:
            takes = ", ".join(inspect.signature(self.function).parameters)
        except (TypeError, ValueError):  # of something that is not written in Python
            takes = "…"
        return f"<{type(self).__name__} {self.name}({takes})>"


class AsyncTask(Task[P, R]):
    """Of an `async def`: calling it gives the coroutine, its handle the result itself."""

    # A call of the one gives R and of the other an awaitable R; all else is the same.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:  # type: ignore[override]
        made: Any = super().__call__(*args, **kwargs)
        coroutine: Coroutine[Any, Any, R] = made
        return coroutine
