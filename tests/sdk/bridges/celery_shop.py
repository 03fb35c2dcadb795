"""A Celery application whose `mail` and `sums` queues have moved to Windlass."""

from __future__ import annotations

from typing import Any

from celery import Celery, Task

from windlass.sdk.bridges.celery import bridge

celery = Celery("shop", broker="memory://", backend="cache+memory://", set_as_current=False)
celery.conf.update(
    task_routes={
        "shop.send_mail": {"queue": "mail"},
        "shop.stay": {"queue": "reports"},
        "shop.*": {"queue": "sums"},
    },
    task_default_queue="elsewhere",
)
windlass = bridge(celery, queues=["mail", "sums"])
handled: list[tuple[str, Any]] = []


class Noted(Task):  # type: ignore[misc]  # Celery has no types
    def on_success(self, retval: Any, task_id: str, args: Any, kwargs: Any) -> None:
        handled.append(("success", retval))

    def on_failure(self, exc: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        handled.append(("failure", str(exc)))

    def on_retry(self, exc: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        handled.append(("retry", None))


@celery.task(name="shop.send_mail")
def send_mail(to: str, subject: str = "hello") -> str:
    return f"{subject} {to}"


@celery.task(name="shop.stay")
def stay() -> None:
    """Its queue is still with Celery."""


@celery.task(name="shop.add")
def add(*numbers: int) -> int:
    return sum(numbers)


@celery.task(name="shop.total")
def total(numbers: list[int]) -> int:
    return sum(numbers)


@celery.task(name="shop.order")
def order(numbers: list[int]) -> list[int]:
    return numbers


@celery.task(name="shop.flaky", bind=True, base=Noted, max_retries=3)
def flaky(self: Any, fail: int) -> list[Any]:
    if self.request.retries < fail:
        raise self.retry(countdown=0.01, exc=ValueError("not yet"))
    return [self.request.retries, self.request.id, self.name]


@celery.task(name="shop.broken", base=Noted)
def broken() -> None:
    raise KeyError("stamps")


@celery.task(
    name="shop.again", autoretry_for=(OSError,), retry_backoff=False, default_retry_delay=0
)
def again() -> int:
    from celery import current_task

    if current_task.request.retries == 0:
        raise OSError("the line was busy")
    return int(current_task.request.retries)


@celery.task(name="shop.calls_another")
def calls_another() -> str:
    return str(add.delay(1, 2).id)
