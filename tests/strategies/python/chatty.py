"""Tasks that ask for the job they run for; isolated ones are imported by a process of their own."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import windlass

app = windlass.App("chatty")


def facts() -> dict[str, Any]:
    job = windlass.current()
    return {"id": job.id, "attempt": job.attempt, "task": job.task, "queue": job.queue}


def talk() -> None:
    job = windlass.current()
    job.log("begun", size=3)
    job.log("odd", "warning")
    job.progress(1, 2, "half")


def leave(how: str) -> None:
    match how:
        case "later":
            raise windlass.RetryAfter("10m", "the shop is closed")
        case "never":
            raise windlass.Drop("no such customer")
        case "stop":
            raise windlass.Cancelled
        case _:
            raise ValueError(how)


@app.task
def in_thread(what: str, how: str = "") -> Any:
    return _do(what, how)


@app.task
async def on_loop(what: str, how: str = "") -> Any:
    return _do(what, how)


@app.task(isolate="process")
def apart(what: str, how: str = "") -> Any:
    return _do(what, how)


@app.task(isolate="process")
async def apart_on_loop(what: str, how: str = "") -> Any:
    return _do(what, how)


def _do(what: str, how: str) -> Any:
    match what:
        case "facts":
            return facts()
        case "talk":
            return talk()
        case "leave":
            return leave(how)
        case "db":
            return windlass.current().db.execute(how)
        case _:
            raise ValueError(what)


@app.task
async def below() -> list[str]:
    """What it calls knows it, too."""
    threads = await asyncio.to_thread(lambda: windlass.current().id)
    inside = await asyncio.create_task(_id())
    return [threads, inside]


async def _id() -> str:
    return windlass.current().id


@app.task
def count(lines: int) -> None:
    for n in range(lines):
        windlass.current().log(f"line {n}")


def bare() -> str | None:
    """In a thread that nobody told anything."""
    said: list[str] = []

    def ask() -> None:
        try:
            windlass.current()
        except windlass.NotInTask as trouble:
            said.append(str(trouble))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return said[0] if said else None


app.task(bare)
