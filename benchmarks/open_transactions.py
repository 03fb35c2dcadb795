"""Transactions that a user leaves open: of every kind, and with a row of each table of the schema,
of all of them at once and of each by itself.

The tables are those that the catalogue names, so that a new one is among them by itself. What is
held is a row that matters if there is one (`ROWS`), else any; beside all that the load does, there
is something of everything that nobody else needs (`furnish`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import aiohttp
import asyncpg

from benchmarks import inside
from benchmarks.limits import HELD_MANY, INSISTING_CALLERS, INSISTING_THINK_SECONDS
from benchmarks.traffic.mixed import QUEUE, WORKFLOW, Callers, Refused
from benchmarks.traffic.receiver import RunningReceiver
from benchmarks.until import until
from windlass.engine.jobs import partitions
from windlass.engine.jobs.retain import retain
from windlass.store.database import Database

DAYS: Final = 14  # of retention
VICTIM: Final = "victim"
STIRRED: Final = "stirred"
SOON: Final = {"kind": "wait", "queue": VICTIM, "input": {"seconds": 1}}  # it ends meanwhile
ENQUEUE: Final = "SELECT windlass.enqueue('{}'::jsonb)"
TABLES: Final = """
SELECT relname FROM pg_class
WHERE relnamespace = 'windlass'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
ORDER BY relname
"""
# Which row to hold. What is only read on the way is held where the load reads it: its queue, its
# workflow, its node; what has to be written is held where the load does not write, the newest of
# what has just been stirred up.
ROWS: Final = {
    "counter": f"queue = '{QUEUE}'",
    "counter_delta": f"queue = '{QUEUE}'",
    "dependency": "true ORDER BY parent_id DESC",
    "event": "job_id IS NOT NULL",
    "execution": f"workflow = '{STIRRED}' ORDER BY id DESC",
    "fan": "true ORDER BY execution_id DESC",
    "fan_delta": "true ORDER BY execution_id DESC",
    "job": f"queue = '{VICTIM}' AND state = 'running' ORDER BY id DESC",
    "job_history": f"queue = '{QUEUE}'",
    "lock": f"name = '{VICTIM}'",
    "lock_hold": f"lock = '{VICTIM}'",
    "lock_wait": f"lock = '{VICTIM}'",
    "node": "state = 'active'",
    "queue": f"name = '{QUEUE}'",
    "schedule": f"name = '{VICTIM}'",
    "target": "host LIKE '127.1.0.1:%'",
    "workflow": f"name = '{WORKFLOW}'",
    "workflow_version": f"workflow = '{WORKFLOW}'",
}
WAITING: Final = {
    "name": VICTIM,
    "steps": [
        {"id": "ask", "kind": "approval", "queue": VICTIM, "input": {"title": "May it?"}},
        {"id": "hear", "kind": "signal", "queue": VICTIM, "input": {"name": "word"}},
        {
            "id": "each",
            "kind": "map",
            "queue": VICTIM,
            "items": "${[1, 2]}",
            "step": {"kind": "noop", "queue": VICTIM},
        },
        {"id": "below", "kind": "workflow", "queue": VICTIM, "input": {"workflow": "below"}},
    ],
}
BELOW: Final = {
    "name": "below",
    "steps": [{"id": "ask", "kind": "approval", "queue": VICTIM, "input": {"title": "?"}}],
}
# All of it ends by itself while its rows are held.
STIR: Final = {
    "name": STIRRED,
    "steps": [
        {"id": "first", **SOON},
        {"id": "then", "kind": "noop", "queue": VICTIM, "needs": ["first"]},
        {
            "id": "each",
            "kind": "map",
            "queue": VICTIM,
            "items": "${[1, 2]}",
            "max_parallel": 1,
            "step": SOON,
        },
    ],
    "output": {"first": "${steps.first.output}"},
}
MANY_JOBS: Final = "SELECT FROM windlass.job WHERE queue = $1 FOR UPDATE"
MANY_EXECUTIONS: Final = "SELECT FROM windlass.execution WHERE workflow = $1 FOR UPDATE"
# A day that is to be made, and days that are to be dropped.
LACKING_DAY: Final = """
DO $$ BEGIN EXECUTE format('DROP TABLE IF EXISTS windlass.%I',
    '{table}_' || to_char((now() AT TIME ZONE 'UTC')::date + 14, 'YYYYMMDD')); END $$
