"""A Windlass job as Django's TaskResult."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from django.utils.module_loading import import_string

from windlass.sdk.bridges.django_names import Task, TaskError, TaskResult, TaskResultStatus

_STATUS: Final = {
    "blocked": TaskResultStatus.READY,
    "queued": TaskResultStatus.READY,
    "running": TaskResultStatus.RUNNING,
    "succeeded": TaskResultStatus.SUCCESSFUL,
}
# The last line of a traceback: `shop.errors.Broken: why`.
_RAISED: Final = re.compile(r"^([A-Za-z_][\w.]*)(?:: |$)", re.MULTILINE)


def task_at(path: str, queue: str) -> Task[..., Any]:
    """The `@task` of that name, in the queue its job is in."""
    found: Task[..., Any] = import_string(path)
    return found if found.queue_name == queue else found.using(queue_name=queue)


def result_of(job: dict[str, Any], attempts: list[dict[str, Any]]) -> TaskResult[Any]:
    path, alias, args, kwargs = arguments_of(job)
    result: TaskResult[Any] = TaskResult(
        task=task_at(path, job["queue"]),
        id=job["id"],
        status=_STATUS.get(job["state"], TaskResultStatus.FAILED),
        enqueued_at=_instant(job["created_at"]),
        started_at=_instant(attempts[0]["started_at"] if attempts else None),
        finished_at=_instant(job["finished_at"]),
        last_attempted_at=_instant(attempts[-1]["started_at"] if attempts else None),
        args=args,
        kwargs=kwargs,
        backend=alias,
        errors=[_error(tried["error"]) for tried in attempts if tried["error"]],
        worker_ids=[tried["node_id"] or "" for tried in attempts],
    )
    # Frozen, and not an argument: Django's own backends write it so.
    object.__setattr__(result, "_return_value", job["result"])
    return result


def arguments_of(job: dict[str, Any]) -> tuple[str, str, list[Any], dict[str, Any]]:
    """What run_task was enqueued with: the path, the backend's alias, and the task's own."""
    path, alias, args, kwargs = job["input"]["args"]
    return path, alias, args, kwargs


def _error(error: dict[str, Any]) -> TaskError:
    trace = str((error.get("detail") or error).get("traceback") or "")
    return TaskError(exception_class_path=_class_path(str(error["cause"]), trace), traceback=trace)


def _class_path(cause: str, trace: str) -> str:
    """The class by its path: the job keeps its name, the end of the traceback where it lives."""
    for raised in reversed(_RAISED.findall(trace)):
        if raised.rpartition(".")[2] == cause:
            return raised if "." in raised else f"builtins.{raised}"
    return "builtins.Exception"  # it was no exception that ended it, but a timeout for example


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
