"""What a durable function awaits: `step`, `sleep`, `wait_for`.

Their place is taken when they are called, not when they are awaited: `gather(step(a), step(b))`
gives the first place to `a`. Outside a durable function that a node runs (in a test that calls it,
say) a step is simply done, and a sleep slept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar, overload

import msgspec

from windlass.limits import CHECKPOINT_NAME_CHARS_MAX
from windlass.sdk.durable.call import Call, inside
from windlass.sdk.durable.difference import DurableMisuse
from windlass.sdk.durable.run import SLEEP, Branch, branch_here
from windlass.sdk.tasks.options import Duration, Retry, seconds_of
from windlass.sdk.workflow import trace

P = ParamSpec("P")
R = TypeVar("R")


@overload
def step(
    function: Callable[..., Awaitable[R]],
    /,
    *args: Any,
    name: str,
    retry: Retry = ...,
    **kwargs: Any,
) -> Coroutine[Any, Any, R]: ...


@overload
def step(
    function: Callable[..., Awaitable[R]], /, *args: Any, retry: Retry, **kwargs: Any
) -> Coroutine[Any, Any, R]: ...


@overload
def step(
    function: Callable[..., R], /, *args: Any, name: str, retry: Retry = ..., **kwargs: Any
) -> Coroutine[Any, Any, R]: ...


@overload
def step(
    function: Callable[..., R], /, *args: Any, retry: Retry, **kwargs: Any
) -> Coroutine[Any, Any, R]: ...


@overload
def step(
    function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
) -> Coroutine[Any, Any, R]: ...


@overload
def step(
    function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> Coroutine[Any, Any, R]: ...


def step(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
    """Do this once: after a crash the function gets what it gave, and it is not done again.

    A plain function runs in a thread, a task right here and not as a job. `name` (else its own) and
    `retry` (else none: what it raises is raised here, and not kept) are not passed on.
    """
    name, retry = kwargs.pop("name", None), kwargs.pop("retry", None)
    call = Call(function, args, kwargs, name=name, retry=retry)
    branch = _branch(f"step({call.name!r})")
    if branch is None:
        return _at_once(call)
    return branch.run.step(branch.run.place(branch, "step", call.name), call)


def sleep(duration: Duration) -> Coroutine[Any, Any, None]:
    """Rest so long by the database's clock, whatever happens to this node meanwhile."""
    seconds = seconds_of(duration)
    branch = _branch("sleep()")
    if branch is None:
        return asyncio.sleep(seconds)
    return branch.run.sleep(branch.run.place(branch, "sleep", SLEEP), seconds)


def wait_for(name: str, *, timeout: Duration | None = None) -> Coroutine[Any, Any, Any]:
    """The payload of a signal to this execution, also one that came before it was asked for.

    Raises TimeoutError when none comes in time; without `timeout` it waits as long as it takes.
    """
    if not 1 <= len(name) <= CHECKPOINT_NAME_CHARS_MAX:
        raise ValueError(f"a signal's name has 1 to {CHECKPOINT_NAME_CHARS_MAX} characters")
    seconds = None if timeout is None else seconds_of(timeout)
    branch = _branch(f"wait_for({name!r})")
    if branch is None:
        raise DurableMisuse.outside(name)
    return _heard(branch, name, seconds)


def _heard(branch: Branch, name: str, seconds: float | None) -> Coroutine[Any, Any, Any]:
    at = branch.run.place(branch, "wait", name)  # now, and not when it is awaited

    async def heard() -> Any:
        over = await branch.run.wait(at, name, seconds)
        if over.result_json is None:
            raise TimeoutError(f"no signal {name!r} came in time")
        return msgspec.json.decode(over.result_json)

    return heard()


async def _at_once(call: Call) -> Any:
    return call.decode(await call.perform())


def _branch(asked: str) -> Branch | None:
    if trace.is_tracing():
        trace.refuse_await(asked)
    if inside.get():
        raise DurableMisuse.nested(asked)
    try:
        return branch_here()
    except RuntimeError:  # no loop runs in this thread: nobody could await it here
        return None