"""
OLD_DAYS: Final = """
SELECT windlass.make_partition($1, (now() AT TIME ZONE 'UTC')::date - 30 - n)
FROM generate_series(1, 5) n
"""
# What nodes tell each other is written only while Redis cannot carry it.
SIGNAL: Final = """
WITH told AS (
    INSERT INTO windlass.signal (id, name, until)
    VALUES (gen_random_uuid(), 'ping', now() + interval '1 day') RETURNING id
) INSERT INTO windlass.signal_target (node_id, signal_id) SELECT gen_random_uuid(), id FROM told
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Where all this happens."""

    dsn: str
    callers: Callers
    receiver: RunningReceiver
    eye: asyncpg.Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A transaction to be left open. It yields what it holds."""

    name: str
    hold: Callable[[House, float], AbstractAsyncContextManager[str]]


async def openings(eye: asyncpg.Connection, only: Sequence[str] = ()) -> list[Opening]:
    """Every kind of transaction, then every table; or those alone whose names hold one of these."""
    tables = [row["relname"] for row in await eye.fetch(TABLES)]
    found = [Opening(name=name, hold=hold) for name, hold in KINDS.items()]
    found.append(Opening(name="a row of every table", hold=partial(_rows, tables)))
    found += [Opening(name=f"a row of {table}", hold=partial(_row, table)) for table in tables]
    return [one for one in found if not only or any(name in one.name for name in only)]


async def furnish(house: House) -> None:
    """Something of everything, which only the open transactions need."""
    ask = house.callers.ask
    await ask("PUT", f"/v1/queues/{VICTIM}", {"max_jobs": 100_000})
    for definition in (BELOW, WAITING, STIR):
        await ask("POST", "/v1/workflows", definition)
    execution = await ask("POST", f"/v1/workflows/{VICTIM}/executions", {})
    await ask("POST", f"/v1/executions/{execution['id']}/signals/early", {"payload": {}})
    await ask("PUT", f"/v1/secrets/{VICTIM}", {"value": "of nobody"})
    job = {"kind": "noop", "queue": VICTIM}
    parent = await ask("POST", "/v1/jobs", {**job, "delay": "1d", "key": VICTIM})
    await ask("POST", "/v1/jobs", {**job, "depends_on": [parent["id"]]})
    for task in ("stay", "listen"):
        await ask("POST", "/v1/jobs", {**_task(task, *[10_000.0] * (task == "stay"))})
    url = house.receiver.url(VICTIM, host=0)
    await ask("POST", "/v1/jobs", {**job, "kind": "http", "input": {"url": url}})
    failing = {**job, "kind": "python", "input": {"task": "keep_open", "args": []}}
    await ask("POST", "/v1/jobs", {**failing, "retry": {"max_attempts": 2, "initial": "1d"}})
    schedule = {"name": VICTIM, "every": "1s", "job": job}
    await ask("POST", "/v1/schedules", schedule)
    await ask("PATCH", f"/v1/schedules/{VICTIM}", {"every": "2s"})
    [node] = (await ask("GET", "/v1/nodes"))["data"]
    await ask("PATCH", f"/v1/nodes/{node['id']}", {"workers": node["workers"] + 1})
    await house.eye.execute(SIGNAL)


def _task(name: str, *args: Any) -> Mapping[str, Any]:
    return {"kind": "python", "queue": VICTIM, "input": {"task": name, "args": list(args)}}


