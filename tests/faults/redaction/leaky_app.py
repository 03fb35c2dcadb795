"""Tasks that hold secrets when they end badly."""

from __future__ import annotations

import logging
import os
import signal
import time
from pathlib import Path

from windlass.sdk.tasks.app import App

app = App("leaky")
log = logging.getLogger(__name__)


class Refused(Exception):
    pass


@app.task
def log_in(password: str) -> str:
    held = {"password": password}
    log.debug("logging in")
    try:
        _ask(held)
    except ValueError as trouble:
        raise Refused("the shop refused") from trouble
    return "in"


def _ask(held: dict[str, str]) -> None:
    raise ValueError(f"{len(held)} words were wrong")


@app.task(isolate="process")
def crash(password: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@app.task(isolate="process")
def wait_for(password: str, path: str) -> str:
    """Until the file is there, in a process of its own."""
    while not Path(path).exists():
        time.sleep(0.02)
    return "done"


@app.task
def sleep_on(password: str) -> None:
    while True:
        time.sleep(0.02)
