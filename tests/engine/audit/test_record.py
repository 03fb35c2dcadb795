"""An entry of the audit log is in the transaction of its change, and stays as it is."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.as_node_role import by_hand
from tests.engine.hands import sql, value
from tests.house.repository import ROOT
from windlass import ids
from windlass.engine.audit.read import AuditFilter, forget_entries, list_entries
from windlass.engine.audit.record import Entry, ask_and_record, differences, record, record_alone
from windlass.engine.jobs.queues import QueueLimits, pause_queue, put_queue, read_queue
from windlass.engine.targets.targets import TargetLimits, put_target
from windlass.engine.targets.unpark import disable_gone
from windlass.errors import NotFound
from windlass.limits import AUDIT_DAYS, AUDIT_DAYS_MIN, AUDIT_FORGET_BATCH
from windlass.model.identity.actor import ACTOR_KINDS, Actor, acting, acting_as, machine
from windlass.model.identity.audited import ACTIONS, NOUNS
from windlass.store.database import Connection, Database, Record, Refused
from windlass.testing.servers import PrivateServers

# What a test does by hand it may do past our own database.
BY_POSTGRESQL = (Refused, asyncpg.PostgresError)
ANN = Actor(
    kind="user",
    id="user_1",
    name="ann",
    credential_id=UUID(int=7),
    address="192.0.2.1",
    request_id="r-1",
    node_id=UUID(int=9),
)


async def entries(database: Database, **wanted: Any) -> list[Record]:
    return await list_entries(database, AuditFilter(**wanted), 500)


async def write(database: Database, *names: str) -> None:
    await record_alone(database, *(Entry(action="queue.pause", name=name) for name in names))


async def age(database: Database, days: float, where: str = "true") -> None:
    """As nobody can who is no superuser: with the triggers switched off."""
    async with by_hand(database, readonly=False) as connection:
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(
            f"UPDATE windlass.audit_entry SET at = at - {days} * interval '1 day' WHERE {where}"
        )


async def test_an_entry_says_who_did_what_and_from_where(database: Database) -> None:
    with acting_as(ANN):
        await put_queue(database, "mail", QueueLimits(rate=2.0))
        await put_queue(database, "mail", QueueLimits(rate=3.0))
    second, first = await entries(database)
    assert first["before"] is None
    assert '"rate": 2' in second["before"]
    assert '"rate": 3' in second["after"]
    for entry in (first, second):
        said = {name: entry[name] for name in ("actor_kind", "actor_id", "actor_name")}
        assert said == {"actor_kind": "user", "actor_id": "user_1", "actor_name": "ann"}
        assert entry["credential_id"] == UUID(int=7)
        assert (entry["address"], entry["request_id"]) == ("192.0.2.1", "r-1")
        assert entry["node_id"] == UUID(int=9)
        assert (entry["action"], entry["noun"]) == ("queue.put", "queue")
        assert abs((datetime.now(UTC) - entry["at"]).total_seconds()) < 60


async def test_a_change_that_fails_leaves_no_entry(database: Database) -> None:
    with pytest.raises(NotFound):
        await pause_queue(database, "nowhere")

    async def work(connection: Connection[Record]) -> None:
        await connection.execute("INSERT INTO windlass.queue (name) VALUES ('mail')")
        await record(connection, Entry(action="queue.put", name="mail"))
        raise NotFound("queue", "mail")

    with pytest.raises(NotFound):
        await database.ask(work)
    assert await entries(database) == []


async def test_a_change_without_its_entry_is_not_made(database: Database) -> None:
    await put_queue(database, "mail", QueueLimits())
    await sql(database, "ALTER TABLE windlass.audit_entry RENAME TO audit_entry_away")
    try:
        with pytest.raises(Refused):
            await pause_queue(database, "mail")
    finally:
        await sql(database, "ALTER TABLE windlass.audit_entry_away RENAME TO audit_entry")
    assert not (await read_queue(database, "mail")).is_paused


async def test_a_transaction_that_is_killed_leaves_neither_the_change_nor_its_entry(
    database: Database,
) -> None:
    asked, killed = asyncio.Event(), asyncio.Event()
    backend = 0

    async def work(connection: Connection[Record]) -> None:
        nonlocal backend
        await connection.execute("INSERT INTO windlass.queue (name) VALUES ('mail')")
        await record(connection, Entry(action="queue.put", name="mail"))
        backend = await connection.fetchval("SELECT pg_backend_pid()")
        asked.set()
        await killed.wait()
        await connection.fetchval("SELECT 1")

    doing = asyncio.create_task(database.together(work))
    await asked.wait()
    assert await value(database, f"SELECT pg_terminate_backend({backend})")
    killed.set()
    with pytest.raises(Exception, match="PostgreSQL"):
        await doing
    assert await entries(database) == []
    with pytest.raises(NotFound):
        await read_queue(database, "mail")


async def test_a_statement_that_changes_nothing_is_not_recorded(database: Database) -> None:
    def never(_rows: list[Record]) -> list[Entry]:
        raise AssertionError("nothing was done")

    rows = await ask_and_record(database, "queue_pause", "nowhere", True, entries=never)
    assert rows == []
    assert await entries(database) == []


async def test_many_entries_are_one_statement_and_keep_their_order(database: Database) -> None:
    names = [f"q{number}" for number in range(300)]
    await write(database, *names)
    assert [entry["object_name"] for entry in reversed(await entries(database))] == names


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE windlass.audit_entry SET actor_name = 'nobody'", "UPDATE"),
        ("UPDATE windlass.audit_entry SET note = note WHERE false", "UPDATE"),
        ("DELETE FROM windlass.audit_entry", "DELETE"),
        ("DELETE FROM windlass.audit_entry WHERE false", "DELETE"),
        ("TRUNCATE windlass.audit_entry", "TRUNCATE"),
        (
            "MERGE INTO windlass.audit_entry USING (SELECT 1) one ON true WHEN MATCHED THEN DELETE",
            "DELETE",
        ),
        (
            "INSERT INTO windlass.audit_entry SELECT (e).* FROM windlass.audit_entry e",
            "noun",  # a generated column: nobody puts another there
        ),
    ],
)
async def test_nobody_changes_or_removes_an_entry(
    database: Database, statement: str, word: str
) -> None:
    await write(database, "mail")
    before = await entries(database)
    with pytest.raises(BY_POSTGRESQL, match=word) as refused:
        await sql(database, statement)
    assert word == "noun" or "the audit log is append-only" in str(refused.value)
    assert [dict(row) for row in await entries(database)] == [dict(row) for row in before]


async def test_who_says_that_he_forgets_removes_no_young_entry(database: Database) -> None:
    await write(database, "mail")
    async with by_hand(database, readonly=False) as connection:
        await connection.execute("SELECT set_config('windlass.audit_forget', 'on', true)")
        with pytest.raises(Exception, match="append-only"):
            async with connection.transaction():
                await connection.execute("DELETE FROM windlass.audit_entry")
        with pytest.raises(Exception, match="append-only"):
            async with connection.transaction():
                await connection.execute("TRUNCATE windlass.audit_entry")
    assert len(await entries(database)) == 1


async def test_nobody_backdates_an_entry(database: Database) -> None:
    await sql(
        database,
        "INSERT INTO windlass.audit_entry (id, at, actor_kind, actor_name, action) "
        "VALUES (gen_random_uuid(), '2001-01-01', 'cli', 'mallory', 'queue.put')",
    )
    [at] = [row["at"] for row in await entries(database, actor="mallory")]
    assert abs((datetime.now(UTC) - at).total_seconds()) < 60


async def test_what_is_older_than_the_retention_goes_in_batches_and_that_is_recorded(
    database: Database,
) -> None:
    await write(database, "old-1", "old-2", "old-3", "older")
    await age(database, AUDIT_DAYS + 1)
    await write(database, "young")
    with acting_as(machine("leader", UUID(int=9))):
        assert await forget_entries(database, AUDIT_DAYS, 3) == 3
        assert await forget_entries(database, AUDIT_DAYS, 3) == 1
        assert await forget_entries(database, AUDIT_DAYS, 3) == 0
    *forgotten, young = await entries(database)
    assert young["object_name"] == "young"
    assert [row["count"] for row in forgotten] == [1, 3]
    assert {row["actor_kind"] for row in forgotten} == {"leader"}
    # Outside the function nobody may remove the old either.
    await age(database, AUDIT_DAYS + 1)
    with pytest.raises(BY_POSTGRESQL, match="append-only"):
        await sql(database, "DELETE FROM windlass.audit_entry")


async def test_what_is_young_is_forgotten_by_no_setting(database: Database) -> None:
    await write(database, "mail")
    await age(database, AUDIT_DAYS_MIN - 1)
    for days in (0, -1, AUDIT_DAYS_MIN - 1):
        with pytest.raises(Refused, match=f"{AUDIT_DAYS_MIN} days at least"):
            await forget_entries(database, days)
    assert await forget_entries(database, AUDIT_DAYS_MIN, AUDIT_FORGET_BATCH) == 0
    assert len(await entries(database)) == 1


async def test_the_function_keeps_its_own_search_path(database: Database) -> None:
    """Who could put tables of his own before ours would make its rights his."""
    [found] = await sql(
        database,
        "SELECT prosecdef, proconfig, has_function_privilege('public', oid, 'EXECUTE') AS public "
        "FROM pg_proc WHERE oid = 'windlass.audit_forget(int, int)'::regprocedure",
    )
    assert found["prosecdef"]
    assert found["proconfig"] == ["search_path=pg_catalog, pg_temp"]
    assert not found["public"]


async def test_a_role_that_reads_and_adds_can_do_no_more_than_that(
    database: Database, servers: PrivateServers, engine_url: str
) -> None:
    role = f"audit_{uuid4().hex[:12]}"
    await write(database, "old")
    await age(database, AUDIT_DAYS + 1)
    connection: Any = await asyncpg.connect(servers.admin_url(engine_url))
    try:
        await connection.execute(
            f"CREATE ROLE {role};"
            f"GRANT USAGE ON SCHEMA windlass TO {role};"
            f"GRANT SELECT, INSERT ON windlass.audit_entry TO {role};"
            f"GRANT EXECUTE ON FUNCTION windlass.audit_forget(int, int) TO {role};"
            f"SET ROLE {role}"
        )
        await record(connection, Entry(action="queue.put", name="mail"))
        for statement in (
            "UPDATE windlass.audit_entry SET note = 'x'",
            "DELETE FROM windlass.audit_entry",
            "TRUNCATE windlass.audit_entry",
            "ALTER TABLE windlass.audit_entry DISABLE TRIGGER ALL",
            "DROP TRIGGER audit_entry_keep ON windlass.audit_entry",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
        assert await connection.fetchval("SELECT windlass.audit_forget(365, 10)") == 1
        left = await connection.fetch("SELECT object_name FROM windlass.audit_entry")
        assert [row["object_name"] for row in left] == ["mail"]
    finally:
        await connection.execute(f"RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")
        await connection.close()


async def test_a_target_that_is_gone_is_disabled_by_the_node_that_heard_it(
    database: Database,
) -> None:
    await put_target(database, "shop.example", TargetLimits())
    with acting_as(machine("node", UUID(int=9))):
        assert await disable_gone(database, "shop.example", "410 Gone") is not None
        assert await disable_gone(database, "shop.example", "410 Gone") is None
    [entry] = await entries(database, action=("target.disable",))
    assert (entry["actor_kind"], entry["actor_id"]) == ("node", f"node_{UUID(int=9).hex}")
    assert (entry["object_name"], entry["note"]) == ("shop.example", "410 Gone")


async def test_an_election_is_in_the_log_with_its_term(database: Database) -> None:
    node_id = uuid4()
    [taken] = await database.run("leader_take", node_id, 60.0, True)
    assert await database.run("leader_take", uuid4(), 60.0, False) == []
    [entry] = await entries(database)
    assert (entry["action"], entry["actor_kind"]) == ("cluster.lead", "leader")
    assert entry["actor_id"] == ids.show("node", node_id)
    assert entry["after"] == f'{{"term": {taken["term"]}}}'
    assert entry["id"].version == 7
    assert abs((ids.created_at(entry["id"]) - entry["at"]).total_seconds()) < 5


async def test_every_kind_of_actor_and_every_action_can_be_written(database: Database) -> None:
    kinds = [Entry(action="queue.put", actor=Actor(kind=kind, name=kind)) for kind in ACTOR_KINDS]
    await record_alone(database, *kinds, *(Entry(action=action) for action in ACTIONS))
    found = await entries(database)
    assert {row["actor_kind"] for row in found} == set(ACTOR_KINDS)
    assert {row["action"] for row in found} == set(ACTIONS)
    assert {row["noun"] for row in found} == set(NOUNS)


async def test_an_action_that_is_in_no_table_cannot_be_recorded() -> None:
    with pytest.raises(AssertionError, match=r"queue\.eat is no action"):
        Entry(action="queue.eat")


async def test_an_object_is_found_by_its_id_and_by_its_name(database: Database) -> None:
    key_id = ids.show("key", ids.uuid7())
    await record_alone(
        database,
        Entry(action="key.add", id=key_id, name="ci"),
        Entry(action="queue.put", name=key_id),  # a queue may be called so
        Entry(action="queue.put", name="ci"),
    )
    assert len(await entries(database, object=key_id)) == 2
    assert len(await entries(database, object="ci")) == 2
    assert len(await entries(database, object="ci", noun=("key",))) == 1


async def test_each_filter_has_an_index_that_keeps_the_order(database: Database) -> None:
    """Whatever the table holds: a page is never sorted out of all of it."""
    await write(database, *(f"q{number}" for number in range(500)))
    async with database.hot() as connection:
        for column in ("actor_id", "actor_name", "object_name", "object_id", "address", "action"):
            lines = await connection.fetch(
                "EXPLAIN (COSTS OFF) SELECT * FROM windlass.audit_entry "
                f"WHERE {column} = 'x' ORDER BY id DESC LIMIT 50"
            )
            plan = "\n".join(line[0] for line in lines)
            assert f"Index Scan Backward using audit_entry_{column}" in plan, plan
            assert "Sort" not in plan


async def test_who_acts_is_known_below_and_forgotten_after() -> None:
    assert acting() == Actor(kind="node", name="node")
    with acting_as(ANN):
        assert acting() is ANN
        inherited = asyncio.create_task(_who())
        with acting_as(lambda: Actor(kind="cli", name="root")):
            assert acting().name == "root"
        assert acting() is ANN
    assert acting().kind == "node"
    assert await inherited is ANN


async def _who() -> Actor:
    return acting()


def test_of_a_change_only_what_differs_is_shown() -> None:
    before, after = {"a": 1, "b": 2, "c": None}, {"a": 1, "b": 3, "d": 4}
    assert differences(before, after) == ({"b": 2}, {"b": 3, "d": 4})


def test_the_page_lists_every_action_as_it_is() -> None:
    page = (ROOT / "docs/audit.md").read_text()
    section = page.partition("\n## What is recorded\n")[2].partition("\n## ")[0]
    assert dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, re.MULTILINE)) == ACTIONS
