"""Jobs submitted at a steady pace, and how long after its submission each one began.

The clock of a job starts right before its request is written and stops when its task is called:
the task returns the time, which is read from the job's result afterwards. Submissions do not wait
for each other's answers; it runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from uuid import UUID

import asyncpg
import msgspec

from benchmarks import child
from benchmarks.limits import (
    CHILD_SECONDS_MAX,
    PACE_CONNECTIONS,
    PACE_PER_SECOND,
    READY_SECONDS_MAX,
)
from benchmarks.load import host_and_port, percentile, whole_length
from benchmarks.until import until

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


class Submitter(asyncio.Protocol):
    """One kept-alive connection; a submission on it waits for the answer to the one before."""

    def __init__(self, request: bytes, sent: dict[UUID, float]) -> None:
        self._request = request
        self._sent = sent
        self._received = b""
        self._sent_at = 0.0
        self._answered: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    async def submit(self) -> None:
        while self._answered is not None:
            await self._answered
        self._answered = asyncio.get_running_loop().create_future()
        self._sent_at = time.time()
        self.transport.write(self._request)
        await self._answered

    def data_received(self, data: bytes) -> None:
        self._received += data
        length = whole_length(self._received)
        if length is None or len(self._received) < length:
            return
        answer, self._received = self._received, b""
        answered, self._answered = self._answered, None
        assert answered is not None, "an answer that nobody waits for"
        if answer[9:12] == b"201":
            job = msgspec.json.decode(answer[answer.index(b"\r\n\r\n") :])
            self._sent[UUID(hex=job["id"].removeprefix("job_"))] = self._sent_at
            answered.set_result(None)
        else:
            answered.set_exception(RuntimeError(f"refused: {answer[:500]!r}"))

    def connection_lost(self, _error: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(ConnectionError("the server closed a connection"))


async def pace(order: Pace) -> Latency:
    """Submit at the pace from a process of its own."""
    return await child.call(child.python("benchmarks.pace"), order, Latency)


async def pace_here(order: Pace) -> Latency:
    sent: dict[UUID, float] = {}
    submitters = [await _connect(order, sent) for _ in range(PACE_CONNECTIONS)]
    try:
        await _submit_all(submitters, WARM_UP_JOBS)
        sent.clear()
        await _submit_all(submitters, order.jobs)
    finally:
        for submitter in submitters:
            submitter.transport.abort()
    begun = await _begun(order.dsn)
    assert len(sent) == order.jobs, f"{len(sent)} of {order.jobs} jobs were submitted"
    assert sent.keys() <= begun.keys(), "not every job succeeded"
    waits = sorted(begun[job_id] - sent_at for job_id, sent_at in sent.items())
    return Latency(
        jobs=len(waits),
        p50_ms=percentile(waits, 50) * 1_000,
        p99_ms=percentile(waits, 99) * 1_000,
        max_ms=waits[-1] * 1_000,
    )


async def _connect(order: Pace, sent: dict[UUID, float]) -> Submitter:
    host, port = host_and_port(order.address)
    headers = {"Host": f"{host}:{port}", "Content-Type": "application/json", **order.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST /v1/jobs HTTP/1.1\r\n{lines}Content-Length: {len(BODY)}\r\n\r\n"
    request = head.encode() + BODY
    _, submitter = await asyncio.get_running_loop().create_connection(
        lambda: Submitter(request, sent), host, port
    )
    return submitter


async def _submit_all(submitters: list[Submitter], count: int) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.TaskGroup() as under_way:
        for number in range(count):
            await asyncio.sleep(started + number / PACE_PER_SECOND - loop.time())
            under_way.create_task(submitters[number % len(submitters)].submit())


async def _begun(dsn: str) -> dict[UUID, float]:
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
