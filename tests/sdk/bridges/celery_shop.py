"""A Celery application whose `mail` and `sums` queues have moved to Windlass."""

from __future__ import annotations

from threading import Event
from time import monotonic, sleep
from typing import Any

from celery import Celery, Task, shared_task
from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded

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
gate = Event()
noted: list[tuple[str, list[Any]]] = []


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


@celery.task(name="shop.note")
def note(*said: Any) -> None:
    """A callback: its own word stands last."""
    noted.append((said[-1], list(said[:-1])))


@celery.task(name="shop.on_error")
def on_error(request: Any, exc: Any, traceback: str) -> None:
    cause = getattr(exc, "cause", type(exc).__name__)
    noted.append(("error", [request.id, request.task, cause, "stamps" in traceback]))


@celery.task(name="shop.on_error_id")
def on_error_id(task_id: str) -> None:
    noted.append(("error of", [task_id]))


@celery.task(name="shop.about", bind=True)
def about(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """What it knows of itself."""
    asked = self.request
    return {
        "id": asked.id,
        "task": asked.task,
        "headers": asked.headers,
        "tenant": asked.get("tenant"),
        "is_eager": asked.is_eager,
        "retries": asked.retries,
        "args": [type(one).__name__ for one in asked.args],
        "queue": asked.delivery_info["routing_key"],
        "expires": asked.expires,
        "soft": asked.soft_time_limit,
    }


@celery.task(name="shop.quiet", ignore_result=True)
def quiet(number: int) -> int:
    return number


@celery.task(name="shop.same")
def same(value: Any) -> Any:
    return value


@celery.task(name="shop.strange")
def strange() -> Any:
    return object()


@celery.task(name="shop.slow", soft_time_limit=0.2, time_limit=30)
def slow() -> str:
    try:
        until = monotonic() + 20
        while monotonic() < until:
            sleep(0.01)
    except SoftTimeLimitExceeded:
        return "cleaned up"
    return "too late"


@celery.task(name="shop.slower", soft_time_limit=0.2)
def slower() -> None:
    until = monotonic() + 20
    while monotonic() < until:
        sleep(0.01)


@celery.task(name="shop.paced", rate_limit="4/s", bind=True)
def paced(self: Any) -> int:
    return int(self.request.retries)


@celery.task(name="shop.again_quietly", bind=True, max_retries=2)
def again_quietly(self: Any) -> int:
    if self.request.retries == 0:
        self.retry(countdown=0, throw=False)
    return int(self.request.retries)


@celery.task(name="shop.again_otherwise", bind=True)
def again_otherwise(self: Any, number: int, how: str) -> int:
    if how == "args" and self.request.retries == 0:
        raise self.retry(args=(number + 1, how), countdown=0)
    if how == "queue" and self.request.retries == 0:
        raise self.retry(queue="mail", countdown=0)
    if how == "more":
        raise self.retry(max_retries=99, countdown=0)
    return number


@celery.task(
    name="shop.backs_off",
    bind=True,
    autoretry_for=(OSError,),
    retry_backoff=3600,
    retry_jitter=False,
    retry_kwargs={"max_retries": 1},
)
def backs_off(self: Any) -> None:
    raise OSError(f"busy {self.request.retries}")


@celery.task(name="shop.rejects", bind=True)
def rejects(self: Any, requeue: bool) -> str:
    if not noted:
        noted.append(("rejected", []))
        raise Reject("not mine", requeue=requeue)
    return f"taken after {self.request.retries} retries"


@celery.task(name="shop.ignores")
def ignores() -> None:
    raise Ignore


@celery.task(name="shop.replaces", bind=True)
def replaces(self: Any) -> None:
    raise self.replace(add.s(1, 2))


@celery.task(name="shop.tells", bind=True)
def tells(self: Any) -> str:
    self.update_state(state="PROGRESS", meta={"current": 3, "total": 4})
    gate.wait(30)
    return "told"


@celery.task
def named_by_module() -> str:
    return "module"


@shared_task
def shared_by_all() -> str:
    return "shared"


class Counting(Task):  # type: ignore[misc]
    name = "shop.counting"

    def run(self, number: int) -> int:
        return number + 1


counting = celery.register_task(Counting())
