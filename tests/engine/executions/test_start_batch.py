"""The door of executions: those who come together share commits, and none answers for another."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import asyncpg
import pytest

from tests.engine.hands import sql, until_sql
from tests.faults.proxy import Proxy
from tests.model.workflow.definitions import document, step
from windlass.engine.effects import Effects
from windlass.engine.executions.concurrency import hold_keys
from windlass.engine.executions.start import Start
from windlass.engine.executions.start_batch import ExecutionStarter, StartedExecution
from windlass.engine.executions.workflows import publish
from windlass.engine.jobs.request import Idempotency
from windlass.errors import IdempotencyMismatch, InvalidInput, NotFound, WindlassError
from windlass.limits import ENQUEUE_LOCK_SECONDS
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database, RowLocked

INPUTS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
async def starts(database: Database) -> ExecutionStarter:
    plain = document(step("a", "noop"), inputs=INPUTS, name="plain")
    alone = document(step("a", "noop"), name="alone", concurrency={"key": "x", "policy": "fail"})
    for one in (plain, alone):
        await publish(database, trust_definition(one), by=None)
    return ExecutionStarter(database, lambda _: None)


def mark(key: str, body: bytes = b"1") -> Idempotency:
    return Idempotency(owner="me", key=key, body_hash=body)


async def together(
    starts: ExecutionStarter, *asked: Start
) -> list[StartedExecution | BaseException]:
    return await asyncio.gather(*(starts.start(one) for one in asked), return_exceptions=True)


async def executions(database: Database) -> int:
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.execution")
    found: int = row["n"]
    return found


WAITS_FOR_A_KEY = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event = 'advisory' AND clock_timestamp() - query_start > $1 * interval '1 second'
"""


async def test_a_key_is_waited_for_until_the_commit_of_whoever_has_it(
    database: Database, starts: ExecutionStarter
) -> None:
    """However long that takes: it is no row that a user could keep."""
    async with database.side() as other, other.transaction():
        await hold_keys(other, [("alone", "x")])
        start = asyncio.create_task(starts.start(Start(workflow="alone")))
        await until_sql(database, WAITS_FOR_A_KEY, 4 * ENQUEUE_LOCK_SECONDS)
    assert not (await start).is_replayed


async def test_many_at_once_are_all_begun_in_few_commits(database: Database) -> None:
    await publish(database, trust_definition(document(step("a", "noop"), name="w")), by=None)
    told: list[Effects] = []
    starts = ExecutionStarter(database, told.append)
    found = await together(starts, *(Start(workflow="w") for _ in range(300)))
    rows = [one.row["id"] for one in found if isinstance(one, StartedExecution)]
    assert len(set(rows)) == 300 == await executions(database)
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.job")
    assert row["n"] == 300
    assert len(told) < 30
    assert sum(len(effects.due) for effects in told) == 300


async def test_starts_whose_commit_nobody_heard_of_are_found_and_not_begun_again(
    database: Database, starts: ExecutionStarter
) -> None:
    """Begun again, the one would give way to itself and the other be refused for itself."""
    concurrency = {"key": "x", "policy": "cancel_running"}
    newest = document(step("a", "noop"), name="newest", concurrency=concurrency)
    await publish(database, trust_definition(newest), by=None)
    async with Proxy(database.url, random.Random(0)) as proxy:
        cut = Database(proxy.url)
        await cut.open()
        proxy.lose_answer_to(b"COMMIT")
        asked = [Start(workflow=name) for name in ("newest", "alone")]
        found = await together(ExecutionStarter(cut, lambda _: None), *asked)
        await cut.close()
    assert proxy.cuts["after"] == 1
    assert [one.row["workflow"] for one in found if isinstance(one, StartedExecution)] == [
        "newest",
        "alone",
    ]
    rows = await sql(database, "SELECT state, cancel_requested_at FROM windlass.execution")
    assert [tuple(row) for row in rows] == [("pending", None)] * 2


