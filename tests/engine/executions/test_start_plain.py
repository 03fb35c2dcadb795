"""Plain starts: one statement, which believes PostgreSQL and not what the node remembers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.engine.hands import register, sql
from tests.faults.proxy import Proxy
from tests.model.workflow.definitions import document, step
from windlass.api.executions.view import execution_view
from windlass.engine.effects import Effects
from windlass.engine.executions.read import read_execution
from windlass.engine.executions.start import Start
from windlass.engine.executions.start_batch import ExecutionStarter, StartedExecution
from windlass.engine.executions.step_rows import StepJob
from windlass.engine.executions.workflows import delete_workflow, publish
from windlass.engine.jobs.request import Idempotency
from windlass.engine.upcalls import Reservation
from windlass.errors import IdempotencyMismatch, InvalidInput, NotFound
from windlass.limits import PLAIN_FIRST_STEPS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft
from windlass.model.row import Row
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

INPUTS = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "greeting": {"type": "string", "default": "hello"}},
    "required": ["n"],
}
SAYS = {"task": "say", "args": ["${inputs.greeting}"]}
PLAIN = document(
    step("a", "python", input=SAYS, timeout="30s", priority="high"),
    step("b", "noop", queue="other"),
    step("c", "noop", needs=["a", "b"], queue="later"),
    name="plain",
    inputs=INPUTS,
    timeout="1h",
)


class RoomyNode:
    """A node with room for everything: notes what it is to begin, and what it is in doubt of."""

    def __init__(self, node_id: UUID) -> None:
        self.node_id = node_id
        self.begun: list[Attempt] = []
        self.doubted = 0

    def park(self, drafts: Sequence[Draft]) -> list[str]:
        return []

    def parked(self) -> None: ...

    def reserve(self, drafts: Sequence[Draft]) -> Reservation | None:
        return None

    def reserve_first(self, jobs: Sequence[StepJob]) -> Reservation | None:
        count = len(jobs)
        return Reservation(
            node_id=self.node_id, claim_id=uuid4(), starts=[True] * count, slots=count
        )

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None:
        self.begun += attempts

    def doubt(self, reservation: Reservation) -> None:
        self.doubted += 1


async def published(database: Database, definition: dict[str, Any]) -> None:
    await publish(database, trust_definition(definition), by=None)


@pytest.fixture
async def starts(database: Database) -> ExecutionStarter:
    """It remembers the newest version of `plain`."""
    await published(database, PLAIN)
    starts = ExecutionStarter(database, lambda _: None)
    await starts.start(Start(workflow="plain", input={"n": 0}))
    return starts


def is_read(row: Row) -> bool:
    """Was it read from the table, as the long way does?"""
    return not isinstance(row, dict)


async def jobs_of(database: Database, row: Row) -> list[tuple[Any, ...]]:
    query = """
    SELECT step, kind, queue, priority, timeout_ms, max_attempts, retry::text, input::text,
           input_bytes, target, is_foreseen,
           correlation_id, trace_id, owner, state, attempt, parked_for
    FROM windlass.job WHERE execution_id = $1 ORDER BY step
    """
    return [tuple(job) for job in await sql(database, query, row["id"])]


async def test_a_plain_start_writes_and_shows_what_the_long_way_does(
    database: Database, starts: ExecutionStarter
) -> None:
    start: dict[str, Any] = {
        "workflow": "plain",
        "input": {"n": 1},
        "priority": 2,
        "correlation_id": "order 1",
        "trace_id": "a" * 32,
        "owner": "me",
        "tags": ("red", "blue"),
    }
    long = await ExecutionStarter(database, lambda _: None).start(Start(**start))
    plain = await starts.start(Start(**start))
    assert is_read(long.row)
    assert not is_read(plain.row)
    shown = execution_view(plain.row)
    assert shown == execution_view(await read_execution(database, plain.row["id"]))
    its_own = ("id", "created_at", "deadline", "refreshed_at")
    wanted = execution_view(long.row)
    assert shown["deadline"] is not None
    assert {k: v for k, v in shown.items() if k not in its_own} == {
        k: v for k, v in wanted.items() if k not in its_own
    }
    assert await jobs_of(database, plain.row) == await jobs_of(database, long.row)
    columns = "has_conclusion, depth, concurrency_key, root_id, begun_at IS NOT NULL"
    rows = await sql(database, f"SELECT DISTINCT {columns} FROM windlass.execution")
    assert [tuple(row) for row in rows] == [(False, 0, None, None, True)]


async def test_those_who_come_together_are_plain_together(database: Database) -> None:
    await published(database, PLAIN)
    told: list[Effects] = []
    starts = ExecutionStarter(database, told.append)
    await starts.start(Start(workflow="plain", input={"n": 0}))
    told.clear()
    asked = [starts.start(Start(workflow="plain", input={"n": n})) for n in range(300)]
    found = await asyncio.gather(*asked)
    assert not any(is_read(one.row) for one in found)
    assert len({one.row["id"] for one in found}) == 300
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.job")
    assert row["n"] == 2 * 301
    assert len(told) < 10
    assert {line for effects in told for line in effects.lines} == {("default", 2), ("other", 1)}


async def test_a_key_is_taken_with_its_execution_and_a_repetition_finds_it(
    database: Database, starts: ExecutionStarter
) -> None:
    def asked(n: int, key: str, body: bytes = b"1") -> Start:
        mark = Idempotency(owner="me", key=key, body_hash=body)
        return Start(workflow="plain", input={"n": n}, idempotency=mark)

    first, again, other, different = await asyncio.gather(
        starts.start(asked(1, "k")),
        starts.start(asked(1, "k")),
        starts.start(asked(1, "other")),
        starts.start(asked(2, "k", b"2")),
        return_exceptions=True,
    )
    assert isinstance(first, StartedExecution)
    assert isinstance(again, StartedExecution)
    assert isinstance(other, StartedExecution)
    assert isinstance(different, IdempotencyMismatch)
    assert [is_read(one.row) for one in (first, again, other)] == [False, True, False]
    assert (first.is_replayed, again.is_replayed, other.is_replayed) == (False, True, False)
    assert first.row["id"] == again.row["id"] != other.row["id"]
    later = await starts.start(asked(1, "k"))
    assert (later.is_replayed, later.row["id"]) == (True, first.row["id"])
    for table, count in (("execution", 3), ("job", 6), ("idempotency", 2)):
        [row] = await sql(database, f"SELECT count(*) AS n FROM windlass.{table}")
        assert row["n"] == count, table


async def test_a_key_that_an_open_transaction_is_taking_stops_no_start_without_one(
    database: Database, starts: ExecutionStarter
) -> None:
    mark = Idempotency(owner="me", key="k", body_hash=b"1")
    async with database.side() as other:
        transaction = other.transaction()
        await transaction.start()
        await other.execute(
            "INSERT INTO windlass.idempotency (owner, key, body_hash, job_ids)"
            " VALUES ('me', 'k', '1', ARRAY[$1::uuid])",
            uuid4(),
        )
        keyed = asyncio.create_task(
            starts.start(Start(workflow="plain", input={"n": 1}, idempotency=mark))
        )
        for n in range(5):
            assert not is_read((await starts.start(Start(workflow="plain", input={"n": n}))).row)
        assert not keyed.done()
        await transaction.rollback()
        assert not (await keyed).is_replayed


async def test_a_version_published_by_another_node_is_what_the_next_start_runs(
    database: Database, starts: ExecutionStarter
) -> None:
    await published(database, {**PLAIN, "steps": [step("z", "noop")]})
    begun = await starts.start(Start(workflow="plain", input={"n": 1}))
    assert begun.row["version"] == 2
    assert [job[0] for job in await jobs_of(database, begun.row)] == ["z"]
    again = await starts.start(Start(workflow="plain", input={"n": 1}))
    assert (again.row["version"], is_read(again.row)) == (2, False)


async def test_the_version_that_was_asked_for_is_run_when_there_is_a_newer_one(
    database: Database, starts: ExecutionStarter
) -> None:
    await published(database, {**PLAIN, "steps": [step("z", "noop")]})
    found = [
        await starts.start(Start(workflow="plain", version=1, input={"n": 1})) for _ in range(2)
    ]
    assert [one.row["version"] for one in found] == [1, 1]
    assert [is_read(one.row) for one in found] == [True, False]


async def test_an_input_that_only_the_newer_version_takes_is_not_refused(
    database: Database, starts: ExecutionStarter
) -> None:
    with pytest.raises(InvalidInput):
        await starts.start(Start(workflow="plain", input={"n": "one"}))
    await published(database, {**PLAIN, "inputs": {"type": "object"}})
    begun = await starts.start(Start(workflow="plain", input={"n": "one", "greeting": "hi"}))
    assert begun.row["version"] == 2


async def test_a_workflow_that_was_deleted_is_not_found(
    database: Database, starts: ExecutionStarter
) -> None:
    await delete_workflow(database, "plain")
    with pytest.raises(NotFound):
        await starts.start(Start(workflow="plain", input={"n": 1}))


async def test_a_queue_that_is_gone_is_made_again_before_anything_begins(
    database: Database, starts: ExecutionStarter
) -> None:
    """After a failover that lost it; of a later step, too, which would be lost without it."""
    await sql(database, "DELETE FROM windlass.queue WHERE name = 'later'")
    begun = await starts.start(Start(workflow="plain", input={"n": 1}))
    assert is_read(begun.row)
    rows = await sql(database, "SELECT FROM windlass.queue WHERE name = 'later'")
    assert len(rows) == 1


@pytest.mark.parametrize(
    "definition",
    [
        document(step("a", "noop", locks=["l"]), name="other"),
        document(step("a", "noop", condition="${inputs.n == 1}"), name="other"),
        document(step("a", "signal", input={"name": "go"}), name="other"),
        document(step("a", "transform", input={"value": 1}), name="other"),
        document(
            step("a", "python", input={"task": "t", "args": ["${execution.created_at}"]}),
            name="other",
        ),
        document(step("a", "noop"), name="other", concurrency={"key": "x"}),
        document(*(step(f"s{n}", "noop") for n in range(PLAIN_FIRST_STEPS_MAX + 1)), name="other"),
    ],
)
async def test_what_needs_more_than_an_insert_takes_the_long_way(
    database: Database, definition: dict[str, Any]
) -> None:
    await published(database, definition)
    starts = ExecutionStarter(database, lambda _: None)
    for _ in range(2):
        begun = await starts.start(Start(workflow="other", input={"n": 1}))
        assert is_read(begun.row)


async def test_first_steps_begin_as_they_are_inserted_where_there_is_room(
    database: Database,
) -> None:
    await published(database, PLAIN)
    place, told = RoomyNode(await register(database)), list[Effects]()
    starts = ExecutionStarter(database, told.append, place)
    await starts.start(Start(workflow="plain", input={"n": 1}))
    assert place.begun == []
    told.clear()
    await sql(database, "UPDATE windlass.queue SET is_paused = true WHERE name = 'other'")
    begun = await starts.start(Start(workflow="plain", input={"n": 1}, correlation_id="x"))
    [attempt] = place.begun
    assert (attempt.kind, attempt.number, attempt.priority) == ("python", 1, 2)
    assert (attempt.execution_id, attempt.correlation_id) == (begun.row["id"], "x")
    assert attempt.input == '{"task":"say","args":["hello"]}'
    jobs = await jobs_of(database, begun.row)
    assert [(job[0], job[14], job[15]) for job in jobs] == [("a", "running", 1), ("b", "queued", 0)]
    [row] = await sql(database, "SELECT * FROM windlass.job WHERE id = $1", attempt.job_id)
    assert (row["node_id"], row["claim_id"]) == (place.node_id, attempt.claim_id)
    assert [list(effects.lines) for effects in told] == [[("other", 1)]]


async def test_a_plain_start_whose_commit_nobody_heard_of_is_found_and_not_begun_again(
    database: Database,
) -> None:
    await published(database, PLAIN)
    place = RoomyNode(await register(database))
    async with Proxy(database.url, random.Random(0)) as proxy:
        cut = Database(proxy.url)
        await cut.open()
        starts = ExecutionStarter(cut, lambda _: None, place)
        for n in range(2):
            await starts.start(Start(workflow="plain", input={"n": n}))
        place.begun.clear()
        proxy.lose_answer_to(b"unheard")
        begun = await starts.start(Start(workflow="plain", input={"n": 2, "greeting": "unheard"}))
        await cut.close()
    assert proxy.cuts["after"] == 1
    assert is_read(begun.row)
    assert (place.begun, place.doubted) == ([], 1), "the node looks for what it holds"
    query = "SELECT count(*) AS n FROM windlass.job WHERE execution_id = $1 AND state = 'running'"
    [row] = await sql(database, query, begun.row["id"])
    assert row["n"] == 2
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.execution")
    assert row["n"] == 3
