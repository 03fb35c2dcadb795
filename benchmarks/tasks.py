"""The tasks of a node that is being measured (`--app benchmarks.tasks:app`, or `…:plain`)."""

from __future__ import annotations

import asyncio
import time

import windlass
from benchmarks.rows import write_16_bytes
from benchmarks.traffic.starts import note
from windlass.sdk.tasks.app import App

app = App("benchmarks")
# Nothing of it is published, so that a node which starts with it has no job begun before it is up.
plain = App("benchmarks of plain tasks")


@app.task
def now() -> float:
    """When it was called, by the clock that every process of this machine shares."""
    return time.time()


def keep(note: str) -> None:
    """What is mapped; whoever maps it has an App of their own."""


@plain.task
def nothing() -> None:
    pass


@plain.task
async def nothing_async() -> None:
    pass


@plain.task
async def write() -> None:
    write_16_bytes()


@plain.task
async def begin(path: str, number: int) -> None:
    at = time.monotonic()
    note(path, number, at)


@plain.task(isolate="process")
def nothing_apart() -> None:
    pass


@app.task
async def stay(seconds: float) -> None:
    """Says something of itself, and stays."""
    windlass.current().log("here")
    for done in range(10):
        windlass.current().progress(done, 10)
        await asyncio.sleep(seconds / 10)


@app.task
async def keep_open(seconds: float, *statements: str) -> None:
    """Writes in its own transaction, and takes its time before that ends."""
    session = windlass.current().db
    for statement in statements:
        await session.execute(statement)
    await asyncio.sleep(seconds)


@app.durable
async def listen() -> None:
    await windlass.step(keep, "here")
    await windlass.wait_for("never")