# -- one by one ----------------------------------------------------------------------------------


@asynccontextmanager
async def _row(table: str, house: House, _seconds: float) -> AsyncIterator[str]:
    await _stir(house)
    async with _transaction(house.dsn) as user:
        condition = await _hold(user, table)
        yield "it is empty" if condition is None else f"WHERE {condition}"


@asynccontextmanager
async def _rows(tables: Sequence[str], house: House, _seconds: float) -> AsyncIterator[str]:
    """More than any user would; what no single table costs may be the cost of two."""
    await _stir(house)
    async with _transaction(house.dsn) as user:
        held = [table for table in tables if await _hold(user, table) is not None]
        yield f"of {len(held)} of {len(tables)}"


async def _hold(user: asyncpg.Connection, table: str) -> str | None:
    """Which row is held now; None: there is none. What the node has in hand it has soon done."""
    for condition in (ROWS.get(table, "true"), "true"):
        hold = f"SELECT FROM windlass.{table} WHERE {condition} LIMIT 1 FOR UPDATE"
        if await user.fetch(hold):
            return condition
    return None


@asynccontextmanager
async def _with_parent(house: House, _seconds: float) -> AsyncIterator[str]:
    parent = await _running_job(house)
    async with _transaction(house.dsn) as user:
        job = {"kind": "noop", "queue": VICTIM, "depends_on": [parent]}
        await user.execute(ENQUEUE.format(json.dumps(job)))
        yield "the parent ends meanwhile"


@asynccontextmanager
async def _limited(house: House, _seconds: float) -> AsyncIterator[str]:
    async with _transaction(house.dsn) as user:
        await user.execute(ENQUEUE.format(json.dumps({"kind": "noop", "queue": VICTIM})))
        yield f"queue {VICTIM}"


@asynccontextmanager
async def _own(house: House, seconds: float) -> AsyncIterator[str]:
    """Both of the above, by a task."""
    parent = await _running_job(house)
    jobs = [
        {"kind": "noop", "queue": VICTIM, "depends_on": [parent]},
        {"kind": "noop", "queue": VICTIM},
    ]
    statements = [ENQUEUE.format(json.dumps(job)) for job in jobs]
    taken = await house.callers.ask("POST", "/v1/jobs", _task("keep_open", seconds, *statements))
    await _until_running(house, taken["id"])
    yield taken["id"]


@asynccontextmanager
async def _reader(house: House, _seconds: float) -> AsyncIterator[str]:
    async with _transaction(house.dsn, "ISOLATION LEVEL REPEATABLE READ") as user:
        counted = await user.fetchval("SELECT count(*) FROM windlass.job_history")
        yield f"{counted} rows"


@asynccontextmanager
async def _reader_of_days(house: House, _seconds: float) -> AsyncIterator[str]:
    """The same while a round of housekeeping would make days to come and drop old ones."""
    async with _housekeeping(house) as database, _reader(house, _seconds) as read:
        keeping = asyncio.create_task(retain(database, DAYS))
        try:
            yield read
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)


@asynccontextmanager
async def _housekeeping(house: House) -> AsyncIterator[Database]:
    """There is something to do of what a node does once an hour; afterwards it is done."""
    for table in partitions.TABLES:
        await house.eye.execute(LACKING_DAY.format(table=table))
        await house.eye.execute(OLD_DAYS, table)
    database = Database(house.dsn, application="windlass bench")
    await database.open()
    try:
        yield database
        await retain(database, DAYS)
    finally:
        await database.close()


