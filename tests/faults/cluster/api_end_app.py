"""The tasks of `app`, and one that ends its node's API from within, as a fault in that would."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.faults.app import app

__all__ = ["app"]


@app.task
def end_api(_marker: str, how: str) -> None:
    every = list(vars(asyncio.tasks)["_all_tasks"])  # of whichever loop
    [task] = [one for one in every if one.get_name() == "api"]
    server: Any = task.get_coro().cr_frame.f_locals["self"]
    match how:
        case "returns":
            server.should_exit = True
        case "raises":
            server.on_tick = _broken
        case _:
            task.get_loop().call_soon_threadsafe(task.cancel)


async def _broken(_counter: int) -> bool:
    raise RuntimeError("the tick of the server broke")
