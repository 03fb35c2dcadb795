"""A user's tasks. What a checker must know of them is said with assert_type; nothing here runs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_type

import windlass

app = windlass.App("shop", url="http://127.0.0.1:5777", token="wlk_0")


@dataclass
class Order:
    number: int
    total: Decimal


@app.task
def charge(order: Order, currency: str = "EUR") -> Decimal:
    job = windlass.current()
    job.progress(1, 2, "charging")
    job.log("charged", amount=str(order.total))
    if job.cancelled:
        raise windlass.Cancelled
    if job.attempt > 3:
        raise windlass.Drop("too often")
    raise windlass.RetryAfter("10m", reason=currency)


@app.task(
    queue="mail", retry=windlass.Retry(5, initial="1s"), timeout="30s", priority="high", tags=["a"]
)
async def send_mail(to: str, *, subject: str = "hi") -> str:
    await windlass.current().db.execute("INSERT INTO mail VALUES ($1)", to)
    return subject


@app.task(isolate="process", name="labels.draw", max_attempts=3)
def draw(order: Order) -> bytes:
    return bytes(order.number)


def enqueue() -> None:
    assert_type(charge(Order(1, Decimal(2))), Decimal)
    assert_type(charge.enqueue(Order(1, Decimal(2)), currency="USD"), windlass.Handle[Decimal])
    handle = send_mail.enqueue("a@b.c", subject="ahoy")
    assert_type(handle, windlass.Handle[str])
    assert_type(handle.result(timeout="30s"), str)
    assert_type(
        draw.using(run_after=60, key="k", depends_on=[handle])
        .enqueue(Order(1, Decimal()))
        .result(),
        bytes,
    )
    assert_type(send_mail.map(["a", "b"], subject="all"), windlass.Handles[str])
    assert_type(send_mail.map(["a", "b"]).results(), list[str])
    assert_type((handle.state(), handle.why()), tuple[str, dict[str, Any]])
    done, pending = windlass.wait([handle, handle], timeout=5)
    assert_type(done, list[windlass.Handle[str]])
    assert_type(pending, list[windlass.Handle[str]])
    for ended in windlass.as_completed([handle]):
        assert_type(ended, windlass.Handle[str])
    try:
        handle.result()
    except windlass.JobFailed as failed:
        assert_type(failed.remote_traceback, str | None)


async def aenqueue() -> None:
    assert_type(await send_mail("a@b.c", subject="ahoy"), str)
    handle = await send_mail.aenqueue("a@b.c")
    assert_type(handle, windlass.Handle[str])
    assert_type(await handle, str)
    assert_type(await handle.aresult(timeout=1.5), str)
    assert_type(await (await charge.amap([Order(1, Decimal(2))])).aresults(), list[Decimal])
    assert_type(
        await windlass.await_all([handle]),
        tuple[list[windlass.Handle[str]], list[windlass.Handle[str]]],
    )
    async for ended in windlass.as_completed([handle]):
        assert_type(ended, windlass.Handle[str])


def takes(task: windlass.Task[[str], int]) -> windlass.Handle[int]:
    return task.enqueue("x")
