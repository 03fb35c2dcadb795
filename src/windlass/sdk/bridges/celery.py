"""Moving from Celery queue by queue: tasks of the named queues go to Windlass, the others stay.

    from windlass.sdk.bridges.celery import bridge

    celery = Celery("shop", broker=…)                   # as it was
    windlass = bridge(celery, queues=["mail"])          # windlass up --app shop.celery:windlass

`.delay`, `.apply_async`, `send_task` and beat's schedules ask Celery's own router which queue a
call is for, so nothing changes where tasks are called; `map` and `starmap` go where their task
goes. Chains, groups, chords, chunks are Celery's own: see celery_canvas.

Promises: a call is either with Windlass or with Celery, never with both; what Windlass cannot do is
refused where it is called, and not forgotten later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import celery
from celery import chain, chord, group

from windlass.sdk.bridges.celery_canvas import Plan, Said, Takes, take_over
from windlass.sdk.bridges.celery_json import call_to_json
from windlass.sdk.bridges.celery_maps import called_by, spelled_out
from windlass.sdk.bridges.celery_options import check_options, fields_of, given_of
from windlass.sdk.bridges.celery_result import Result
from windlass.sdk.tasks.app import App
from windlass.sdk.tasks.options import Isolate

__all__ = ["Bridge", "bridge", "chain", "chord", "group"]

NAME: Final = "celery.task"
# Objects of Celery's that come along with a call.
_OBJECTS: Final = frozenset({"producer", "publisher", "connection", "router", "result_cls"})


class Bridge(App):
    """The App whose one task performs every task of a Celery application."""

    def __init__(
        self,
        celery_app: celery.Celery,
        queues: frozenset[str] | None,
        url: str | None,
        token: str | None,
        isolate: Isolate | None,
    ) -> None:
        super().__init__(str(celery_app.main or "celery"), url=url, token=token)
        self.celery, self.queues, self.isolate = celery_app, queues, isolate
        self._send_to_celery = celery_app.send_task
        self._result_of_celery = celery_app.AsyncResult
        self.task(name=NAME, isolate=isolate)(self.run)

    def run(self, name: str, args: list[Any], kwargs: dict[str, Any], given: dict[str, Any]) -> Any:
        """Performs a Celery task. `given`: see celery_run."""
        # Here: whoever only enqueues needs nothing of it.
        from windlass.sdk.bridges.celery_run import perform

        return perform(self, name, args, kwargs, given)

    def AsyncResult(self, task_id: str) -> Result:  # noqa: N802 (as Celery calls it)
        """Of a job, by its id or by the `task_id` that its caller chose."""
        if task_id.startswith("job_"):
            return Result(self, task_id)
        return Result(self, None, task_id=task_id)

    def result_of(self, task_id: str, *args: Any, **kwargs: Any) -> Any:
        """What `AsyncResult` of the Celery application has become."""
        if self.queues is None or task_id.startswith("job_"):
            return self.AsyncResult(task_id)
        return self._result_of_celery(task_id, *args, **kwargs)

    def send_task(
        self,
        name: str,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """What `send_task` of the Celery application has become."""
        if options.get("retries"):
            from windlass.sdk.bridges.celery_run import is_own_retry

            if is_own_retry(args, kwargs, options):
                return None
        if not self.takes(self.queue_of(name, args, kwargs, options)):
            return self._send_to_celery(name, args, kwargs, **options)
        if options.get("task_type") is None and name in self.celery.tasks:
            # As Celery does for a call by name: what the task says of itself.
            of_task = self.celery.tasks[name]._get_exec_options()
            options = {**{o: v for o, v in of_task.items() if v is not None}, **options}
        check_options(name, options)
        plan = Plan(self)
        said = {
            option: value
            for option, value in options.items()
            if value is not None and option not in _OBJECTS and option != "task_type"
        }
        signature = celery.Signature(name, tuple(args or ()), dict(kwargs or {}), app=self.celery)
        place = plan.call(signature, None, Said(options=said))
        # What is linked to it may be elsewhere: then it is refused before anything is sent.
        if plan.is_celerys:
            return self._send_to_celery(name, args, kwargs, **options)
        return plan.submit(place)

    def takes(self, queue: str) -> bool:
        return self.queues is None or queue in self.queues

    def queue_of(self, name: str, args: Any, kwargs: Any, options: Mapping[str, Any]) -> str:
        """The queue that Celery's own settings give this call."""
        said = {option: value for option, value in options.items() if option != "route_name"}
        called = called_by(name, kwargs)
        if called is None:
            kind = options.get("task_type") or self.celery.tasks.get(name)
            name = options.get("route_name") or name
        else:
            # A map goes where its task goes: what calls it is known everywhere.
            name, args, kwargs = called["task"], (), {}
            kind = self.celery.tasks.get(name)
            said = {**(called.get("options") or {}), **said}
        own = getattr(kind, "queue", None)
        if own and not said.get("queue"):
            said["queue"] = own
        routed = self.celery.amqp.router.route(said, name, args, kwargs, kind)
        queue = routed.get("queue") or self.celery.conf.task_default_queue
        return str(getattr(queue, "name", queue))

    def job_of(
        self,
        name: str,
        args: Iterable[Any] | None,
        kwargs: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        *,
        takes: Takes = "none",
        **beside: Any,
    ) -> dict[str, Any]:
        """What is submitted for one call. Raises ValueError for what Windlass cannot do."""
        task = self.celery.tasks.get(name)
        if self.isolate is not None and getattr(task, "rate_limit", None):
            raise ValueError(
                f"{name}: rate_limit counts within one process, and each task has its own with "
                "isolate; give its queue a rate: windlass queue set QUEUE --rate 10"
            )
        fields = fields_of(self.celery, name, task, options)
        serializer = options.get("serializer") or self.celery.conf.task_serializer
        written = call_to_json(name, list(args or ()), spelled_out(name, kwargs), serializer)
        given = {"takes": takes, **given_of(self.celery, name, task, options), **beside}
        return {
            "kind": "python",
            "input": {"task": NAME, "args": [name, *written, given]},
            **fields,
        }


def bridge(
    celery_app: celery.Celery,
    *,
    queues: Iterable[str] | None,  # None: all of them
    url: str | None = None,  # None: WINDLASS_URL, or this machine
    token: str | None = None,  # None: WINDLASS_TOKEN
    isolate: Isolate | None = None,  # "process": each task in a process, as Celery's prefork does
) -> Bridge:
    """Send tasks of these queues to Windlass from now on; the App is what a node performs."""
    if getattr(celery_app, "windlass", None) is not None:
        raise ValueError(f"{celery_app!r} is bridged already; name all its queues in one call")
    named = None if queues is None else frozenset(queues)
    made = Bridge(celery_app, named, url, token, isolate)
    take_over()
    celery_app.send_task = made.send_task
    celery_app.AsyncResult = made.result_of
    celery_app.windlass = made
    return made
