"""`windlass.sleep` and `windlass.wait_for`: steps in a workflow, awaited in a durable function."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from windlass.sdk.tasks.options import Duration
from windlass.sdk.workflow import trace
from windlass.sdk.workflow.step import After, Step

R = TypeVar("R")

if TYPE_CHECKING:

    class Pause(Step[R], Coroutine[Any, Any, R]):
        """In a workflow the one, in a durable function the other."""


def sleep(duration: Duration, *, after: After = None) -> Pause[None]:
    """Rest so long: `await windlass.sleep("3d")` in a durable function, a step in a workflow."""
    if trace.is_tracing():
        from windlass.sdk.workflow import flow

        return cast("Pause[None]", flow.pause(duration, after=after))
    from windlass.sdk.durable import verbs as durable_verbs

    _refuse_after(after)
    return cast("Pause[None]", durable_verbs.sleep(duration))


def wait_for(name: str, *, timeout: Duration | None = None, after: After = None) -> Pause[Any]:
    """Wait for a signal to this execution and its payload; one that came early was kept."""
    if trace.is_tracing():
        from windlass.sdk.workflow import flow

        return cast("Pause[Any]", flow.signal(name, timeout=timeout, after=after))
    from windlass.sdk.durable import verbs as durable_verbs

    _refuse_after(after)
    return cast("Pause[Any]", durable_verbs.wait_for(name, timeout=timeout))


def _refuse_after(after: After) -> None:
    if after is not None:
        raise TypeError("after= is for workflows; in running code the order of lines says it")
