"""The tasks that nodes perform in these tests: each tells the witness what it does."""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.witness import VARIABLE, Witness, write
from windlass.sdk.tasks.app import App

app = App("faults")

STEP_SECONDS = 0.02


def gate(witness_path: str | Path) -> Path:
    """What `note_held` waits for: a file beside the witness, which is each test's own."""
    return Path(f"{witness_path}.go")


@app.task
def note(marker: str, seconds: float = 0.0) -> str:
    until = time.monotonic() + seconds
    return _work(marker, lambda: time.monotonic() >= until)


@app.task
def note_held(marker: str) -> str:
    """Runs until the test lets it go, however long the test takes."""
    return _work(marker, gate(os.environ[VARIABLE]).exists)


def _work(marker: str, is_over: Callable[[], bool]) -> str:
    """Takes its time in small steps, as code does that can be stopped."""
    write("start", marker)
    try:
        while not is_over():
            time.sleep(STEP_SECONDS)
    except BaseException:
        write("stop", marker)
        raise
    write("end", marker)
    return marker


@app.task
async def note_async(marker: str, seconds: float = 0.0) -> str:
    write("start", marker)
    await asyncio.sleep(seconds)
    write("end", marker)
    return marker


@app.task(isolate="process")
def note_isolated(marker: str, seconds: float = 0.0) -> str:
    return note(marker, seconds)


@app.task
def fail_first(marker: str) -> str:
    """Fails until somebody has started it before."""
    write("start", marker)
    if len(Witness(Path(os.environ[VARIABLE])).lines("start", marker)) < 2:
        raise RuntimeError("the first try fails")
    write("end", marker)
    return marker


@app.task
def burn(marker: str, seconds: float) -> None:
    """Leaves the interpreter's lock only when it is taken away."""
    write("start", marker)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    write("end", marker)


@app.task
async def block_loop(marker: str, seconds: float) -> None:
    """What an async task must not do."""
    write("start", marker)
    time.sleep(seconds)  # noqa: ASYNC251
    write("end", marker)


@app.task
def exit_node(marker: str) -> None:
    """A sync task runs in a thread of the node: this ends the node."""
    write("start", marker)
    os._exit(9)


@app.task(isolate="process")
def exit_process(marker: str) -> None:
    write("start", marker)
    os._exit(9)


@app.task(isolate="process")
def segfault(marker: str) -> None:
    write("start", marker)
    ctypes.string_at(0)


@app.task(isolate="process")
def loop_for_ever(marker: str) -> None:
    write("start", marker)
    while True:
        pass
