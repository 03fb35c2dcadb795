"""The engine by hand: nodes without processes, claims and ends on demand, and the true counts.

A test says what happens and when; nothing here runs by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID, uuid4

from tests.as_node_role import by_hand
from tests.until import until
from windlass.engine.jobs.admission import QueueDefaults
from windlass.engine.jobs.claim import Frontier, claim, peek
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.engine.jobs.finish import Settled, finish
from windlass.engine.jobs.request import Accepted
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Outcome, Succeeded
from windlass.model.job.settle import settle
from windlass.model.job.states import STATES
from windlass.store.database import Database, Record, RowLocked

T = TypeVar("T")


def noop(**fields: Any) -> Draft:
    return Draft(kind="noop", **fields)


def door(database: Database, **limits: int) -> Enqueuer:
    return Enqueuer(database, queue_defaults=QueueDefaults(**limits), follow=lambda _: None)


async def submit(database: Database, *drafts: Draft) -> list[UUID]:
    """Accept these together, or one plain noop."""
    return (await door(database).submit_batch(drafts or [noop()])).job_ids


async def submit_one(database: Database, **fields: Any) -> UUID:
    return (await submit(database, noop(**fields)))[0]


def ids_in(answers: Iterable[Accepted | BaseException]) -> set[UUID]:
    return {i for answer in answers if isinstance(answer, Accepted) for i in answer.job_ids}


async def register(database: Database, lease_seconds: float = 60.0) -> UUID:
    """A node of which nothing exists but its row."""
    node_id = uuid4()
    roles, version = ["worker"], "0"
    await database.run(
        "node_register", node_id, "test", "test", 1, version, roles, 1, lease_seconds, None, []
    )
    return node_id


async def lapse(database: Database, *node_ids: UUID) -> None:
    """The nodes have been silent for too long."""
    await sql(
        database,
        "UPDATE windlass.node SET lease_until = now() - interval '1 second' WHERE id = ANY ($1)",
        list(node_ids),
    )


async def take(database: Database, node_id: UUID, most: int = 500) -> list[Attempt]:
    """Claim what is due, from queues with and without limits, as a node would on its first look."""
    frontier = Frontier()
    await peek(database, frontier)
    return await claim(database, node_id, frontier, most)


async def take_one(database: Database, node_id: UUID) -> Attempt:
    [attempt] = await take(database, node_id, 1)
    return attempt


async def end(
    database: Database,
    node_id: UUID,
    attempts: Attempt | Sequence[Attempt],
    outcome: Outcome | None = None,
) -> Settled:
    """Settle the attempts, all by one outcome: success unless told otherwise."""
    batch = [attempts] if isinstance(attempts, Attempt) else attempts
    how = outcome or Succeeded()
    settlements = [settle(attempt, how, 0.5) for attempt in batch]
    return await patiently(lambda: finish(database, node_id, settlements))


async def patiently(call: Callable[[], Awaitable[T]], seconds: float = 60.0) -> T:
    """Call again for as long as somebody holds what it needs, as a node would. Where many want the
    same row at once on a busy machine, one of them may wait for longer than PostgreSQL lets it.
    """
    async with asyncio.timeout(seconds):
        while True:
            try:
                return await call()
            except RowLocked:
                await asyncio.sleep(0.01)


async def run_all(database: Database) -> None:
    """Run whatever is due until nothing is."""
    node = await register(database)
    while attempts := await take(database, node):
        await end(database, node, attempts)


async def sql(database: Database, statement: str, *args: Any) -> list[Record]:
    async with by_hand(database) as connection:
        rows: list[Record] = await connection.fetch(statement, *args)
        return rows


async def value(database: Database, statement: str, *args: Any) -> Any:
    async with by_hand(database) as connection:
        return await connection.fetchval(statement, *args)


async def until_sql(database: Database, fact: str, *args: Any, seconds: float = 10.0) -> Any:
    """Wait for a query to answer something that is true; returns that."""
    return await until(
        lambda: value(database, fact, *args), what=fact, within_seconds=seconds, poll_seconds=0.005
    )


async def row(database: Database, job_id: UUID) -> Record:
    [found] = await database.read("job_get_many", [job_id])
    return found


async def states(database: Database, job_ids: Sequence[UUID]) -> list[str]:
    """Where the jobs are, in the order asked for. Fails when one is nowhere or in two tables."""
    rows = await database.read("job_get_many", list(job_ids))
    assert len(rows) == len(set(job_ids)), "every job is in exactly one table"
    found = {one["id"]: one["state"] for one in rows}
    return [found[job_id] for job_id in job_ids]


async def state(database: Database, job_id: UUID) -> str:
    return (await states(database, [job_id]))[0]


async def counted(database: Database) -> dict[str, dict[str, int]]:
    """What the counters say: of each queue the states that are not zero, and the bytes."""
    return _without_zeros(await database.read("counter_read"))


async def true_counts(database: Database) -> dict[str, dict[str, int]]:
    """The same, counted row by row."""
    sums = ", ".join(f"count(*) FILTER (WHERE state = '{name}') AS {name}" for name in STATES)
    return _without_zeros(
        await sql(
            database,
            f"""SELECT queue, {sums}, sum(bytes) AS bytes FROM (
                    SELECT queue, state, input_bytes AS bytes FROM windlass.job
                    UNION ALL SELECT queue, state, 0 FROM windlass.job_history) every
                GROUP BY queue""",
        )
    )


def _without_zeros(rows: list[Record]) -> dict[str, dict[str, int]]:
    counts = {r["queue"]: {n: c for n, c in r.items() if n != "queue" and c} for r in rows}
    return {queue: states for queue, states in counts.items() if states}


@asynccontextmanager
async def several(url: str, count: int) -> AsyncIterator[list[Database]]:
    """As many pools as there would be processes."""
    async with AsyncExitStack() as stack:
        opened = []
        for n in range(count):
            database = Database(url, application=f"windlass test {n}")
            stack.push_async_callback(database.close)
            await database.open()
            opened.append(database)
        yield opened
