"""Performing a Celery task on a node, with what Celery promises around it.

`self.request` is filled, `self.retry` works, the task's handlers (on_success, on_retry, …) and the
signals around it are called; `rate_limit` and `soft_time_limit` are kept. How it may end:

    returns                 succeeded
    self.retry(…)           tried again after its countdown; spends an attempt
    Ignore                  succeeded, without a result
    Reject(requeue=True)    tried again after a moment; spends none
    anything else           failed for good: Celery does not try again what did not ask for it

`given` beside the arguments: what it `takes` of the results of those above it (none, one, many, a
shape, or the `failure` of the one above, which makes it an errback), `retries` made before, and of
the call `id`, `headers`, `eta`, `expires`, `soft_time_limit`, `ignore_result`.
"""

from __future__ import annotations

import ctypes
import json
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from traceback import format_exc
from typing import TYPE_CHECKING, Any, Final

from celery import signals
from celery._state import _task_stack
from celery.app.task import Context
from celery.app.trace import task_has_custom
from celery.exceptions import ChordError, Ignore, Reject, Retry, SoftTimeLimitExceeded
from celery.utils.functional import arity_greater
from celery.utils.time import rate

from windlass import clock
from windlass.errors import Cancelled, Drop, RetryAfter
from windlass.model.job.checkpoint import AttemptEnded
from windlass.model.job.outcome import Failed, Snoozed
from windlass.sdk.bridges.celery_json import from_json, to_json
from windlass.sdk.bridges.celery_maps import called_by
from windlass.sdk.tasks.current import Current, current
from windlass.sdk.tasks.handle import failure_of

if TYPE_CHECKING:
    from windlass.sdk.bridges.celery import Bridge

REQUEUE_SECONDS: Final = 1.0