@asynccontextmanager
async def _many(house: House, _seconds: float) -> AsyncIterator[str]:
    """Parents end whose children are held, and steps of held executions, among all the others."""
    ask = house.callers.ask
    for _ in range(HELD_MANY):
        await ask("POST", f"/v1/workflows/{STIRRED}/executions", {})
    made = (await ask("POST", "/v1/jobs/batch", {"jobs": [SOON] * HELD_MANY}))["ids"]
    blocked = [{"kind": "noop", "queue": VICTIM, "depends_on": [parent]} for parent in made]
    await ask("POST", "/v1/jobs/batch", {"jobs": blocked})
    async with _transaction(house.dsn) as user:
        jobs = await user.fetch(MANY_JOBS, VICTIM)
        executions = await user.fetch(MANY_EXECUTIONS, STIRRED)
        yield f"{len(jobs)} jobs and {len(executions)} executions"


@asynccontextmanager
async def insisting(house: House) -> AsyncIterator[None]:
    """Callers who need what the transactions hold, and come again whatever they are told: nobody
    else is to wait for it. They are there beside every load, with and without a transaction.
    """
    ask = house.callers.ask
    job = {"kind": "noop", "queue": VICTIM}

    async def lock() -> None:
        path = f"/v1/locks/{VICTIM}"
        held = await ask("POST", path, {"wait": "1s", "ttl": "10s"})
        await ask("DELETE", f"{path}?token={held['token']}")

    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: ask("POST", "/v1/jobs", job),
        lambda: ask("POST", "/v1/jobs", {**job, "locks": [VICTIM]}),
        lambda: ask("POST", "/v1/jobs/batch", {"jobs": [job] * 2}),
        lock,
        lambda: ask("PUT", f"/v1/queues/{VICTIM}", {"max_jobs": 100_000}),
    ]

    async def insist(call: Callable[[], Awaitable[object]]) -> None:
        while True:
            with contextlib.suppress(Refused, aiohttp.ClientError, TimeoutError):
                await call()
            await asyncio.sleep(INSISTING_THINK_SECONDS)

    tasks = [asyncio.create_task(insist(call)) for call in calls * INSISTING_CALLERS]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stir(house: House) -> None:
    """Work that nobody else needs, and that has to write rows of most tables in a moment."""
    ask = house.callers.ask
    await ask("POST", f"/v1/workflows/{STIRRED}/executions", {})
    first = await ask("POST", "/v1/jobs", {**SOON, "locks": [VICTIM]})
    await ask("POST", "/v1/jobs", {**SOON, "locks": [VICTIM]})
    await ask("POST", "/v1/jobs", {**SOON, "depends_on": [first["id"]]})
    url = house.receiver.url(VICTIM, host=0)
    await ask("POST", "/v1/jobs", {"kind": "http", "queue": VICTIM, "input": {"url": url}})
    await ask("POST", "/v1/jobs", _task("stay", 3.0))
    await _until_running(house, first["id"])


async def _running_job(house: House) -> str:
    """A job of the victim's that runs, and ends soon."""
    taken = await house.callers.ask("POST", "/v1/jobs", SOON)
    await _until_running(house, taken["id"])
    return str(taken["id"])


async def _until_running(house: House, job_id: str) -> None:
    """Or further: a busy machine may have been looking elsewhere."""

    async def is_running() -> bool:
        found = await house.callers.ask("GET", f"/v1/jobs/{job_id}")
        return bool(found["state"] not in ("queued", "blocked"))

    await until(is_running)


@asynccontextmanager
async def _transaction(dsn: str, options: str = "") -> AsyncIterator[asyncpg.Connection]:
    async with inside.connected(dsn) as connection:
        await connection.execute(f"BEGIN {options}")
        yield connection
        assert connection.is_in_transaction(), "the transaction did not last"
        await connection.execute("ROLLBACK")


KINDS: Final[dict[str, Callable[[House, float], AbstractAsyncContextManager[str]]]] = {
    "enqueue with a parent": _with_parent,
    "enqueue into a limited queue": _limited,
    "a task's own transaction": _own,
    "a reader of history": _reader,
    "a reader of history while days come and go": _reader_of_days,
    "rows of many jobs and executions": _many,
}
