"""DBOS (PyPI): durable functions of ten steps in one process.

Its functions are async ones on uvloop, 256 at once as ours. Fewer at once, pools of 5 to 50
connections, and sync functions in its threads gave the same rate within what a round differs from
the next. Its tables stay durable, and the clock runs from the first start to the last result.

DBOS comes with the `bench` extra, not with the tools of a checkout, hence the late import.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from benchmarks import child
from benchmarks.durables import STEPS
from benchmarks.measure import Sample

CONNECTIONS, AT_ONCE = 20, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    functions: int


async def measure(
    dsn: str, *, functions: int, tell: Callable[[str], None] = print
) -> Sample | None:
    """Steps per second, from a process of its own; None when DBOS is not installed."""
    if find_spec("dbos") is None:
        tell("DBOS is left out: it is not installed (it comes with the bench extra)")
        return None
    return await child.call(
        child.python("benchmarks.peers.dbos"), Request(dsn=dsn, functions=functions), Sample
    )


async def measure_here(request: Request) -> Sample:
    dbos = import_module("dbos").DBOS
    ten = _functions(dbos)
    dbos(
        config={
            "name": "bench",
            "system_database_url": request.dsn,
            "sys_db_pool_size": CONNECTIONS,
            "log_level": "ERROR",
        }
    )
    dbos.launch()
    at_once = asyncio.Semaphore(AT_ONCE)

    async def run() -> None:
        async with at_once:
            handle = await dbos.start_workflow_async(ten)
            assert await handle.get_result() == sum(range(STEPS))

    started = perf_counter()
    await asyncio.gather(*(run() for _ in range(request.functions)))
    return Sample.rate(request.functions * STEPS, perf_counter() - started, "steps/s")


def _functions(dbos: Any) -> Any:
    async def give(number: int) -> int:
        return number

    step = dbos.step()(give)

    async def ten() -> int:
        return sum([await step(number) for number in range(STEPS)])

    return dbos.workflow()(ten)


if __name__ == "__main__":
    child.answer(Request, measure_here)
    os._exit(0)  # its threads would be waited for
