"""Map: `task.map` of ten thousand, against the batch endpoint with the very requests it sends.

The bodies are taken from a `map` whose requests go nowhere, and are sent as they are over one
kept-alive connection, each with a key of its own, under which a lost answer could be asked for
again, as `map` does. `map` checks and encodes every argument meanwhile, and makes a handle of every
id. The same without such keys, which nobody should do who means each job once, is shown.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from benchmarks import child
from benchmarks.limits import INSERT_BATCH
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.node import running
from benchmarks.rows import PAYLOAD
from benchmarks.stage import Stage
from benchmarks.tasks import keep
from benchmarks.traffic import submitter
from windlass import App
from windlass.sdk.http.transport import Request as Sent
from windlass.sdk.http.transport import Response

RATIO_MIN = 0.8
MAP, RAW = f"task.map of {INSERT_BATCH:,}", "the same requests to the batch endpoint"
BARE = "the same without an Idempotency-Key"
Way = Literal["map", "raw", "bare"]
NOTES = [PAYLOAD["note"]] * INSERT_BATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    address: str
    key: str
    batches: int
    way: Way


async def figures(stage: Stage) -> list[Figure]:
    series = await stage.interleave(
        [
            Run(name=MAP, once=lambda: measure(stage, "map")),
            Run(name=RAW, once=lambda: measure(stage, "raw")),
            Run(name=BARE, once=lambda: measure(stage, "bare")),
        ]
    )
    return [
        compare(series[MAP], series[RAW], at_least=RATIO_MIN),
        compare(series[MAP], series[BARE]),
    ]


async def measure(stage: Stage, way: Way) -> Sample:
    """Jobs per second that a node with the API alone accepts."""
    async with (
        stage.database() as dsn,
        running(dsn, stage.redis_url, roles="api") as node,
    ):
        assert node.key is not None
        return await child.call(
            child.python("benchmarks.figures.sdk.mapped"),
            Request(address=node.address, key=node.key, batches=stage.scale.batches, way=way),
            Sample,
        )


async def measure_here(request: Request) -> Sample:
    # A small one first, in both ways: it opens connections and prepares statements.
    counts = [2] + [INSERT_BATCH] * request.batches
    seconds = await (_map(request, counts) if request.way == "map" else _send(request, counts))
    return Sample.rate(sum(counts[1:]), sum(seconds[1:]), "jobs/s")


async def _map(request: Request, counts: list[int]) -> list[float]:
    app = App("benchmarks", url=request.address, token=request.key)
    task = app.task(keep)
    seconds = []
    for count in counts:
        started = perf_counter()
        handles = await asyncio.to_thread(task.map, NOTES[:count])
        seconds.append(perf_counter() - started)
        assert len(handles) == count
    return seconds


async def _send(request: Request, counts: list[int]) -> list[float]:
    bodies = [await _body_of(count) for count in counts]
    connection = await submitter.connect(
        request.address, {"Authorization": f"Bearer {request.key}"}
    )
    seconds = []
    for count, (path, body) in zip(counts, bodies, strict=True):
        key = f"Idempotency-Key: {os.urandom(16).hex()}\r\n" if request.way == "raw" else ""
        started = perf_counter()
        _, answer = await connection.submit(path, body, key)
        seconds.append(perf_counter() - started)
        assert len(answer["ids"]) == count
    connection.transport.abort()
    return seconds


async def _body_of(count: int) -> tuple[str, bytes]:
    """The path and the body of what `map` sends: one request for all."""
    app, nowhere = App("benchmarks"), _Nowhere()
    app.connect(nowhere)
    with suppress(_Taken):
        await app.task(keep).amap(NOTES[:count])
    [request] = nowhere.given
    assert request.body is not None
    return request.path, request.body


class _Taken(Exception):
    """There will be no answer."""


class _Nowhere:
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        self.given: list[Sent] = []

    async def send(self, request: Sent) -> Response:
        self.given.append(request)
        raise _Taken

    def stream(self, request: Sent) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise _Taken

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    child.answer(Request, measure_here)
