"""The bare speed of deliveries: an aiohttp client in a loop, so many requests at once.

The same body to the same receiver, the answer read to its end and its status looked at; nothing
is written down. One process, one session, as a node has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import aiohttp

from benchmarks import child
from benchmarks.measure import Sample
from benchmarks.rows import PAYLOAD_TEXT

BODY = PAYLOAD_TEXT.encode()
HEADERS = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    url: str
    deliveries: int
    at_once: int


async def measure(request: Request) -> Sample:
    """Deliveries per second, from a process of its own."""
    return await child.call(child.python("benchmarks.bare.deliver"), request, Sample)


async def measure_here(request: Request) -> Sample:
    connector = aiohttp.TCPConnector(limit=request.at_once)
    async with aiohttp.ClientSession(connector=connector) as session:
        numbers = iter(range(request.deliveries))
        started = perf_counter()
        async with asyncio.TaskGroup() as loops:
            for _ in range(request.at_once):
                loops.create_task(_deliver(session, request.url, numbers))
        seconds = perf_counter() - started
    return Sample.rate(request.deliveries, seconds, "deliveries/s")


async def _deliver(session: aiohttp.ClientSession, url: str, numbers: Iterator[int]) -> None:
    for _ in numbers:
        async with session.post(url, data=BODY, headers=HEADERS) as response:
            await response.read()
            assert response.status == 200, f"the receiver answered {response.status}"


if __name__ == "__main__":
    child.answer(Request, measure_here)
