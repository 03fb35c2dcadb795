"""Performing a Django task on a node, with what Django promises around it: signals, a context, and
database connections that are as good as new before and after.
"""

from __future__ import annotations

from typing import Any

from django.db import close_old_connections
from django.utils import timezone

from windlass.sdk.bridges.django_names import (
    TaskContext,
    TaskResult,
    TaskResultStatus,
    task_finished,
    task_started,
)
from windlass.sdk.bridges.django_result import task_at
from windlass.sdk.tasks.current import current


def perform(path: str, alias: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What the task returns. Raises whatever it raises."""
    job = current()
    task = task_at(path, job.queue)
    now = timezone.now()
    result: TaskResult[Any] = TaskResult(
        task=task,
        id=job.id,
        status=TaskResultStatus.RUNNING,
        enqueued_at=job.created_at,
        started_at=now,
        finished_at=None,
        last_attempted_at=now,
        args=args,
        kwargs=kwargs,
        backend=alias,
        errors=[],
        worker_ids=["windlass"] * job.attempt,  # their number is the attempt's
    )
    sender = type(task.get_backend())
    context = [TaskContext(task_result=result)] if task.takes_context else []
    close_old_connections()
    task_started.send(sender, task_result=result)
    status = TaskResultStatus.FAILED
    try:
        value = task.call(*context, *args, **kwargs)
        status = TaskResultStatus.SUCCESSFUL
        object.__setattr__(result, "_return_value", value)
        return value
    finally:
        object.__setattr__(result, "status", status)
        object.__setattr__(result, "finished_at", timezone.now())
        task_finished.send(sender, task_result=result)
        close_old_connections()
