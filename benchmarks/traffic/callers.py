"""Normal load: a few callers, each of whom submits a job, thinks for a moment, and submits again.

So the rate says how long they waited. In a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

from benchmarks import child
from benchmarks.limits import CALLERS, CALLERS_THINK_SECONDS, SIEGE_SECONDS_MAX
from benchmarks.traffic.submitter import connect

PATH, BODY = "/v1/jobs", b'{"kind":"noop"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    address: str
    headers: Mapping[str, str]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    accepted: int
    failed: int  # refused, or cut off
    seconds: float

    @property
    def per_second(self) -> float:
        return self.accepted / self.seconds


async def call(calls: Calls) -> Called:
    return await child.call(child.python("benchmarks.traffic.callers"), calls, Called)


async def call_here(calls: Calls) -> Called:
    assert 0 < calls.seconds <= SIEGE_SECONDS_MAX
    accepted = failed = 0

    async def submit() -> None:
        nonlocal accepted, failed
        while True:
            with contextlib.suppress(OSError):
                submitter = await connect(calls.address, calls.headers)
                try:
                    while True:
                        await submitter.submit(PATH, BODY)
                        accepted += 1
                        await asyncio.sleep(CALLERS_THINK_SECONDS)
                except RuntimeError:
                    pass  # refused
                finally:
                    submitter.transport.abort()
            failed += 1
            await asyncio.sleep(CALLERS_THINK_SECONDS)

    began = perf_counter()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(calls.seconds):
            await asyncio.gather(*(submit() for _ in range(CALLERS)))
    return Called(accepted=accepted, failed=failed, seconds=perf_counter() - began)


if __name__ == "__main__":
    child.answer(Calls, call_here)
