"""An App as somebody might have one, for tests of testing."""

from __future__ import annotations

import asyncio
import threading

import windlass

app = windlass.App("shop")
release = threading.Event()  # lets `dawdle` end


@app.task
def place(number: int) -> str:
    receipt.enqueue(number, to=f"{number}@example.org")
    return f"placed {number}"


@app.task(queue="mail")
async def receipt(number: int, to: str) -> str:
    await asyncio.sleep(0)
    return f"receipt {number} for {to}"


@app.task(retry=windlass.Retry(4, initial="10m", factor=2, max="1h", jitter=False))
def charge(cents: int) -> int:
    return cents


@app.task(isolate="process")
def draw(text: str) -> str:
    return text.upper()


@app.task
def dawdle() -> None:
    release.wait(30)


@app.task
def again() -> None:
    again.enqueue()


@app.task
def book(cents: int) -> int:
    """Through the job's own transaction: it is there if the job succeeds, and only then."""
    job = windlass.current()
    job.db.execute("INSERT INTO public.booking (cents) VALUES ($1)", cents)
    job.progress(1, 1)
    job.log("booked", cents=cents)
    if cents < 0:
        raise windlass.Drop("nobody pays less than nothing")
    return job.attempt