class TaskFailed(Drop):
    """What the task raised, as the end of its job."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(str(raised) or type(raised).__name__)
        self.code = type(raised).__name__


@dataclass(slots=True, kw_only=True)
class Performance:
    """The task that runs here, and the retry that it has asked for."""

    job: Current
    task_id: str
    args: list[Any]
    kwargs: dict[str, Any]
    retry_seconds: float | None = None  # None: it has asked for none


_running: ContextVar[Performance | None] = ContextVar("windlass_celery", default=None)


def perform(
    bridge: Bridge, name: str, args: list[Any], kwargs: dict[str, Any], given: dict[str, Any]
) -> Any:
    task = _task(bridge, name)
    called = called_by(name, kwargs)
    if called is not None:
        _task(bridge, called["task"])
    job = current()
    args, kwargs = from_json(args), from_json(kwargs)
    if given["takes"] == "failure":
        failure = _failure_above(bridge, job, given)
        if failure is None:
            return None
        args = _errback_args(task, args, failure, given)
    elif given["takes"] != "none":
        args = [_taken(given["takes"], _results_above(bridge, job)), *args]
    _keep_rate(task)
    performance = Performance(job=job, task_id=given.get("id") or job.id, args=args, kwargs=kwargs)
    task.push_request(**_request(bridge, task, performance, given))
    _task_stack.push(task)
    token = _running.set(performance)
    try:
        with _soft_limit(given.get("soft_time_limit")):
            value = _performed(task, performance)
        return None if given.get("ignore_result") else value
    finally:
        _running.reset(token)
        _task_stack.pop()
        task.pop_request()


def is_own_retry(args: Any, kwargs: Any, options: Mapping[str, Any]) -> bool:
    """Whether what is sent is the retry of the task that runs here: `self.retry` sends one."""
    performance = _running.get()
    if performance is None or options.get("task_id") != performance.task_id:
        return False
    if (list(args or ()), dict(kwargs or {})) != (performance.args, performance.kwargs):
        raise _not_again("other arguments: a job keeps its input; call the task anew instead")
    if options.get("queue") not in (None, performance.job.queue):
        raise _not_again("another queue: a job keeps its queue; call the task anew instead")
    if performance.job.facts.tries >= performance.job.max_attempts:
        raise _not_again(
            f"more tries than the job's {performance.job.max_attempts}: say max_retries on the task"
        )
    performance.retry_seconds = _rest_seconds(options.get("eta") or options.get("countdown"))
    return True


def _not_again(why: str) -> AttemptEnded:
    """Not an Exception: Celery takes any of those for a broker that is away."""
    said = f"self.retry is not possible on Windlass with {why}"
    return AttemptEnded(Failed(Drop.code, said, is_final=True))


def _task(bridge: Bridge, name: str) -> Any:
    if name not in bridge.celery.tasks:
        # As a worker does at its start; whoever only bridges may not have needed them.
        bridge.celery.loader.import_default_modules()
    found = bridge.celery.tasks.get(name)
    if found is None:
        raise Drop(f"no task {name!r} is registered with {bridge.celery.main or 'Celery'} here")
    if "update_state" not in vars(found):
        found.update_state = partial(_update_state, found)
    return found


def _request(
    bridge: Bridge, task: Any, performance: Performance, given: Mapping[str, Any]
) -> dict[str, Any]:
    """What a worker of Celery knows of a message."""
    job, headers = performance.job, given.get("headers") or {}
    return {
        **{name: value for name, value in headers.items() if not hasattr(Context, name)},
        "headers": headers or None,
        "task": task.name,
        "id": performance.task_id,
        "root_id": performance.task_id,
        "args": performance.args,
        "kwargs": performance.kwargs,
        "retries": given.get("retries", 0) + job.facts.tries - 1,
        "called_directly": False,
        "is_eager": False,
        "correlation_id": job.facts.correlation_id,
        "delivery_info": {"routing_key": job.queue, "exchange": "", "redelivered": False},
        "hostname": f"{bridge.name}@windlass",
        "eta": given.get("eta"),
        "expires": given.get("expires"),
        "timelimit": [None, given.get("soft_time_limit")],
        "ignore_result": bool(given.get("ignore_result")),
    }


def _performed(task: Any, performance: Performance) -> Any:
    call = task if task_has_custom(task, "__call__") else task.run
    args, kwargs, task_id = performance.args, performance.kwargs, performance.task_id
    about = {"task_id": task_id, "task": task, "args": args, "kwargs": kwargs}
    signals.task_prerun.send(sender=task, **about)
    value: Any = None
    state = "FAILURE"
    try:
        task.before_start(task_id, args, kwargs)
        value = call(*args, **kwargs)
        if performance.retry_seconds is not None:
            # retry(throw=False): Celery performs it again too.
            raise Retry("Task can be retried", None)  # noqa: TRY301
        written = to_json(f"what {task.name} returned", value)
        state = "SUCCESS"
        signals.task_success.send(sender=task, result=value)
        task.on_success(value, task_id, args, kwargs)
        return written
    except Retry as again:
        state, value = "RETRY", again
        signals.task_retry.send(sender=task, request=task.request, reason=again, einfo=None)
        task.on_retry(again, task_id, args, kwargs, format_exc())
        rest = performance.retry_seconds
        raise RetryAfter(_rest_seconds(again.when) if rest is None else rest, str(again)) from again
    except Ignore:
        state = "IGNORED"
        return None
    except Reject as rejected:
        state = "REJECTED"
        if rejected.requeue:
            raise AttemptEnded(Snoozed(REQUEUE_SECONDS)) from None
        raise Drop(f"the task rejected it: {rejected.reason}") from None
    except (Cancelled, RetryAfter, Drop):
        raise  # a task that has learnt our words
    except Exception as raised:
        value = raised
        signals.task_failure.send(
            sender=task,
            task_id=task_id,
            exception=raised,
            args=args,
            kwargs=kwargs,
            traceback=raised.__traceback__,
            einfo=None,
        )
        task.on_failure(raised, task_id, args, kwargs, format_exc())
        raise TaskFailed(raised) from raised
    finally:
        task.after_return(state, value, task_id, args, kwargs, None)
        signals.task_postrun.send(sender=task, retval=value, state=state, **about)


def _rest_seconds(when: Any) -> float:
    if isinstance(when, str):
        when = datetime.fromisoformat(when)
    if isinstance(when, datetime):
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        when = (when - clock.wall()).total_seconds()
    return max(0.0, float(when or 0.0))


# -- what stands above ----------------------------------------------------------------------------


def _results_above(bridge: Bridge, job: Current) -> list[Any]:
    jobs = bridge.blocking.jobs
    return [from_json(jobs.get(parent)["result"]) for parent in jobs.get(job.id)["depends_on"]]


def _taken(takes: Any, above: list[Any]) -> Any:
    if takes == "one":
        return above[0]
    if takes == "many":
        return above
    return [_taken(one, above) if isinstance(one, list) else above[one] for one in takes]


def _failure_above(bridge: Bridge, job: Current, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The job whose failure an errback is called for. None: there was none."""
    jobs = bridge.blocking.jobs
    above = jobs.get(jobs.get(job.id)["depends_on"][0])
    if above["state"] == "dead":
        return above
    if above["state"] == "skipped" and given.get("is_body"):
        for parent in above["depends_on"]:
            failed = jobs.get(parent)
            if failed["state"] == "dead":
                # As Celery tells of a body that was never begun.
                return {**failed, "id": above["id"], "input": above["input"], "header": parent}
    return None


