"""Moving from Celery queue by queue: tasks of the named queues go to Windlass, the others stay.

    from windlass.sdk.bridges.celery import bridge

    celery = Celery("shop", broker=…)                   # as it was
    windlass = bridge(celery, queues=["mail"])          # windlass up --app shop.celery:windlass

`.delay`, `.apply_async`, `send_task` and beat's schedules ask Celery's own router which queue a
call is for, so nothing changes where tasks are called; `map` and `starmap` go where their task
goes. Chains, groups, chords, chunks: see celery_canvas.

Promises: a call is either with Windlass or with Celery, never with both; what Windlass cannot do is
refused where it is called, and not forgotten later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import celery

from windlass.sdk.bridges.celery_canvas import Plan, Takes, chain, chord, group
from windlass.sdk.bridges.celery_maps import as_json, called_by
from windlass.sdk.bridges.celery_options import fields_of
from windlass.sdk.bridges.celery_result import Result
from windlass.sdk.tasks.app import App

__all__ = ["Bridge", "bridge", "chain", "chord", "group"]

NAME: Final = "celery.task"


class Bridge(App):
    """The App whose one task performs every task of a Celery application."""

    def __init__(
        self,
        celery_app: celery.Celery,
        queues: frozenset[str] | None,
        url: str | None,
        token: str | None,
    ) -> None:
        super().__init__(str(celery_app.main or "celery"), url=url, token=token)
        self.celery, self.queues = celery_app, queues
        self._send_to_celery = celery_app.send_task
        self.task(name=NAME)(self.run)

    def run(self, name: str, args: list[Any], kwargs: dict[str, Any], given: dict[str, Any]) -> Any:
        """Performs a Celery task. `given`: see celery_run."""
        # Here: whoever only enqueues needs nothing of it.
        from windlass.sdk.bridges.celery_run import perform

        return perform(self, name, args, kwargs, given)

    def AsyncResult(self, task_id: str) -> Result:  # noqa: N802 (as Celery calls it)
        return Result(self, task_id)

    def send_task(
        self,
        name: str,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """What `send_task` of the Celery application has become."""
        queue = self.queue_of(name, args, kwargs, options)
        if not self.takes(queue):
            return self._send_to_celery(name, args, kwargs, **options)
        links = options.pop("link", None) or []
        plan = Plan(self)
        place = plan.put(self.job_of(name, args, kwargs, {**options, "queue": queue}))
        for link in links if isinstance(links, list | tuple) else [links]:
            plan.add(chain(link).steps, [place])
        return plan.submit()[place]

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
            own = getattr(kind, "queue", None)
            said = {**({"queue": own} if own else {}), **(called.get("options") or {}), **said}
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
    ) -> dict[str, Any]:
        """What is submitted for one call. Raises ValueError for what Windlass cannot do."""
        task = self.celery.tasks.get(name)
        given = {"takes": takes, "retries": options.get("retries") or 0}
        call = [name, list(args or ()), as_json(name, kwargs), given]
        fields = fields_of(self.celery, name, task, options)
        return {"kind": "python", "input": {"task": NAME, "args": call}, **fields}


def bridge(
    celery_app: celery.Celery,
    *,
    queues: Iterable[str] | None,  # None: all of them
    url: str | None = None,  # None: WINDLASS_URL, or this machine
    token: str | None = None,  # None: WINDLASS_TOKEN
) -> Bridge:
    """Send tasks of these queues to Windlass from now on; the App is what a node performs."""
    if getattr(celery_app, "windlass", None) is not None:
        raise ValueError(f"{celery_app!r} is bridged already; name all its queues in one call")
    made = Bridge(celery_app, None if queues is None else frozenset(queues), url, token)
    celery_app.send_task = made.send_task
    celery_app.windlass = made
    return made
