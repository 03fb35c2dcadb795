"""A backend for Django's tasks (`django.tasks` of Django 6, or the `django_tasks` package).

    TASKS = {"default": {
        "BACKEND": "windlass.sdk.bridges.django_tasks.WindlassBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {
            "database": "default",   # enqueue in this connection's transaction; without it: by HTTP
            "url": …, "token": …,    # else WINDLASS_URL and WINDLASS_TOKEN
            "max_attempts": 3,       # else 1: Django's tasks are not tried again
        },
    }}

Promises: with `database`, which must be the one that Windlass lives in, a task is enqueued if and
only if the surrounding transaction commits.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import connections
from django.utils import timezone

from windlass.errors import InvalidInput, NotFound
from windlass.limits import TAG_CHARS_MAX
from windlass.model.job.states import Priority
from windlass.sdk.bridges.django_app import NAME, app, app_of
from windlass.sdk.bridges.django_names import (
    BaseTaskBackend,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from windlass.sdk.bridges.django_result import result_of

_OPTIONS: Final = frozenset({"database", "url", "token", "max_attempts"})


class WindlassBackend(BaseTaskBackend):
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        if odd := sorted(set(self.options) - _OPTIONS):
            raise ValueError(f"TASKS[{alias!r}]: unknown OPTIONS {odd}; known: {sorted(_OPTIONS)}")
        url, token = self.options.get("url"), self.options.get("token")
        self.app = app if url is None and token is None else app_of(url, token)

    def enqueue(self, task: Task[Any, Any], args: Any, kwargs: dict[str, Any]) -> TaskResult[Any]:
        self.validate_task(task)
        result: TaskResult[Any] = TaskResult(
            task=task,
            id="",  # known when it is enqueued; the arguments are checked first
            status=TaskResultStatus.READY,
            enqueued_at=timezone.now(),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=list(args),
            kwargs=kwargs,
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        handle = (
            self.app.tasks[NAME]
            .using(**self._fields(task))
            .enqueue(task.module_path, self.alias, result.args, result.kwargs)
        )
        object.__setattr__(result, "id", handle.id)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult[Any]:
        jobs = self.app.blocking.jobs
        try:
            job = jobs.get(result_id)
        except (NotFound, ValueError, InvalidInput):  # or it is no id at all
            raise TaskResultDoesNotExist(result_id) from None
        if job["kind"] != "python" or job["input"]["task"] != NAME:
            raise TaskResultDoesNotExist(result_id)
        return result_of(job, list(jobs.attempts(result_id)))

    def _fields(self, task: Task[Any, Any]) -> dict[str, Any]:
        run_at = task.run_after
        if run_at is not None and timezone.is_naive(run_at):
            run_at = timezone.make_aware(run_at)
        database = self.options.get("database")
        return {
            "queue": task.queue_name,
            "priority": priority_of(task.priority),
            "run_at": run_at,
            "max_attempts": self.options.get("max_attempts", 1),
            "tags": [task.module_path[:TAG_CHARS_MAX]],
            "connection": None if database is None else connections[database],
        }


def priority_of(number: int) -> Priority:
    """Django counts from -100 to 100; Windlass has four words."""
    if number < 0:
        return "low"
    if number == 0:
        return "normal"
    return "high" if number <= 50 else "critical"
