"""A job's own transaction: what a task writes is committed with its job's end, or not at all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.engine.hands import (
    end,
    lapse,
    register,
    sql,
    state,
    submit_one,
    take_one,
    until_sql,
    value,
)
from tests.faults.proxy import Proxy
from tests.until import until
from tests.wipe import wipe
from windlass.engine.effects import Effects
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.rescue import recover
from windlass.errors import Cancelled, Unavailable
from windlass.limits import OWN_CONNECTIONS_MAX
from windlass.model.job import outcome as ends
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.job.settle import settle
from windlass.runtime.worker.own_transaction import OwnTransaction, commit_and_finish
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers

INSERT = "INSERT INTO public.effect VALUES ($1)"


class Story:
    """A job that runs, and the transaction that its task writes in."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.own = OwnTransaction(database, asyncio.get_running_loop())
        self.node_id = UUID(int=0)
        self.job_id = UUID(int=0)

    async def begin(self) -> None:
        async with self.database.side() as connection:
            await connection.execute("DROP TABLE IF EXISTS public.effect")
            await connection.execute("CREATE TABLE public.effect (n int4)")
        self.job_id = await submit_one(self.database)
        self.node_id = await register(self.database)
        self.attempt = await take_one(self.database, self.node_id)

    async def end(self, result: bytes | None = None) -> Effects | Failed | ends.Cancelled:
        settlement = settle(self.attempt, Succeeded(result), 0.5)
        return await commit_and_finish(self.own, self.database, settlement)

    async def effects(self) -> int:
        found: int = await value(self.database, "SELECT count(*)::int FROM public.effect")
        return found

    async def state(self) -> str:
        return await state(self.database, self.job_id)


@pytest.fixture(scope="module")
async def one_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
async def database_url(one_url: str) -> str:
    """One for all these tests, emptied before each."""
    await wipe(one_url)
    return one_url


@pytest.fixture
async def story(database: Database) -> AsyncIterator[Story]:
    made = Story(database)
    await made.begin()
    yield made
    await made.own.roll_back()


async def test_what_was_written_is_there_when_the_job_has_succeeded(story: Story) -> None:
    await story.own.execute(INSERT, 1)
    await story.own.executemany(INSERT, [[2], [3]])
    assert await story.own.fetchval("SELECT count(*) FROM public.effect") == 3
    assert [row["n"] for row in await story.own.fetch("SELECT n FROM public.effect")] == [1, 2, 3]
    assert (await story.own.fetchrow("SELECT 7 AS seven"))["seven"] == 7
    assert await story.effects() == 0
    ended = await story.end(b'{"done":true}')
    assert isinstance(ended, Effects)
    assert ended.ended == {story.job_id: "succeeded"}
    assert (await story.effects(), await story.state()) == (3, "succeeded")


async def test_a_sync_task_is_blocked_until_its_statement_is_done(story: Story) -> None:
    def task() -> Any:
        story.own.execute(INSERT, 1)
        return story.own.fetchval("SELECT count(*) FROM public.effect")

    assert await asyncio.to_thread(task) == 1
    assert isinstance(await story.end(), Effects)
    assert await story.effects() == 1


async def test_statements_of_one_task_take_turns(story: Story) -> None:
    await asyncio.gather(*(story.own.execute(INSERT, n) for n in range(20)))
    assert isinstance(await story.end(), Effects)
    assert await story.effects() == 20


async def test_when_the_fence_has_moved_on_nothing_of_it_is_there(story: Story) -> None:
    await story.own.execute(INSERT, 1)
    await lapse(story.database, story.node_id)
    await recover(story.database)
    other = await register(story.database)
    await until_sql(story.database, "SELECT count(*) FROM windlass.job WHERE state = 'queued'")
    await take_one(story.database, other)
    assert await story.end() == ends.Cancelled()  # which the fence will refuse as well
    assert (await story.effects(), await story.state()) == (0, "running")