def _errback_args(
    task: Any, args: list[Any], failed: dict[str, Any], given: Mapping[str, Any]
) -> list[Any]:
    """Celery gives an errback with one parameter the task's id, and the others the request, the
    exception and its traceback.
    """
    if given.get("is_immutable"):
        return args
    name, its_args, its_kwargs, its_given = failed["input"]["args"]
    task_id = its_given.get("id") or failed["id"]
    header = getattr(task, "__header__", None)
    is_told_all = (
        header is not None
        and not isinstance(header, partial)
        and arity_greater(partial(header, *args) if args else header, 1)
    )
    if not is_told_all:
        return [task_id, *args]
    failure: Exception = failure_of(failed)
    traceback = failure_of(failed).remote_traceback
    if "header" in failed:
        failure = ChordError(f"Dependency {failed['header']} raised {failure}")
    request = Context(id=task_id, task=name, args=from_json(its_args), kwargs=from_json(its_kwargs))
    return [request, failure, traceback, *args]


# -- what Celery's worker does around a task ------------------------------------------------------


class Pace:
    """`rate_limit`: so many a second on this node, one after the other, as in a worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_at: dict[str, float] = {}  # by task: when one may begin
        self._waiting: dict[str, int] = {}  # by task: how many were sent away since one began

    def rest_seconds(self, name: str, per_second: float, now: float) -> float:
        """How long it has to wait; 0: it may begin."""
        with self._lock:
            rest = self._next_at.get(name, now) - now
            waiting = self._waiting.get(name, 0)
            if rest <= 0:
                self._next_at[name] = now + 1 / per_second
                self._waiting[name] = max(0, waiting - 1)
                return 0.0
            self._waiting[name] = waiting + 1
            return rest + waiting / per_second


_pace: Final = Pace()


def _keep_rate(task: Any) -> None:
    per_second = rate(task.rate_limit) if task.rate_limit else 0
    if not per_second:
        return
    rest = _pace.rest_seconds(task.name, per_second, clock.monotonic())
    if rest > 0:
        raise AttemptEnded(Snoozed(rest))


@contextmanager
def _soft_limit(seconds: float | None) -> Iterator[None]:
    """Raises SoftTimeLimitExceeded in the task: by a signal where it has a process of its own; in a
    thread between two lines of Python, so a call that blocks has to return first.
    """
    if seconds is None:
        yield
    elif threading.current_thread() is threading.main_thread():
        with _by_signal(seconds):
            yield
    else:
        with _in_thread(seconds):
            yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def on_alarm(*_: Any) -> None:
        raise SoftTimeLimitExceeded

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _in_thread(seconds: float) -> Iterator[None]:
    lock, thread_id = threading.Lock(), threading.get_ident()
    is_over = False

    def interrupt() -> None:
        with lock:
            if not is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread_id), ctypes.py_object(SoftTimeLimitExceeded)
                )

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()


def _update_state(
    task: Any,
    task_id: str | None = None,
    state: str | None = None,
    meta: Any = None,
    **kwargs: Any,
) -> None:
    """`self.update_state` of a job is its progress; of any other task it is Celery's."""
    performance = _running.get()
    if performance is None or task_id not in (None, performance.task_id):
        type(task).update_state(task, task_id, state, meta, **kwargs)
        return
    said = meta if isinstance(meta, Mapping) else {}
    done, total = said.get("current", 0), said.get("total")
    is_counted = isinstance(done, int | float)
    message = json.dumps({"state": state, "meta": to_json("the meta of update_state", meta)})
    performance.job.progress(
        done if is_counted else 0, total if isinstance(total, int | float) else None, message
    )
