"""What the project does in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django_tasks import TaskContext, task
else:
    try:
        from django.tasks import TaskContext, task
    except ImportError:  # before Django 6
        from django_tasks import TaskContext, task


class OutOfStamps(Exception):
    pass


@task(queue_name="mail", priority=10)
def send_mail(to: str, subject: str = "hello") -> dict[str, Any]:
    return {"to": to, "subject": subject}


@task
async def add(one: int, other: int) -> int:
    return one + other


@task(backend="in_transaction")
def reserve(item: str) -> str:
    return item


@task(takes_context=True)
def who_am_i(context: TaskContext) -> list[Any]:
    return [context.task_result.id, context.attempt]


@task
def fail() -> None:
    raise OutOfStamps("none left:\nat all")


@task(backend="again", takes_context=True)
def fail_once(context: TaskContext) -> int:
    if context.attempt == 1:
        raise ValueError("not yet")
    return context.attempt


@task
def chain() -> str:
    """Enqueues another from a node that was told no address."""
    return str(add.enqueue(1, 2).id)