async def test_a_queue_that_an_open_transaction_is_making_stops_no_other_start(
    database: Database,
) -> None:
    for queue in ("new", "default"):
        one = document(step("a", "noop", queue=queue), name=queue)
        await publish(database, trust_definition(one), by=None)
    starts = ExecutionStarter(database, lambda _: None)
    user = await asyncpg.connect(database.url)
    try:
        async with user.transaction():
            await user.execute("INSERT INTO windlass.queue (name) VALUES ('new')")
            asked = [Start(workflow=name) for _ in range(10) for name in ("new", "default")]
            found = await together(starts, *asked)
            assert all(isinstance(one, RowLocked) for one in found[::2])
            assert all(isinstance(one, StartedExecution) for one in found[1::2])
    finally:
        await user.close()
    [again] = await together(starts, Start(workflow="new"))
    assert isinstance(again, StartedExecution)


SUPERSEDES = {"key": "x", "policy": "cancel_running"}


@pytest.mark.parametrize(
    ("table", "needs"),
    [("lock", {"steps": [step("a", "noop", locks=["l"])]}), ("execution", {})],
)
async def test_what_somebody_holds_stops_only_the_starts_that_need_it(
    database: Database, table: str, needs: dict[str, Any]
) -> None:
    held = {**document(step("a", "noop"), name="held"), "concurrency": SUPERSEDES} | needs
    if table == "lock":
        del held["concurrency"]
    for one in (held, document(step("a", "noop"), name="free")):
        await publish(database, trust_definition(one), by=None)
    starts = ExecutionStarter(database, lambda _: None)
    await starts.start(Start(workflow="held"))
    user = await asyncpg.connect(database.url)
    try:
        async with user.transaction():
            await user.execute(f"SELECT FROM windlass.{table} FOR UPDATE")
            asked = [asyncio.create_task(starts.start(Start(workflow="held"))) for _ in range(8)]
            for _ in range(20):
                async with asyncio.timeout(10):
                    assert isinstance(await starts.start(Start(workflow="free")), StartedExecution)
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(one, RowLocked) for one in found)
    finally:
        await user.close()
    assert isinstance(await starts.start(Start(workflow="held")), StartedExecution)


async def test_one_that_is_refused_fails_alone(
    database: Database, starts: ExecutionStarter
) -> None:
    asked: list[tuple[Start, Any]] = [
        (Start(workflow="plain", input={"n": 1}), StartedExecution),
        (Start(workflow="plain", input={"n": "one"}), InvalidInput),
        (Start(workflow="nobody"), NotFound),
        (Start(workflow="alone"), StartedExecution),
        (Start(workflow="alone"), WindlassError),  # the first of its key still goes
        (Start(workflow="plain", input={"n": 2}), StartedExecution),
    ]
    found = await together(starts, *(start for start, _ in asked))
    for one, (_, wanted) in zip(found, asked, strict=True):
        assert isinstance(one, wanted)
    assert isinstance(found[1], InvalidInput)
    assert found[1].problems[0].pointer == "/input/n", "no place in a batch that nobody sent"
    assert await executions(database) == 3


async def test_a_repetition_in_the_same_breath_finds_the_first(
    database: Database, starts: ExecutionStarter
) -> None:
    def asked(n: int, body: bytes) -> Start:
        return Start(workflow="plain", input={"n": n}, idempotency=mark("k", body))

    first, again, other, different = await together(
        starts,
        asked(1, b"1"),
        asked(1, b"1"),
        Start(workflow="plain", input={"n": 1}, idempotency=mark("another")),
        asked(2, b"2"),
    )
    assert isinstance(first, StartedExecution)
    assert isinstance(again, StartedExecution)
    assert isinstance(other, StartedExecution)
    assert (first.is_replayed, again.is_replayed, other.is_replayed) == (False, True, False)
    assert first.row["id"] == again.row["id"] != other.row["id"]
    assert isinstance(different, IdempotencyMismatch)
    later = await starts.start(asked(1, b"1"))
    assert (later.is_replayed, later.row["id"]) == (True, first.row["id"])
    assert await executions(database) == 2