async def test_a_job_that_was_cancelled_meanwhile_leaves_nothing(story: Story) -> None:
    await story.own.execute(INSERT, 1)
    await cancel(story.database, [story.job_id])
    assert await story.end() == ends.Cancelled()
    assert (await story.effects(), await story.state()) == (0, "running")


@pytest.mark.parametrize("word", ["COMMIT", "ROLLBACK", "COMMIT; BEGIN"])
async def test_a_task_that_ends_the_transaction_itself_has_failed_for_good(
    story: Story, word: str
) -> None:
    await story.own.execute(INSERT, 1)
    await story.own.execute(word)
    ended = await story.end()
    assert isinstance(ended, Failed)
    assert (ended.cause, ended.is_final) == ("transaction_ended", True)
    assert await story.state() == "running"


async def test_a_statement_that_fails_takes_the_whole_with_it(story: Story) -> None:
    await story.own.execute(INSERT, 1)
    with pytest.raises(asyncpg.UndefinedTableError):
        await story.own.execute("SELECT * FROM nowhere")
    ended = await story.end()
    assert isinstance(ended, Failed)
    assert "aborted" in ended.message
    assert not ended.is_final
    assert (await story.effects(), await story.state()) == (0, "running")


async def test_what_is_refused_only_at_the_commit_has_not_succeeded(story: Story) -> None:
    await story.own.execute(
        "CREATE TABLE public.strict (n int4 UNIQUE DEFERRABLE INITIALLY DEFERRED)"
    )
    await story.own.execute("INSERT INTO public.strict VALUES (1), (1)")
    ended = await story.end()
    assert isinstance(ended, Failed)
    assert "duplicate key" in ended.message
    assert await story.state() == "running"


async def test_a_queue_that_fills_before_the_commit_fails_the_attempt_and_says_so(
    story: Story,
) -> None:
    """It is tried again like after any failure; nothing is lost, and nothing is there twice."""
    enqueue = 'SELECT windlass.enqueue(\'{"kind": "noop", "queue": "narrow"}\')'
    count = "SELECT count(*)::int FROM windlass.job WHERE queue = 'narrow'"
    told: list[str] = []
    await put_queue(story.database, "narrow", QueueLimits(max_jobs=1))
    await story.own.execute(INSERT, 1)
    await story.own.execute(enqueue)
    story.own.after_commit(lambda: told.append("lost"))
    pid = await story.own.fetchval("SELECT pg_backend_pid()")
    other = await submit_one(story.database, queue="narrow")
    ended = await story.end()
    assert isinstance(ended, Failed)
    assert (ended.cause, ended.is_final) == ("queue_full", False)
    assert "queue_full: queue narrow holds" in ended.message
    assert (await story.effects(), await value(story.database, count)) == (0, 1)
    await end(story.database, story.node_id, story.attempt, ended)
    assert await story.state() == "queued"

    await cancel(story.database, [other])
    await sql(story.database, "UPDATE windlass.job SET run_at = now() WHERE id = $1", story.job_id)
    story.attempt = await take_one(story.database, story.node_id)
    story.own = OwnTransaction(story.database, asyncio.get_running_loop())
    assert await story.own.fetchval("SELECT pg_backend_pid()") == pid, "that connection is well"
    await story.own.execute(INSERT, 1)
    await story.own.execute(enqueue)
    story.own.after_commit(lambda: told.append("kept"))
    assert isinstance(await story.end(), Effects)
    assert (await story.effects(), await value(story.database, count)) == (1, 1)
    assert (await story.state(), told) == ("succeeded", ["kept"])


async def test_a_connection_that_breaks_takes_what_was_written_along(story: Story) -> None:
    await story.own.execute(INSERT, 1)
    pid = await story.own.fetchval("SELECT pg_backend_pid()")
    await value(story.database, "SELECT pg_terminate_backend($1)", pid)
    await until_sql(
        story.database,
        "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)",
        pid,
    )
    ended = await story.end()
    assert isinstance(ended, Failed)
    assert (ended.cause, ended.is_final) == ("transaction_lost", False)
    assert (await story.effects(), await story.state()) == (0, "running")


