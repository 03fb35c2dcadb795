"""What PostgreSQL's failures become: a refusal, a later, an unknown; never a raw driver error."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from tests.engine.hands import noop, register, sql, submit, submit_one, until_sql, value
from windlass.errors import Unavailable
from windlass.limits import ASKED_LOCK_SECONDS, ASKED_REST_SECONDS
from windlass.store import database as database_module
from windlass.store.database import (
    Connection,
    Database,
    Record,
    Refused,
    RowLocked,
    TooSlow,
    Unknown,
)
from windlass.testing.servers import PrivateServers


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(Unavailable, match="PostgreSQL does not answer"):
        await database.open()
    await database.close()


async def test_a_database_that_is_not_there_is_unavailable(servers: PrivateServers) -> None:
    database = Database(servers.postgres.url("nowhere"))
    with pytest.raises(Unavailable, match='refuses the connection: database "nowhere"'):
        await database.open()
    await database.close()


@pytest.mark.parametrize(
    ("refuse", "admit"),
    [
        ("ALTER ROLE guest NOLOGIN", "ALTER ROLE guest LOGIN"),
        ("ALTER ROLE guest CONNECTION LIMIT 0", "ALTER ROLE guest CONNECTION LIMIT -1"),
        (
            'REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC',
            'GRANT CONNECT ON DATABASE "{name}" TO PUBLIC',
        ),
    ],
)
async def test_a_login_that_is_refused_for_a_while_means_later_not_no(
    servers: PrivateServers, database: Database, refuse: str, admit: str
) -> None:
    name = await value(database, "SELECT current_database()")
    admin = Database(servers.admin_url(database.url))
    await admin.open()
    await sql(admin, "DROP ROLE IF EXISTS guest")
    await sql(admin, "CREATE ROLE guest LOGIN PASSWORD 'of-the-guest'")
    own = f"//windlass:{servers.postgres.password.known()}@"
    guest = Database(database.url.replace(own, "//guest:of-the-guest@"))
    await guest.open()
    try:
        assert len(await guest.run("database_ping")) == 1
        await sql(admin, refuse.format(name=name))
        gone = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = $1"
        await sql(admin, gone, "guest")
        with pytest.raises(Unavailable):  # it may find first that it was cut off
            await guest.run("database_ping")
        with pytest.raises(Unavailable) as raised:
            await guest.run("database_ping")
        assert not isinstance(raised.value, Unknown), "nothing was asked, so nothing was done"
        await sql(admin, admit.format(name=name))
        assert len(await guest.run("database_ping")) == 1
    finally:
        await guest.close()
        await admin.close()


async def test_a_statement_whose_result_a_migration_changed_is_prepared_again(
    database: Database,
) -> None:
    await sql(database, "CREATE TABLE windlass.passing (a int)")
    query = "SELECT * FROM windlass.passing"

    async def work(connection: Connection[Record]) -> list[Record]:
        return await connection.fetch(query)

    try:
        for _ in range(4):
            await database.together(work)
        await sql(database, "ALTER TABLE windlass.passing ADD COLUMN b int")
        assert await database.together(work) == []
    finally:
        await sql(database, "DROP TABLE windlass.passing")


@pytest.mark.parametrize("text", ["NUL \x00", "half \ud800"])
async def test_a_value_that_cannot_be_stored_is_refused(database: Database, text: str) -> None:
    with pytest.raises(Refused, match="cannot take a value") as refused:
        await database.run("queue_ensure_many", [text], None)
    assert text.partition(" ")[0] not in str(refused.value)


async def test_a_row_that_may_not_be_is_refused_and_changes_nothing(database: Database) -> None:
    with pytest.raises(Refused, match="check constraint") as refused:
        await database.run("queue_ensure_many", ["fine", "x" * 129], None)
    assert "x" * 129 not in str(refused.value)
    assert await sql(database, "SELECT FROM windlass.queue") == []


async def test_a_statement_that_takes_too_long_is_stopped_and_its_fate_unknown(
    database: Database,
) -> None:
    async def slow(connection: Connection[Record]) -> None:
        await connection.execute("SET LOCAL statement_timeout = '20ms'")
        await connection.execute("SELECT pg_sleep(30)")

    async with asyncio.timeout(5):
        with pytest.raises(Unknown, match="statement timeout"):
            await database.together(slow)
    assert await value(database, "SELECT 1") == 1


async def test_postgresql_says_that_a_statement_took_too_long_before_our_own_clock_does(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By our own clock nothing is known of it, and a batch that is too much is tried for ever."""
    usual = Database._pool.__kwdefaults__ or {}
    monkeypatch.setitem(usual, "call_seconds", 0.2)
    bounded = {**database_module._SETTLING_SETTINGS, "statement_timeout": "200"}
    monkeypatch.setattr(database_module, "_SETTLING_SETTINGS", bounded)
    database = Database(database_url)
    await database.open()
    try:
        for _ in range(10):
            with pytest.raises(TooSlow):
                async with database.settling() as connection:
                    await connection.fetch("SELECT pg_sleep(30)")
    finally:
        await database.close()


