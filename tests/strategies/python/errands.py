"""Tasks as users write them, good and bad. Isolated ones are imported by a process of their own."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from windlass.sdk.tasks.app import App

app = App("errands")
empty = App("nothing to do")
nothing_to_call = object()


@app.task
def add(a: int, b: int = 0) -> int:
    return a + b


@app.task(name="mail.send")
async def send(to: str) -> dict[str, str]:
    await asyncio.sleep(0)
    return {"sent": to}


@app.task(isolate="process")
def apart(value: Any) -> Any:
    return value


@app.task(isolate="process")
def pid() -> int:
    return os.getpid()


@app.task(isolate="process")
def write_to(path: str) -> None:
    Path(path).write_text("it was begun")


@app.task(isolate="process")
async def apart_async(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


@app.task(isolate="process")
def complain(message: str) -> None:
    raise ValueError(message)


@app.task(isolate="process")
def leave(code: int) -> None:
    sys.exit(code)


class GaveUp(BaseException):
    """As some libraries have their timeouts."""


@app.task(isolate="process")
def give_up(message: str) -> None:
    raise GaveUp(message)


@app.task(isolate="process")
def vanish(code: int) -> None:
    os._exit(code)


@app.task(isolate="process")
def segfault() -> None:
    ctypes.string_at(0)


@app.task(isolate="process")
def chatter() -> str:
    """Writes wherever one can write, and tries to read."""
    print('{"result": "1"}')
    print("x" * 100_000, flush=True)
    os.write(1, b'{"result": "2"}\n')
    subprocess.run(["echo", '{"result": "3"}'], check=True)
    heard = sys.stdin.readline()
    return f"heard {heard!r}"


@app.task(isolate="process")
def large(size: int) -> str:
    return "é" * size


@app.task(isolate="process")
def sleep_with_a_child(path: str) -> None:
    """Notes who it is and what it has started, then sleeps for ever."""
    child = subprocess.Popen(["sleep", "600"])
    Path(path).write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
    time.sleep(600)


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def hides_that_it_is_async(*args: Any) -> Any:
        return function(*args)

    return hides_that_it_is_async


@app.task
@decorated
async def in_disguise(value: str) -> str:
    await asyncio.sleep(0)
    return value


plain_tasks = {"double": lambda n: 2 * n, "_hidden": len, "not_callable": 5, 7: len, "Class": App}