async def test_a_task_that_is_stopped_in_a_statement_lets_go_of_everything(story: Story) -> None:
    await story.own.execute(INSERT, 1)
    pid = await story.own.fetchval("SELECT pg_backend_pid()")
    thread = asyncio.create_task(asyncio.to_thread(story.own.execute, "SELECT pg_sleep(60)"))
    await until_sql(
        story.database,
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND query ~ 'pg_sleep')",
        pid,
    )
    await story.own.roll_back()
    with pytest.raises(Cancelled):
        await thread
    with pytest.raises(Cancelled):
        await story.own.execute(INSERT, 2)
    assert await story.effects() == 0
    assert not await value(
        story.database,
        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND xact_start IS NOT NULL",
        pid,
    )


async def test_what_a_task_sets_for_its_session_does_not_meet_the_next(story: Story) -> None:
    await story.own.execute("SET search_path = nowhere")
    pid = await story.own.fetchval("SELECT pg_backend_pid()")
    assert isinstance(await story.end(), Effects)
    other = OwnTransaction(story.database, asyncio.get_running_loop())
    assert await other.fetchval("SELECT pg_backend_pid()") == pid
    assert await other.fetchval("SHOW search_path") != "nowhere"
    await other.roll_back()


async def test_one_that_nobody_used_ends_as_any_other(story: Story) -> None:
    assert isinstance(await story.end(), Effects)
    assert await story.state() == "succeeded"


async def test_who_finds_all_connections_taken_waits_for_one(story: Story) -> None:
    loop = asyncio.get_running_loop()
    taken = [OwnTransaction(story.database, loop) for _ in range(OWN_CONNECTIONS_MAX)]
    await asyncio.gather(*(own.execute("SELECT 1") for own in taken))
    waiting = asyncio.ensure_future(story.own.fetchval("SELECT 7"))
    assert await taken[0].fetchval("SELECT 8") == 8
    assert not waiting.done()
    await taken[0].roll_back()
    assert await waiting == 7
    await asyncio.gather(*(own.roll_back() for own in taken))


async def lose(own: OwnTransaction, proxy: Proxy) -> None:
    """The connection is cut as it begins."""
    proxy.lose_answer_to(b"SAVEPOINT")
    with pytest.raises((Unavailable, asyncpg.PostgresConnectionError)):
        await own.execute("SELECT 1")


async def abort(own: OwnTransaction, proxy: Proxy) -> None:
    """Its job is cancelled as it begins."""
    before = proxy.held

    async def is_under_way() -> bool:
        return proxy.held > before

    proxy.hold(b"SAVEPOINT")
    asked = asyncio.ensure_future(own.execute("SELECT 1"))
    await until(is_under_way, what="it begins")
    own.abort()
    await proxy.release()
    with pytest.raises(asyncio.CancelledError):
        await asked


@pytest.mark.parametrize("befall", [lose, abort], ids=lambda f: f.__name__)
async def test_whatever_befalls_it_as_it_begins_its_connection_is_for_others(
    database: Database, befall: Callable[[OwnTransaction, Proxy], Awaitable[None]]
) -> None:
    begun: list[OwnTransaction] = []  # nobody else is to clear them away
    loop = asyncio.get_running_loop()
    async with Proxy(database.url, random.Random(0)) as proxy:
        cut = Database(proxy.url)
        await cut.open()
        for _ in range(OWN_CONNECTIONS_MAX):
            begun.append(OwnTransaction(cut, loop))
            await befall(begun[-1], proxy)
            await begun[-1].roll_back()
        last = OwnTransaction(cut, loop)
        async with asyncio.timeout(30):
            assert await last.fetchval("SELECT 1") == 1
        await last.roll_back()
        await cut.close()