async def test_both_pools_bound_every_statement(database: Database) -> None:
    async with database.hot() as hot, database.side() as side:
        for connection in (hot, side):
            assert await connection.fetchval("SHOW statement_timeout") == "30s"
            assert await connection.fetchval("SHOW idle_in_transaction_session_timeout") == "1min"


async def test_a_lock_that_is_not_to_be_had_means_later_not_no(database: Database) -> None:
    job_id = await submit_one(database)

    async def impatient(connection: Connection[Record]) -> None:
        await connection.execute("SET LOCAL lock_timeout = '20ms'")
        await connection.execute("UPDATE windlass.job SET tags = '{a}'")

    async with database.side() as holder, holder.transaction():
        await holder.fetch("SELECT FROM windlass.job WHERE id = $1 FOR UPDATE", job_id)
        with pytest.raises(Unavailable, match="lock timeout") as raised:
            await database.together(impatient)
        assert not isinstance(raised.value, Unknown), "it was rolled back for certain"


async def test_two_that_wait_for_each_other_both_get_through(database: Database) -> None:
    first, second = await submit(database, noop(), noop())
    both_hold_one = asyncio.Barrier(2)
    tries: list[str] = []

    async def cross(name: str, mine: object, theirs: object) -> None:
        async def work(connection: Connection[Record]) -> None:
            await connection.execute("SET LOCAL deadlock_timeout = '20ms'")
            lock = "UPDATE windlass.job SET trace_id = concat(trace_id, $2::text) WHERE id = $1"
            await connection.execute(lock, mine, name)
            tries.append(name)
            if tries.count(name) == 1:
                await both_hold_one.wait()
            await connection.execute(lock, theirs, name)

        await database.together(work)

    async with asyncio.timeout(10):
        await asyncio.gather(cross("a", first, second), cross("b", second, first))
    assert len(tries) > 2, "PostgreSQL threw one of them back"
    traces = await sql(database, "SELECT trace_id FROM windlass.job ORDER BY id")
    assert {"".join(sorted(one["trace_id"])) for one in traces} == {"ab"}, "each wrote once"


async def test_a_collision_that_never_ends_is_unavailable(database: Database) -> None:
    await submit_one(database)
    tries = 0

    async def always_late(connection: Connection[Record]) -> None:
        nonlocal tries
        tries += 1
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        await connection.fetch("SELECT FROM windlass.job")
        await sql(database, "UPDATE windlass.job SET trace_id = 'sooner'")
        await connection.execute("UPDATE windlass.job SET trace_id = 'later'")

    with pytest.raises(Unavailable, match="rolled back 6 times"):
        await database.together(always_late)
    assert tries == 6


async def test_a_connection_that_is_cut_leaves_the_fate_unknown_and_the_next_call_works(
    database: Database,
) -> None:
    async def cut(connection: Connection[Record]) -> None:
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        await sql(database, "SELECT pg_terminate_backend($1)", pid)
        await connection.fetchval("SELECT pg_sleep(5)")

    with pytest.raises(Unknown):
        await database.together(cut)
    assert len(await database.run("database_ping")) == 1


async def test_work_that_raises_is_rolled_back(database: Database) -> None:
    async def work(connection: Connection[Record]) -> None:
        await connection.execute("INSERT INTO windlass.queue (name) VALUES ('gone')")
        raise LookupError

    with pytest.raises(LookupError):
        await database.together(work)
    assert await sql(database, "SELECT FROM windlass.queue") == []


