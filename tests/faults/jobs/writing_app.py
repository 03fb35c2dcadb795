"""Tasks that write in their job's own transaction: each effect is one row."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import windlass
from tests.faults.witness import VARIABLE, Witness, write

app = windlass.App("writing")

INSERT = "INSERT INTO public.effect (marker, attempt) VALUES ($1, $2)"
LONG_SECONDS = 60.0


@app.task
def write_and_stay(marker: str) -> str:
    """The first who writes stays until somebody kills it."""
    job = windlass.current()
    job.db.execute(INSERT, marker, job.attempt)
    write("start", marker)
    if _starts(marker) == 1:
        time.sleep(LONG_SECONDS)
    return marker


@app.task
async def write_and_stay_async(marker: str) -> str:
    job = windlass.current()
    await job.db.execute(INSERT, marker, job.attempt)
    write("start", marker)
    if _starts(marker) == 1:
        await asyncio.sleep(LONG_SECONDS)
    return marker


@app.task
def write_quickly(marker: str, seconds: float) -> str:
    job = windlass.current()
    job.db.execute(INSERT, marker, job.attempt)
    write("start", marker)
    time.sleep(seconds)
    return marker


@app.task
def write_and_fail(marker: str) -> None:
    job = windlass.current()
    job.db.execute(INSERT, marker, job.attempt)
    write("start", marker)
    raise windlass.Drop("it wrote, and then it thought better of it")


def _starts(marker: str) -> int:
    return len(Witness(Path(os.environ[VARIABLE])).lines("start", marker))
