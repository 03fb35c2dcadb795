"""The App of the server that the SDK's tests talk to. Whoever needs a task adds it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from decimal import Decimal

import windlass

app = windlass.App("sample")


@dataclass(frozen=True, slots=True)
class Order:
    number: int
    total: Decimal


@app.task
def add(left: int, right: int) -> int:
    return left + right


@app.task
def passed_on(left: int) -> str:
    """Enqueues in the transaction that this job ends in; the id of the job that there will be."""
    return add.using(connection=windlass.current().db).enqueue(left, 4).id


@app.task
async def shout(text: str) -> str:
    return text.upper()


@app.task
def fail(message: str) -> None:
    raise ValueError(message)


class CardRefused(LookupError):
    """Its constructor wants what nobody has who hears of it from afar."""

    def __init__(self, card: str, *, reason: str) -> None:
        self.card, self.reason = card, reason
        super().__init__(f"{card}: {reason}")


@app.task(max_attempts=1)
def raise_it(name: str) -> None:
    """Raises an exception that is made in the way it has to be."""
    match name:
        case "CardRefused":
            raise CardRefused("4711", reason="stolen")
        case "UnicodeDecodeError":
            b"\xff".decode()
        case "KeyError":
            raise KeyError("tea")
        case "OSError":
            raise FileNotFoundError(2, "No such file", "tea.txt")
        case "ExceptionGroup":
            raise ExceptionGroup("many", [ValueError("one")])
        case "StopIteration":
            raise StopIteration("over")
        case "SystemExit":
            raise SystemExit(3)
        case "NotFound":
            raise windlass.NotFound("job", "job_0")
        case "Local":

            class Local(ValueError):
                pass

            raise Local("nobody finds it")
        case _:
            raise ValueError(name)


@app.task(queue="orders", retry=windlass.Retry(2, initial=0), timeout="20s", tags=["sale"])
def reduced(order: Order, by: Decimal) -> Order:
    return replace(order, total=order.total - by)


@app.task(isolate="process")
def doubled(order: Order) -> Order:
    return replace(order, total=2 * order.total)


@app.task
async def linger(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


@app.task
def impossible() -> int:
    return "text"  # type: ignore[return-value]


@app.task
def forgetful() -> str:
    """Says that it returns text, and forgets to."""
    return None  # type: ignore[return-value]


@app.task
async def forgetful_later() -> str:
    return None  # type: ignore[return-value]


@app.task(isolate="process")
def forgetful_apart() -> str:
    return None  # type: ignore[return-value]


@app.task
def wait_for_other(job_id: str) -> str:
    """Would keep its slot until another job had one."""
    return windlass.Handle(app, job_id, str).result()


@app.task
async def await_other(job_id: str) -> str:
    return await windlass.Handle(app, job_id, str)


@app.task
def narrate(lines: int) -> str:
    """Says what it does while it does it."""
    job = windlass.current()
    for n in range(lines):
        job.log(f"packed {n}", box=n)
        job.progress(n + 1, lines, "packing")
    return job.id


@app.task(retry=windlass.Retry(3, initial="1h"))
async def again_at_once() -> int:
    """Its policy would rest for an hour."""
    job = windlass.current()
    if job.attempt == 1:
        raise windlass.RetryAfter(0, "not yet")
    return job.attempt


@app.task
async def book(table: str, amount: int) -> int:
    db = windlass.current().db
    await db.execute(f"CREATE TABLE IF NOT EXISTS public.{table} (amount int4)")
    await db.execute(f"INSERT INTO public.{table} VALUES ($1)", amount)
    booked: int = await db.fetchval(f"SELECT count(*) FROM public.{table}")
    return booked


@app.task(timeout="200ms", max_attempts=1)
def book_too_slowly(table: str) -> None:
    windlass.current().db.execute(f"CREATE TABLE public.{table} (amount int4)")
    windlass.current().db.execute("SELECT pg_sleep(30)")


@app.task
def report(steps: int) -> None:
    for done in range(1, steps + 1):
        windlass.current().progress(done, steps, f"step {done}")
        windlass.current().log("packed", box=done)


@app.task
def pass_on(left: int, *, then_fail: bool = False) -> str:
    """Makes a job in its own transaction: there is one if this one succeeds, and only then."""
    made = add.using(connection=windlass.current().db, key=f"passed-{left}").enqueue(left, 1)
    if then_fail:
        raise windlass.Drop("after all")
    return made.id


@app.task
async def pass_on_async(left: int) -> str:
    made = await add.using(connection=windlass.current().db).aenqueue(left, 1)
    return made.id
