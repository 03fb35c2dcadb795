"""How soon a node says that it lives: a process that does nothing but ask `/health/live`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from time import perf_counter, sleep

from benchmarks import child
from benchmarks.limits import PROBE_EVERY_SECONDS, PROBE_SECONDS_MAX
from benchmarks.traffic.load import host_and_port, percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    address: str  # http://host:port
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    asked: int
    unanswered: int  # or answered with something else than 200
    p99_ms: float
    longest_ms: float


async def probe(request: Request) -> Answers:
    """Ask for so long, from a process of its own."""
    return await child.call(child.python("benchmarks.traffic.prober"), request, Answers)


async def probe_here(request: Request) -> Answers:
    return await asyncio.to_thread(_ask, request)


def _ask(request: Request) -> Answers:
    connection = HTTPConnection(*host_and_port(request.address), timeout=PROBE_SECONDS_MAX)
    taken: list[float] = []
    unanswered = 0
    until = perf_counter() + request.seconds
    while (began := perf_counter()) < until:
        try:
            connection.request("GET", "/health/live")
            with connection.getresponse() as answer:
                answer.read()
                unanswered += answer.status != 200
        except (OSError, HTTPException):
            unanswered += 1
            connection.close()  # the next request opens it again
        taken.append(perf_counter() - began)
        sleep(PROBE_EVERY_SECONDS)
    connection.close()
    taken.sort()
    return Answers(
        asked=len(taken),
        unanswered=unanswered,
        p99_ms=percentile(taken, 99) * 1_000,
        longest_ms=taken[-1] * 1_000,
    )


if __name__ == "__main__":
    child.answer(Request, probe_here)
