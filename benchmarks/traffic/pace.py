"""Jobs submitted at a steady pace, and how long after its submission each one began.

The clock of a job starts right before its request is written and stops when its task is called:
the task returns the time, which is read from the job's result afterwards. Submissions do not wait
for each other's answers; it runs in a process of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from benchmarks import child
from benchmarks.limits import (
    CHILD_SECONDS_MAX,
    PACE_CONNECTIONS,
    PACE_PER_SECOND,
    READY_SECONDS_MAX,
)
from benchmarks.traffic.load import percentile
from benchmarks.traffic.submitter import Submitter, connect
from benchmarks.until import until

PATH = "/v1/jobs"
BODY = b'{"kind":"python","input":{"task":"now"}}'
# A second's worth comes first and is not counted: it opens connections and starts threads.
WARM_UP_JOBS = PACE_PER_SECOND
BEGUN = """
SELECT id, result::text::float8 AS begun_at FROM windlass.job_history WHERE state = 'succeeded'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    address: str  # http://host:port
    headers: Mapping[str, str]
    dsn: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    jobs: int
    p50_ms: float
    p99_ms: float
    max_ms: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        waits = sorted(seconds)
        return cls(
            jobs=len(waits),
            p50_ms=percentile(waits, 50) * 1_000,
            p99_ms=percentile(waits, 99) * 1_000,
            max_ms=waits[-1] * 1_000,
        )


async def pace(order: Pace) -> Latency:
    """Submit at the pace from a process of its own."""
    return await child.call(child.python("benchmarks.traffic.pace"), order, Latency)


async def pace_here(order: Pace) -> Latency:
    submitters = [await connect(order.address, order.headers) for _ in range(PACE_CONNECTIONS)]
    try:
        await submit_all(submitters, WARM_UP_JOBS)
        sent = await submit_all(submitters, order.jobs)
    finally:
        for submitter in submitters:
            submitter.transport.abort()
    begun = await begun_at(order.dsn)
    assert len(sent) == order.jobs, f"{len(sent)} of {order.jobs} jobs were submitted"
    assert sent.keys() <= begun.keys(), "not every job succeeded"
    return Latency.of([begun[job_id] - sent_at for job_id, sent_at in sent.items()])


async def submit_all(submitters: list[Submitter], count: int) -> dict[UUID, float]:
    """When each job was submitted."""
    sent: dict[UUID, float] = {}

    async def submit(number: int) -> None:
        sent_at, job = await submitters[number % len(submitters)].submit(PATH, BODY)
        sent[UUID(hex=job["id"].removeprefix("job_"))] = sent_at

    await steadily(submit, count, PACE_PER_SECOND)
    return sent


async def steadily(
    begin: Callable[[int], Coroutine[Any, Any, None]], count: int, per_second: float
) -> None:
    """Begin so many, each at its instant, whatever became of those before; end with the last."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.TaskGroup() as under_way:
        for number in range(count):
            await asyncio.sleep(started + number / per_second - loop.time())
            under_way.create_task(begin(number))


async def begun_at(dsn: str) -> dict[UUID, float]:
    """When each job began, once all have ended."""
    connection = await asyncpg.connect(
        dsn, timeout=READY_SECONDS_MAX, command_timeout=CHILD_SECONDS_MAX
    )
    try:

        async def have_all_ended() -> bool:
            return not await connection.fetchval("SELECT EXISTS (SELECT FROM windlass.job)")

        await until(have_all_ended)
        return {row["id"]: row["begun_at"] for row in await connection.fetch(BEGUN)}
    finally:
        await connection.close()


if __name__ == "__main__":
    child.answer(Pace, pace_here)
