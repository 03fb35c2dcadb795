"""Performing a Celery task on a node, with what Celery promises around it.

`self.request` is filled, `self.retry` works, the task's handlers (on_success, on_retry, …) and the
signals around it are called. How it may end:

    returns            succeeded
    self.retry(…)      tried again after its countdown; spends an attempt
    Ignore             succeeded, without a result
    anything else      failed for good: Celery does not try again what did not ask for it
"""

from __future__ import annotations

from datetime import UTC, datetime
from traceback import format_exc
from typing import TYPE_CHECKING, Any

from celery import signals
from celery._state import _task_stack
from celery.app.trace import task_has_custom
from celery.exceptions import Ignore, Retry

from windlass import clock
from windlass.errors import Cancelled, Drop, RetryAfter
from windlass.sdk.bridges.celery_maps import called_by
from windlass.sdk.tasks.current import Current, current

if TYPE_CHECKING:
    from windlass.sdk.bridges.celery import Bridge


class TaskFailed(Drop):
    """What the task raised, as the end of its job."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(str(raised) or type(raised).__name__)
        self.code = type(raised).__name__


def perform(
    bridge: Bridge, name: str, args: list[Any], kwargs: dict[str, Any], given: dict[str, Any]
) -> Any:
    """`given`: what it `takes` of the results of those above it, and `retries` made before."""
    task = _task(bridge, name)
    called = called_by(name, kwargs)
    if called is not None:
        _task(bridge, called["task"])
    job = current()
    if given["takes"] != "none":
        jobs = bridge.blocking.jobs
        above = [jobs.get(parent)["result"] for parent in jobs.get(job.id)["depends_on"]]
        args = [above, *args] if given["takes"] == "many" else [*above, *args]
    task.push_request(
        id=job.id,
        args=args,
        kwargs=kwargs,
        retries=given["retries"] + job.attempt - 1,
        called_directly=False,
        is_eager=True,  # so that `retry` tells us, and sends nothing by itself
        correlation_id=job.facts.correlation_id,
        delivery_info={"routing_key": job.queue, "exchange": ""},
    )
    _task_stack.push(task)
    try:
        return _performed(task, job, args, kwargs)
    finally:
        _task_stack.pop()
        task.pop_request()


def _task(bridge: Bridge, name: str) -> Any:
    if name not in bridge.celery.tasks:
        # As a worker does at its start; whoever only bridges may not have needed them.
        bridge.celery.loader.import_default_modules()
    found = bridge.celery.tasks.get(name)
    if found is None:
        raise Drop(f"no task {name!r} is registered with {bridge.celery.main or 'Celery'} here")
    return found


def _performed(task: Any, job: Current, args: list[Any], kwargs: dict[str, Any]) -> Any:
    call = task if task_has_custom(task, "__call__") else task.run
    about = {"task_id": job.id, "task": task, "args": args, "kwargs": kwargs}
    signals.task_prerun.send(sender=task, **about)
    value: Any = None
    state = "FAILURE"
    try:
        task.before_start(job.id, args, kwargs)
        value = call(*args, **kwargs)
        state = "SUCCESS"
        task.on_success(value, job.id, args, kwargs)
        return value
    except Retry as again:
        state, value = "RETRY", again
        task.on_retry(again, job.id, args, kwargs, format_exc())
        raise RetryAfter(_rest_seconds(again, args, kwargs), reason=str(again)) from again
    except Ignore:
        state = "IGNORED"
        return None
    except (Cancelled, RetryAfter, Drop):
        raise  # a task that has learnt our words
    except Exception as raised:
        value = raised
        task.on_failure(raised, job.id, args, kwargs, format_exc())
        raise TaskFailed(raised) from raised
    finally:
        task.after_return(state, value, job.id, args, kwargs, None)
        signals.task_postrun.send(sender=task, retval=value, state=state, **about)


def _rest_seconds(again: Retry, args: list[Any], kwargs: dict[str, Any]) -> float:
    if (list(again.sig.args or ()), dict(again.sig.kwargs or {})) != (args, kwargs):
        raise Drop("self.retry with other arguments is not possible: a job keeps its input")
    when = again.when or 0.0
    if isinstance(when, datetime):
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        when = (when - clock.wall()).total_seconds()
    return max(0.0, float(when))
