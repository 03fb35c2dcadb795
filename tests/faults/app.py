"""The tasks that nodes perform in these tests: each tells the witness what it does."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from tests.faults.witness import VARIABLE, Witness, write
from windlass.sdk.tasks.app import App

app = App("faults")
log = logging.getLogger(__name__)

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
def fail(marker: str) -> None:
    """Whenever it is tried."""
    raise ValueError(f"no such order: {marker}")


@app.task
def say(marker: str) -> None:
    """As programs do; `marker` is in each line."""
    log.info("%s of a thread", marker, extra={"box": 3})
    log.debug("%s that nobody asked for", marker)
    log.info("%s of %d", marker, "no number")
    structlog.get_logger().warning(f"{marker} of structlog", box=4)
    contextvars.copy_context().run(log.info, "%s of a copied context", marker)


@app.task
async def say_async(marker: str) -> None:
    log.info("%s of a loop", marker)
    structlog.get_logger().info(f"{marker} of structlog", box=5)
    await asyncio.to_thread(log.info, "%s of its thread", marker)


@app.task(isolate="process")
def say_isolated(marker: str) -> None:
    log.info("%s of a process", marker)
    structlog.get_logger().info(f"{marker} of structlog", box=6)


@app.task
def bind(marker: str) -> None:
    """Leaves nothing to the next task of its thread."""
    structlog.contextvars.bind_contextvars(bound_by=marker)
    structlog.get_logger().info(f"{marker} has bound")


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
