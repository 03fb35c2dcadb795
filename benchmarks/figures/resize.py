"""Resize: 8 → 0 → 8 → 1 → 4 slots, every two seconds, on a node that has more to do than it can.

It delivers to a receiver that answers at once, and every twentieth time after a tenth of a second:
the loop is never idle and a resize always finds deliveries under way. The receiver is the witness:
nothing may come twice, and a growth has taken effect when it has more at once than before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import asyncpg
import msgspec

from benchmarks import inside
from benchmarks.allowed import ENVIRONMENT
from benchmarks.limits import LATE_EVERY, RESIZE_DRAIN_SECONDS, RESIZE_EVERY_SECONDS
from benchmarks.measure import Figure, Series, worst
from benchmarks.node import RunningNode, running
from benchmarks.rows import PAYLOAD
from benchmarks.stage import Stage
from benchmarks.traffic.prober import Answers, Request, probe
from benchmarks.traffic.receiver import LATE, RunningReceiver, Seen, receiving
from benchmarks.until import until
from windlass import ids
from windlass.model.job.draft import Draft
from windlass.model.job.target import target_of

FIRST, SIZES, LAST = 8, (0, 8, 1, 4), 32
LIVE_MS_MAX, GROWTH_MS_MAX, SHRINK_SECONDS_MAX = 50.0, 100.0, RESIZE_DRAIN_SECONDS + 1.0
HOSTS = 8
ENDED = """
SELECT phase, extract(epoch FROM ended_at - created_at)::float8 AS seconds
FROM windlass.operation WHERE id = $1 AND ended_at IS NOT NULL
"""
LEFT = "SELECT EXISTS (SELECT FROM windlass.job)"
# An attempt has a record of its own only when it was not its job's last.
CAME_OF_IT = """
SELECT (SELECT count(*) FROM windlass.attempt) AS aborted,
    (SELECT count(*) FROM windlass.job_history WHERE state = 'succeeded') AS succeeded
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What was seen while the sizes were gone through."""

    live: Answers
    shrink_seconds: list[float]
    growth_ms: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    steps: Steps
    aborted: int
    lost: int
    doubled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The node's API, and an eye on the operations it carries out."""

    session: aiohttp.ClientSession
    eye: asyncpg.Connection
    path: str  # of the node

    async def resize(self, workers: int) -> float:
        """How long it took, by PostgreSQL's clock."""
        wanted = {"workers": workers, "drain_timeout": RESIZE_DRAIN_SECONDS}
        async with self.session.patch(self.path, json=wanted) as answer:
            assert answer.status == 202, f"{answer.status} {await answer.text()}"
            operation_id = ids.parse("operation", (await answer.json())["id"])
        ended: Any = None

        async def has_ended() -> bool:
            nonlocal ended
            ended = await self.eye.fetchrow(ENDED, operation_id)
            return ended is not None

        await until(has_ended)
        assert ended["phase"] == "done", f"a resize to {workers} is {ended['phase']}"
        seconds: float = ended["seconds"]
        return seconds


async def figures(stage: Stage) -> list[Figure]:
    courses = await stage.repeat("8→0→8→1→4", lambda: measure(stage), str)
    steps = [course.steps for course in courses]
    live = [one.live.p99_ms for one in steps]
    shrinks = [seconds for one in steps for seconds in one.shrink_seconds]
    growths = [ms for one in steps for ms in one.growth_ms]
    return [
        _worst("attempts aborted", "attempts", [one.aborted for one in courses], 0),
        _worst("jobs lost", "jobs", [one.lost for one in courses], 0),
        _worst("jobs doubled", "jobs", [one.doubled for one in courses], 0),
        _worst("/health/live p99", "ms", live, LIVE_MS_MAX),
        _worst(
            f"a shrink, drain timeout {RESIZE_DRAIN_SECONDS:g} s", "s", shrinks, SHRINK_SECONDS_MAX
        ),
        _worst("a growth takes effect after", "ms", growths, GROWTH_MS_MAX),
    ]


async def measure(stage: Stage) -> Course:
    jobs = stage.scale.resize_jobs
    async with stage.database() as dsn, receiving("late") as receiver:
        await inside.fill(dsn, [_job(receiver, number) for number in range(jobs)])
        settings = {**ENVIRONMENT, "WINDLASS_WORKERS": str(FIRST)}
        async with (
            running(dsn, stage.redis_url, settings=settings) as node,
            inside.connected(dsn) as eye,
            opened(node, eye) as door,
        ):
            steps = await _go_through(node, door, receiver)
            assert await eye.fetchval(LEFT), "the node ran out of work, so it was not under load"
            await door.resize(LAST)

            async def have_all_ended() -> bool:
                return not await eye.fetchval(LEFT)

            await until(have_all_ended)
            [came] = await eye.fetch(CAME_OF_IT)
        doubled = (await receiver.seen()).again
    lost = jobs - came["succeeded"]
    return Course(steps=steps, aborted=came["aborted"], lost=lost, doubled=doubled)


async def _go_through(node: RunningNode, door: Door, receiver: RunningReceiver) -> Steps:
    shrinks: list[float] = []
    asked: list[tuple[int, float]] = []  # the size before a growth, and when it was asked for
    before = FIRST
    seconds = RESIZE_EVERY_SECONDS * (1 + len(SIZES))
    async with asyncio.TaskGroup() as meanwhile:
        probing = meanwhile.create_task(probe(Request(address=node.address, seconds=seconds)))
        await asyncio.sleep(RESIZE_EVERY_SECONDS)
        for size in SIZES:
            at = time.time()
            took = await door.resize(size)
            if size < before:
                shrinks.append(took)
            else:
                asked.append((before, at))
            before = size
            await asyncio.sleep(max(0.0, at + RESIZE_EVERY_SECONDS - time.time()))
    live = probing.result()
    assert not live.unanswered, f"{live.unanswered} of {live.asked} probes were not answered"
    seen = await receiver.seen()
    growths = [_effective_ms(seen, slots, at) for slots, at in asked]
    return Steps(live=live, shrink_seconds=shrinks, growth_ms=growths)


def _effective_ms(seen: Seen, slots: int, asked_at: float) -> float:
    # With no slots a node runs one job at a time.
    effective_at = seen.first_beside(max(slots, 1), since=asked_at)
    assert effective_at is not None, f"{slots} slots never became more"
    return (effective_at - asked_at) * 1_000


@asynccontextmanager
async def opened(node: RunningNode, eye: asyncpg.Connection) -> AsyncIterator[Door]:
    node_id = ids.show("node", await eye.fetchval("SELECT id FROM windlass.node"))
    async with aiohttp.ClientSession(headers=node.headers) as session:
        yield Door(session=session, eye=eye, path=f"{node.address}/v1/nodes/{node_id}")


def _job(receiver: RunningReceiver, number: int) -> Draft:
    folder = "fast" if number % LATE_EVERY else LATE.strip("/")
    url = receiver.url(f"{folder}/{number}", host=number % HOSTS)
    text = msgspec.json.encode({"url": url, "json": PAYLOAD}).decode()
    return Draft(kind="http", input=text, target=target_of(url))


def _worst(name: str, unit: str, values: list[float] | list[int], at_most: float) -> Figure:
    series = Series(name=f"resize: {name}", unit=unit, values=tuple(map(float, values)))
    return worst(series, at_most=at_most)