async def test_a_caller_that_gives_up_leaves_no_transaction_and_no_setting_behind(
    database: Database,
) -> None:
    async def work(connection: Connection[Record]) -> None:
        await connection.execute("INSERT INTO windlass.queue (name) VALUES ('gone')")
        await connection.execute("SELECT set_config('windlass.verb', 'delete', true)")
        await connection.execute("SELECT pg_sleep(30)")

    task = asyncio.create_task(database.together(work))
    # PostgreSQL forgets a cancel that arrives before its statement.
    asleep = "datname = current_database() AND wait_event = 'PgSleep'"
    await until_sql(database, f"SELECT count(*) FROM pg_stat_activity WHERE {asleep}")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(8):  # every connection of the pool in turn
        async with database.hot() as connection:
            assert not connection.is_in_transaction()
            verb = await connection.fetchval("SELECT current_setting('windlass.verb', true)")
            assert not verb
    assert await sql(database, "SELECT FROM windlass.queue") == []


async def test_reads_for_people_do_not_wait_behind_the_hot_path(database: Database) -> None:
    hot_is_full = asyncio.Barrier(5)
    done = asyncio.Event()

    async def occupy() -> None:
        async with database.hot():
            await hot_is_full.wait()
            await done.wait()

    holders = [asyncio.create_task(occupy()) for _ in range(4)]
    await hot_is_full.wait()
    async with asyncio.timeout(5):
        assert await database.read("job_get_many", [uuid4()]) == []
    done.set()
    await asyncio.gather(*holders)


async def test_however_many_ask_for_what_is_held_who_asks_for_something_else_has_its_turn(
    database: Database,
) -> None:
    await submit(database, noop(queue="held"), noop(queue="free"))

    def of(queue: str) -> Callable[[Connection[Record]], Awaitable[list[Record]]]:
        hold = "SELECT 1 FROM windlass.queue WHERE name = $1 FOR UPDATE"
        return lambda connection: connection.fetch(hold, queue)

    async def ask_for_ever() -> None:
        while True:
            with contextlib.suppress(RowLocked):
                await database.ask(of("held"))

    async with database.side() as somebody, somebody.transaction():
        await of("held")(somebody)
        asking = [asyncio.create_task(ask_for_ever()) for _ in range(50)]
        try:
            for _ in range(10):
                assert len(await database.ask(of("free"))) == 1
            with pytest.raises(RowLocked):
                await database.ask(of("held"))
        finally:
            for task in asking:
                task.cancel()
            ended = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in ended), "none was turned away"


async def test_a_wait_for_a_row_that_is_cancelled_from_outside_is_tried_again(
    database: Database,
) -> None:
    """As PostgreSQL reports a lock_timeout that passes at the moment its row is to be had."""
    await submit(database, noop(queue="held"))
    cancels = (
        "SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    async def work(connection: Connection[Record]) -> list[Record]:
        await connection.execute("SET LOCAL lock_timeout = 0")
        hold = "SELECT 1 FROM windlass.queue WHERE name = 'held' FOR UPDATE"
        return await connection.fetch(hold)

    async with database.side() as somebody, somebody.transaction():
        await work(somebody)
        asking = asyncio.create_task(database.ask(work, lock_seconds=60))
        assert await until_sql(database, cancels) == 1
    assert len(await asking) == 1


async def test_of_many_who_ask_for_the_same_held_row_one_tries_for_all(database: Database) -> None:
    await submit(database, noop(queue="held"))
    tries = 0

    async def work(connection: Connection[Record]) -> list[Record]:
        nonlocal tries
        tries += 1
        hold = "SELECT 1 FROM windlass.queue WHERE name = 'held' FOR UPDATE"
        return await connection.fetch(hold)

    def ask(lock_seconds: float = ASKED_LOCK_SECONDS) -> Awaitable[list[Record]]:
        return database.ask(work, about=("queue", "held"), lock_seconds=lock_seconds)

    async with database.side() as somebody, somebody.transaction():
        await work(somebody)
        ended = await asyncio.gather(*(ask() for _ in range(50)), return_exceptions=True)
        assert all(isinstance(one, RowLocked) for one in ended), "each is told after its own time"
        # One after the other, and never sooner than the shortest rest; by themselves they are 300.
        assert tries <= 1 + ASKED_LOCK_SECONDS / ASKED_REST_SECONDS
        asking = [asyncio.ensure_future(ask(60)) for _ in range(50)]
        gone = asking.pop(0)
        await asyncio.sleep(0)
        gone.cancel()
    turns = await asyncio.gather(*asking)
    assert all(len(turn) == 1 for turn in turns), "it was let go, and everybody has its turn"


async def test_many_callers_share_few_connections(database: Database) -> None:
    await asyncio.gather(*(register(database) for _ in range(50)))
    assert await value(database, "SELECT count(*) FROM windlass.node") == 50
    few = (
        "SELECT count(*) <= 10 FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    await until_sql(database, few)  # those of the test before may be on their way out
