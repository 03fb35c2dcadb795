"""The finisher's lane: one settlement that cannot be applied keeps no other from being applied."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from tests.engine.executions.flow import Flow
from tests.engine.executions.flow import noop as step
from tests.engine.hands import (
    noop,
    register,
    row,
    sql,
    state,
    states,
    submit,
    take,
    until_sql,
    value,
)
from tests.until import until
from tests.wipe import wipe
from windlass import ids
from windlass.engine.announce import Announcer
from windlass.engine.cache.registry import Caches, scope_of
from windlass.engine.executions.definitions import Definitions
from windlass.engine.executions.facts import ExecutionFacts
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.workflows import publish
from windlass.engine.follow import Follower
from windlass.engine.jobs.cancel import cancel
from windlass.errors import Unavailable
from windlass.fastlane.lane import FastLane
from windlass.limits import FINISH_GATHER, SETTLE_TRIES
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.job.settle import settle
from windlass.model.workflow.read import trust_definition
from windlass.runtime.worker.finisher import Finisher
from windlass.runtime.worker.own_transaction import OwnTransaction
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics
from windlass.testing.servers import PrivateServers

BURIED = "windlass_finish_buried_total"
ASIDE = "windlass_finish_aside"


class Node:
    """What finishes the attempts of a node that exists only as a row."""

    def __init__(self, database: Database, node_id: UUID, scope: bytes) -> None:
        lane = FastLane(None)
        announcer = Announcer(lane)
        caches = Caches(lane, announcer, scope)
        facts = ExecutionFacts(database, caches, Definitions(database, caches))
        follower = Follower(database, announcer)
        self.metrics = Metrics()
        self.node_id = node_id
        self.finisher = Finisher(database, follower, facts, self.metrics, node_id)

    def succeed(self, attempts: Sequence[Attempt], result: bytes | None = None) -> None:
        for attempt in attempts:
            self.finisher.put(settle(attempt, Succeeded(result), 0.5))

    async def quiet(self) -> None:
        async with asyncio.timeout(60):
            await self.finisher.quiet()
        assert self.finisher.unsettled == 0

    async def until_unsettled(self, count: int) -> None:
        """What is committed is settled here when the answer has come."""

        async def is_so() -> bool:
            return self.finisher.unsettled == count

        await until(is_so, what=f"{count} are unsettled")

    def counted(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(name)


@pytest.fixture(scope="module")
async def finisher_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
async def database(finisher_url: str) -> AsyncIterator[Database]:
    await wipe(finisher_url)
    opened = Database(finisher_url, application="windlass test")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def node(database: Database) -> AsyncIterator[Node]:
    made = Node(database, await register(database), await scope_of(database))
    yield made
    made.finisher.abandon()


@asynccontextmanager
async def open_transaction(database: Database, query: str, *args: Any) -> AsyncIterator[None]:
    """Somebody who has done this and not committed yet."""
    async with database.side() as connection, connection.transaction():
        await connection.fetch(query, *args)
        yield


def child_of(job_id: UUID) -> str:
    return json.dumps({"kind": "noop", "depends_on": [ids.show("job", job_id)]})


# So many who each waited for a quarter of a second, on all connections, would take 25 seconds.
ASKING = 400
ENQUEUE = "SELECT windlass.enqueue($1::text::jsonb)"
ENDED = "SELECT count(*) = $2 FROM windlass.job_history WHERE id = ANY ($1)"


async def test_a_parent_that_an_open_transaction_holds_keeps_nobody_else_from_ending(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 200)
    attempts = await take(database, node.node_id)
    parent, others = made[70], [job for job in made if job != made[70]]
    async with open_transaction(database, ENQUEUE, child_of(parent)):
        node.succeed(attempts)
        await until_sql(database, ENDED, others, len(others), seconds=25)
        later = await submit(database, *[noop()] * 200)
        node.succeed(await take(database, node.node_id))
        await until_sql(database, ENDED, later, len(later), seconds=25)
        assert await state(database, parent) == "running"
        await node.until_unsettled(1)
        assert node.counted(ASIDE) == 1
    await node.quiet()
    assert await state(database, parent) == "succeeded"
    [child] = await sql(database, "SELECT state, waits_for FROM windlass.job")
    assert tuple(child) == ("queued", 0), "and the child that was born meanwhile is told"
    assert node.counted(BURIED) == 0


async def test_who_is_not_held_ends_also_where_nobody_can_look_who_is(
    database: Database, node: Node
) -> None:
    """A look at who is held reads tables that plain jobs have no part in, and may be too slow."""
    made = await submit(database, *[noop()] * 40)
    attempts = await take(database, node.node_id)
    held, others = made[7], [job for job in made if job != made[7]]
    async with (
        open_transaction(database, "SELECT FROM windlass.job WHERE id = $1 FOR UPDATE", held),
        open_transaction(database, "LOCK TABLE windlass.fan IN ACCESS EXCLUSIVE MODE"),
    ):
        node.succeed(attempts)
        await until_sql(database, ENDED, others, len(others), seconds=60)
        assert await state(database, held) == "running"
    await node.quiet()
    assert await state(database, held) == "succeeded"


async def test_what_waits_for_rows_uses_one_connection_however_many_wait(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 60)
    attempts = await take(database, node.node_id)
    parents = "SELECT FROM windlass.job WHERE id = ANY ($1) FOR UPDATE"
    async with open_transaction(database, parents, made[::2]):
        node.succeed(attempts)
        await until_sql(database, ENDED, made[1::2], 30, seconds=25)
        waiting = await value(
            database,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name LIKE '%settling' AND state <> 'idle'",
        )
        assert waiting <= 1
        await node.until_unsettled(30)
        assert node.counted(ASIDE) == 30
    await node.quiet()
    assert set(await states(database, made)) == {"succeeded"}


async def test_a_task_that_holds_a_parent_in_its_own_transaction_keeps_nobody_from_ending(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 40)
    attempts = await take(database, node.node_id)
    own = OwnTransaction(database, asyncio.get_running_loop())
    await own.execute(ENQUEUE, child_of(made[3]))
    others = [job for job in made if job != made[3]]
    node.succeed(attempts)
    await until_sql(database, ENDED, others, len(others), seconds=25)
    await own.roll_back()
    await node.quiet()
    assert await state(database, made[3]) == "succeeded"


async def test_a_held_child_keeps_only_its_parent_from_ending(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 40)
    [child] = await submit(database, noop(depends_on=(made[5],)))
    attempts = await take(database, node.node_id)
    others = [job for job in made if job != made[5]]
    held = "SELECT FROM windlass.job WHERE id = $1 FOR UPDATE"
    async with open_transaction(database, held, child):
        node.succeed(attempts)
        await until_sql(database, ENDED, others, len(others), seconds=25)
        assert await state(database, child) == "blocked"
    await node.quiet()
    assert await states(database, [made[5], child]) == ["succeeded", "queued"]


async def test_however_many_children_are_held_the_other_parents_end(
    database: Database, node: Node
) -> None:
    """Those whose children are held come first, so that whoever tries them in turn has no end."""
    made = await submit(database, *[noop()] * 200)
    children = await submit(database, *[noop(depends_on=(parent,)) for parent in made])
    attempts = await take(database, node.node_id)
    held = "SELECT FROM windlass.job WHERE id = ANY ($1) FOR UPDATE"
    async with open_transaction(database, held, children[:100]):
        node.succeed(attempts)
        await until_sql(database, ENDED, made[100:], 100, seconds=25)
        assert set(await states(database, children[100:])) == {"queued"}
        assert set(await states(database, made[:100])) == {"running"}
    await node.quiet()
    assert set(await states(database, children)) == {"queued"}


async def test_however_many_executions_are_held_the_others_go_on(
    database: Database, node: Node
) -> None:
    joined = [step("a"), step("b"), step("c", "a", "b")]
    flows = [await Flow.start(database, joined) for _ in range(60)]
    held, free = [[flow.execution_id for flow in some] for some in (flows[:30], flows[30:])]
    attempts = await take(database, node.node_id)
    hold = "SELECT FROM windlass.execution WHERE id = ANY ($1) FOR UPDATE"
    joins = "SELECT count(*) = 30 FROM windlass.job WHERE step = 'c' AND execution_id = ANY ($1)"
    async with open_transaction(database, hold, held):
        node.succeed(attempts)
        await until_sql(database, joins, free, seconds=25)
    await node.quiet()
    assert await value(database, joins, held)


async def test_what_somebody_holds_that_no_end_is_known_to_need_keeps_the_others_for_a_while_only(
    database: Database, node: Node
) -> None:
    """Halves have their turn one after the other: none stands behind the first for ever."""
    made = await submit(database, *[noop()] * 64)
    attempts = await take(database, node.node_id)
    await sql(
        database,
        """CREATE FUNCTION windlass.stumble() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN PERFORM FROM windlass.queue q WHERE q.name = NEW.result #>> '{}' FOR UPDATE;
           RETURN NEW; END $$""",
    )
    await sql(
        database,
        """CREATE TRIGGER stumble AFTER INSERT ON windlass.job_history
           FOR EACH ROW EXECUTE FUNCTION windlass.stumble()""",
    )
    try:
        hold = "SELECT FROM windlass.queue WHERE name = 'default' FOR UPDATE"
        async with open_transaction(database, hold):
            node.succeed(attempts[:32], b'"default"')
            node.succeed(attempts[32:])
            await until_sql(database, ENDED, made[32:], 32, seconds=25)
            assert set(await states(database, made[:32])) == {"running"}
        await node.quiet()
    finally:
        await sql(database, "DROP FUNCTION windlass.stumble() CASCADE")
    assert set(await states(database, made)) == {"succeeded"}


async def test_a_held_execution_keeps_only_its_own_steps_from_ending(
    database: Database, node: Node
) -> None:
    joined = [step("a"), step("b"), step("c", "a", "b")]
    first = await Flow.start(database, joined)
    second = await Flow.start(database, joined)
    attempts = await take(database, node.node_id)
    held = "SELECT FROM windlass.execution WHERE id = $1 FOR UPDATE"
    async with open_transaction(database, held, first.execution_id):
        node.succeed(attempts)
        fact = "SELECT count(*) FROM windlass.job WHERE execution_id = $1 AND step = 'c'"
        await until_sql(database, fact, second.execution_id, seconds=25)
        assert (await first.states()).get("c") is None
    await node.quiet()
    assert (await first.states())["c"] == "queued"


async def test_rows_of_any_table_that_somebody_holds_keep_no_unrelated_job_from_ending(
    database: Database, node: Node
) -> None:
    await submit(database, noop(queue="theirs"), noop(queue="theirs", key="k", tags=("t",)))
    flow = await Flow.start(database, [step("a"), step("b", "a")])
    tables = await sql(
        database,
        "SELECT relname FROM pg_class WHERE relnamespace = 'windlass'::regnamespace "
        "AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname",
    )
    async with database.side() as holder, holder.transaction():
        held = 0
        for table in tables:
            rows = await holder.fetch(f'SELECT FROM windlass."{table["relname"]}" FOR UPDATE')
            held += len(rows)
        assert held > 5
        made = await submit(database, *[noop(queue="ours")] * 30)
        attempts = await take(database, node.node_id)
        assert len(attempts) == 30, "what is held is left to whoever holds it"
        node.succeed(attempts)
        await until_sql(database, ENDED, made, 30, seconds=25)
    assert (await flow.states()) == {"a": "queued"}


async def test_however_many_ask_to_cancel_what_is_held_others_end_and_are_cancelled(
    database: Database, node: Node
) -> None:
    held, other, *made = await submit(database, noop(), noop(delay_seconds=3600), *[noop()] * 30)
    attempts = await take(database, node.node_id)
    hold = "SELECT FROM windlass.job WHERE id = $1 FOR UPDATE"

    async def ask_for_ever() -> None:
        while True:
            with contextlib.suppress(Unavailable):
                await cancel(database, [held])

    async with open_transaction(database, hold, held):
        asking = [asyncio.create_task(ask_for_ever()) for _ in range(ASKING)]
        try:
            node.succeed([attempt for attempt in attempts if attempt.job_id != held])
            await until_sql(database, ENDED, made, 30, seconds=20)
            async with asyncio.timeout(60):
                while await state(database, other) != "cancelled":
                    with contextlib.suppress(Unavailable):  # told to come again: one line for all
                        await cancel(database, [other])
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)


async def test_a_result_that_nobody_can_work_with_ends_its_own_step_and_harms_no_other(
    database: Database, node: Node
) -> None:
    flows = [
        await Flow.start(database, [step("a"), step("b", "a", input={"of": "${steps.a.output}"})])
        for _ in range(12)
    ]
    attempts = await take(database, node.node_id)
    bad = attempts[4]
    for attempt in attempts:
        result = b"1e999" if attempt is bad else b"1"  # which PostgreSQL takes for JSON
        node.finisher.put(settle(attempt, Succeeded(result), 0.5))
    await node.quiet()
    job = await row(database, bad.job_id)
    error = json.loads(job["error"])
    assert (job["state"], error["cause"]) == ("dead", "unsettled")
    assert "it ended as succeeded" in error["message"]
    assert "Number out of range" in error["message"]
    assert node.counted(BURIED) == 1
    for flow in flows:
        is_bad = flow.execution_id == bad.execution_id
        expected = {"a": "dead", "b": "skipped"} if is_bad else {"a": "succeeded", "b": "queued"}
        assert await flow.states() == expected
    attempts_on_record = "SELECT count(*) FROM windlass.event WHERE type = 'released'"
    assert await value(database, attempts_on_record) == 0


async def test_what_trips_for_a_while_is_applied_as_it_was(database: Database, node: Node) -> None:
    made = await submit(database, *[noop()] * 20)
    attempts = await take(database, node.node_id)
    await sql(database, "ALTER TABLE windlass.job_history RENAME COLUMN cause TO causes")
    try:
        node.succeed(attempts[:-1], b"7")
        node.finisher.put(settle(attempts[-1], Failed("x", "x", is_final=True), 0.5))
        await until(lambda: _has_tripped(node), what="it trips", within_seconds=30)
    finally:
        await sql(database, "ALTER TABLE windlass.job_history RENAME COLUMN causes TO cause")
    await node.quiet()
    ended = await states(database, [attempt.job_id for attempt in attempts])
    assert ended == ["succeeded"] * 19 + ["dead"]
    assert (await row(database, made[0]))["result"] == "7"
    assert node.counted(BURIED) == 0


def _has_tripped(node: Node) -> bool:
    return any(one.tries > SETTLE_TRIES for one in node.finisher._stuck._waiting.values())


async def _turned_away(database: Database) -> None:
    while True:
        try:
            await database.settle("database_ping")
        except Unavailable as trouble:
            if "takes no connection" in str(trouble):
                return


async def test_a_batch_that_ends_while_logins_are_refused_is_kept(
    database: Database, node: Node, servers: PrivateServers
) -> None:
    made = await submit(database, *[noop()] * 50)
    attempts = await take(database, node.node_id)
    name = await value(database, "SELECT current_database()")
    admin = Database(servers.postgres.url("postgres"))
    await admin.open()
    try:
        await sql(admin, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1"
        await sql(admin, cut, name)
        node.succeed(attempts)
        await _turned_away(database)
        assert node.finisher.unsettled == 50
        await sql(admin, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    finally:
        await admin.close()
    await node.quiet()
    assert set(await states(database, made)) == {"succeeded"}
    assert node.counted(BURIED) == 0


async def test_a_node_that_lost_its_lease_forgets_what_was_set_aside(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 2)
    attempts = await take(database, node.node_id)
    held = "SELECT FROM windlass.job WHERE id = $1 FOR UPDATE"
    async with open_transaction(database, held, made[0]):
        node.succeed(attempts)
        await until_sql(database, ENDED, made[1:], 1, seconds=25)
        node.finisher.abandon()
        assert node.finisher.unsettled == 0
        await node.quiet()
    assert await state(database, made[0]) == "running"


async def test_a_cancellation_that_nobody_asked_for_loses_no_settlement(
    database: Database, node: Node
) -> None:
    made = await submit(database, *[noop()] * 20)
    attempts = await take(database, node.node_id)
    async with open_transaction(database, "LOCK TABLE windlass.job IN SHARE MODE"):
        node.succeed(attempts)
        [finishing] = [task for task in asyncio.all_tasks() if task.get_name() == "finisher"]
        while not node.finisher._committing:  # noqa: ASYNC110 (nobody is told)
            await asyncio.sleep(0)
        finishing.cancel()
        await asyncio.wait([finishing])
    await node.quiet()
    assert await states(database, made) == ["succeeded"] * 20


async def test_steps_that_end_by_hundreds_are_committed_by_two_batches_at_once(
    database: Database, node: Node
) -> None:
    """While PostgreSQL works for one, the node decides what follows another."""
    read = trust_definition({"name": "many", "steps": [step("a"), step("b", "a")]})
    await publish(database, read, by=None)
    starts = [Start(workflow="many") for _ in range(2 * FINISH_GATHER)]
    await start_many(database, starts)
    attempts = await take(database, node.node_id, len(starts))
    first, second = attempts[:FINISH_GATHER], attempts[FINISH_GATHER:]
    async with open_transaction(database, "LOCK TABLE windlass.job IN SHARE MODE"):
        node.succeed(first)
        await until(lambda: len(node.finisher._committing) == 1, what="one is under way")
        node.succeed(second)
        await until(lambda: len(node.finisher._committing) == 2, what="and another one")
        assert node.finisher.unsettled == len(attempts)
        assert node.finisher.fences == {attempt.fence for attempt in attempts}
    await node.quiet()
    ended = "SELECT count(*) FROM windlass.job_history WHERE step = 'a' AND state = 'succeeded'"
    assert await value(database, ended) == len(attempts)
    assert await value(database, "SELECT count(*) FROM windlass.job WHERE step = 'b'") == len(
        starts
    )
