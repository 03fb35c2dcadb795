"""Roles with least rights: who is given what, what is taken away, and what a migration renews."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import asyncpg
import pytest

from tests import as_node_role
from tests.store.test_plans import FOLDER
from windlass.cli.exits import BadUsage
from windlass.cli.verbs import migrate as command
from windlass.errors import RightsMissing, RoleUnfit, SchemaBehind
from windlass.store import migrate as migrating
from windlass.store.migrate import Migration, migrate, migrations
from windlass.store.roles import give_rights
from windlass.testing.servers import PrivateServers

ALL: Final = {"SELECT", "INSERT", "UPDATE", "DELETE"}
# What a node never does to these, whatever statement one may write.
NARROW: Final = {
    "attempt": {"UPDATE"},
    "event": {"UPDATE"},
    "job_log": {"UPDATE"},
    "workflow_version": {"UPDATE", "DELETE"},
    "leader": {"INSERT", "DELETE"},
    "migration": {"INSERT", "UPDATE", "DELETE"},
    "session_key": {"INSERT", "UPDATE", "DELETE"},
    "role_grant": {"INSERT", "UPDATE", "DELETE"},
    "enqueue_note": {"INSERT", "UPDATE", "DELETE"},
}
WRITES: Final = re.compile(
    r"\b(INSERT) INTO windlass\.(\w+)|\b(UPDATE) windlass\.(\w+)|\b(DELETE) FROM windlass\.(\w+)"
)


class Server:
    """The database of a test as its owner and as the superuser, and roles that are made for it."""

    def __init__(self, servers: PrivateServers, url: str) -> None:
        self.url, self._admin_url = url, servers.admin_url(url)

    async def role(self, attributes: str = "LOGIN") -> str:
        name = f"role_{uuid4().hex[:12]}"
        await self.as_admin(f"CREATE ROLE {name} {attributes} PASSWORD '{as_node_role.PASSWORD}'")
        return name

    def url_of(self, role: str) -> str:
        return as_node_role.node_url(self.url).replace(as_node_role.ROLE, role)

    async def as_admin(self, sql: str) -> list[asyncpg.Record]:
        return await fetch(self._admin_url, sql)

    async def as_owner(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        return await fetch(self.url, sql, *args)

    async def rights(self, role: str, table: str) -> set[str]:
        rows = await self.as_owner(
            """SELECT r FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE',
                   'REFERENCES', 'TRIGGER']) r
               WHERE has_table_privilege($1, 'windlass.' || $2, r)""",
            role,
            table,
        )
        return {row["r"] for row in rows}


async def fetch(url: str, sql: str, *args: Any) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    try:
        if not args and ";" in sql:
            await connection.execute(sql)
            return []
        return await connection.fetch(sql, *args)
    finally:
        await connection.close()


@pytest.fixture
def server(servers: PrivateServers, database_url: str) -> Server:
    return Server(servers, database_url)


async def test_a_node_gets_what_it_needs_and_nothing_twice(server: Server) -> None:
    role = await server.role()
    said = await give_rights(server.url, role, "node")
    assert f"GRANT USAGE ON SCHEMA windlass TO {role}" in said
    assert await give_rights(server.url, role, "node") == []
    assert await server.rights(role, "job") == ALL
    for table, never in NARROW.items():
        assert await server.rights(role, table) == ALL - never, table
    tables = await server.as_owner(
        "SELECT relname FROM pg_class WHERE relnamespace = 'windlass'::regnamespace "
        "AND relkind IN ('r', 'p')"
    )
    for row in tables:
        assert await server.rights(role, row["relname"]) <= ALL, row["relname"]
    assert await migrate(server.url_of(role)) == []


def test_no_statement_writes_what_a_node_may_not() -> None:
    wrongly = []
    for path in FOLDER.glob("*/*.sql"):
        text = re.sub(r"--.*", "", path.read_text())
        for found in WRITES.finditer(text):
            verb, table = [part for part in found.groups() if part]
            never = {"UPDATE", "DELETE"} if table.startswith("audit_") else NARROW.get(table, set())
            if verb in never and path.parent.name != "role":
                wrongly.append(f"{path.name}: {verb} of {table}")
    assert wrongly == [], "see sql/role/role_rights.sql"


async def test_what_is_printed_does_the_same_and_changes_nothing_by_itself(server: Server) -> None:
    role = await server.role()
    printed = await give_rights(server.url, role, "node", is_trial=True)
    assert await server.rights(role, "job") == set()
    await server.as_owner(";".join(printed))
    assert await give_rights(server.url, role, "node", is_trial=True) == []
    # A DBA who is not the owner may look what is to be said.
    assert await give_rights(server.url_of(role), role, "node", is_trial=True) == []


async def test_a_role_of_another_kind_loses_what_it_has_too_much(server: Server) -> None:
    role = await server.role()
    await server.as_owner(
        f"GRANT USAGE ON SCHEMA windlass TO {role}; GRANT ALL ON windlass.job TO {role}"
    )
    await give_rights(server.url, role, "node")
    assert await server.rights(role, "job") == ALL
    said = await give_rights(server.url, role, "submitter")
    assert any(one.startswith("REVOKE") for one in said)
    assert await server.rights(role, "job") == set()
    made = await fetch(server.url_of(role), 'SELECT windlass.enqueue(\'{"kind": "noop"}\')')
    assert made[0][0].startswith("job_")
    await give_rights(server.url, role, None)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(server.url_of(role), 'SELECT windlass.enqueue(\'{"kind": "noop"}\')')
    assert await give_rights(server.url, role, None) == []


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ("LOGIN SUPERUSER", "is a superuser"),
        ("LOGIN REPLICATION", "may copy the whole server"),
        ("LOGIN CREATEROLE", "may make roles, and itself a member of others"),
        ("LOGIN IN ROLE pg_read_all_data", "is a member of pg_read_all_data"),
        ("LOGIN IN ROLE windlass", "owns schema windlass, or is a member of the role that does"),
    ],
)
async def test_a_role_that_nothing_bounds_is_refused(
    server: Server, attributes: str, why: str
) -> None:
    role = await server.role(attributes)
    with pytest.raises(RoleUnfit, match=why):
        await give_rights(server.url, role, "node")


async def test_what_cannot_be_done_is_said(servers: PrivateServers, server: Server) -> None:
    with pytest.raises(RoleUnfit, match="there is no role 'nobody' in this PostgreSQL"):
        await give_rights(server.url, "nobody", "node")
    role = await server.role()
    await give_rights(server.url, role, "node")
    with pytest.raises(RoleUnfit, match=rf"'{role}' may give nobody rights .* 'windlass'"):
        await give_rights(server.url_of(role), role, "node")
    empty = await servers.create_database()
    with pytest.raises(RoleUnfit, match="run `windlass migrate up`"):
        await give_rights(empty, role, "node")
    with pytest.raises(SchemaBehind, match=rf"'{role}' may not change it"):
        await migrate(Server(servers, empty).url_of(role))


async def test_the_command_says_what_it_did(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    role = await server.role()

    async def said(**given: bool) -> str:
        code = await asyncio.to_thread(command.role, role, database_url=server.url, **given)
        assert code == 0
        return capsys.readouterr().out

    printed = await said(sql=True)
    assert printed.startswith("GRANT USAGE ON SCHEMA windlass TO ")
    assert printed.endswith(";\n")
    assert "has the rights of a node now: " in await said()
    assert await said() == f"nothing to do: {role} has these rights\n"
    assert await said(sql=True) == ""
    assert "has the rights of a submitter now: " in await said(submitter=True)
    assert await said(revoke=True) == f"{role} has no rights to schema windlass any more\n"
    assert await said(revoke=True) == f"{role} has no rights\n"
    with pytest.raises(BadUsage, match="not both"):
        await said(revoke=True, submitter=True)
    with pytest.raises(RoleUnfit, match="there is no role"):
        await asyncio.to_thread(
            command.role, 'x"; DROP SCHEMA windlass; --', database_url=server.url
        )


async def test_who_gives_rights_leaves_an_entry_in_the_audit_log(server: Server) -> None:
    role, nobody = await server.role(), await server.role()

    async def typed(name: str, **given: bool) -> None:
        with contextlib.suppress(RoleUnfit):
            await asyncio.to_thread(command.role, name, database_url=server.url, **given)

    await typed(role, sql=True)
    await typed("no such role")
    await typed(nobody, revoke=True)
    await typed(role)
    await typed(role)
    await typed(role, submitter=True)
    await typed(role, revoke=True)
    rows = await server.as_owner(
        "SELECT actor_kind, object_name, before->>'kind' AS before, after->>'kind' AS after "
        "FROM windlass.audit_entry WHERE action = 'database.grant' ORDER BY id"
    )
    assert [tuple(row) for row in rows] == [
        ("cli", role, None, "node"),
        ("cli", role, "node", "submitter"),
        ("cli", role, "submitter", None),
    ]


async def test_a_strange_name_is_given_rights(server: Server) -> None:
    name = f'Odd "role" {uuid4().hex[:6]}'
    quoted = name.replace('"', '""')
    await server.as_admin(f'CREATE ROLE "{quoted}"')
    assert await give_rights(server.url, name, "node")
    assert await give_rights(server.url, name, "node") == []
    assert await server.rights(name, "job") == ALL


@asynccontextmanager
async def only(monkeypatch: pytest.MonkeyPatch, known: Iterable[Migration]) -> AsyncIterator[None]:
    with monkeypatch.context() as patch:
        files = list(known)
        patch.setattr(migrating, "migrations", lambda: files)
        yield


async def test_a_later_migration_gives_each_role_its_rights_to_what_is_new(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, submitter, gone = [await server.role() for _ in range(3)]
    await give_rights(server.url, node, "node")
    await give_rights(server.url, submitter, "submitter")
    await give_rights(server.url, gone, "node")
    await server.as_admin(f"DROP OWNED BY {gone}; DROP ROLE {gone}")
    later = Migration(
        number=migrations()[-1].number + 1,
        name="later",
        sql="""CREATE TABLE windlass.later (a int);
               CREATE TABLE windlass.audit_later (a int);
               CREATE SEQUENCE windlass.later_seq;
               CREATE FUNCTION windlass.of_later() RETURNS int LANGUAGE sql AS 'SELECT 1';
               REVOKE EXECUTE ON FUNCTION windlass.of_later() FROM PUBLIC""",
    )
    async with only(monkeypatch, [*migrations(), later]):
        with pytest.raises(SchemaBehind, match="lacks migration later"):
            await migrate(server.url_of(node))
        assert await migrate(server.url) == [later]
        assert await migrate(server.url_of(node)) == []
    assert await server.rights(node, "later") == ALL
    assert await server.rights(node, "audit_later") == {"SELECT", "INSERT"}
    assert await server.rights(submitter, "later") == set()
    url = server.url_of(node)
    assert [row[0] for row in await fetch(url, "SELECT nextval('windlass.later_seq')")] == [1]
    assert [row[0] for row in await fetch(url, "SELECT windlass.of_later()")] == [1]
    # It came before anybody gave the rights: a node without them says so.
    await server.as_owner(f"REVOKE SELECT ON windlass.later FROM {node}")
    with pytest.raises(RightsMissing, match=r"GRANT SELECT ON TABLE windlass\.later"):
        await migrate(url)


async def test_whoever_could_submit_by_sql_before_can_still_and_nobody_else(
    servers: PrivateServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the rights of its caller, as the function was: USAGE, and what it touches."""
    before = Server(servers, await servers.create_database())
    old, reader = await before.role(), await before.role()
    async with only(monkeypatch, [one for one in migrations() if one.number < 29]):
        await migrate(before.url)
        await before.as_owner(
            f"""GRANT USAGE ON SCHEMA windlass TO {old}, {reader};
                GRANT SELECT ON ALL TABLES IN SCHEMA windlass TO {reader};
                GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA windlass TO {old};
                GRANT USAGE ON ALL SEQUENCES IN SCHEMA windlass TO {old}"""
        )
        job = 'SELECT windlass.enqueue(\'{"kind": "noop"}\')'
        assert await fetch(before.url_of(old), job)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await fetch(before.url_of(reader), job)
    await migrate(before.url)
    assert await fetch(before.url_of(old), job)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(before.url_of(reader), job)


async def test_a_role_that_writes_all_tables_may_submit_by_sql_before_and_after(
    servers: PrivateServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs no right to any single table, and so is in no table's list of rights."""
    before = Server(servers, await servers.create_database())
    writes = await before.role("LOGIN IN ROLE pg_write_all_data, pg_read_all_data")
    job = 'SELECT windlass.enqueue(\'{"kind": "noop"}\')'
    async with only(monkeypatch, [one for one in migrations() if one.number < 29]):
        await migrate(before.url)
        assert await fetch(before.url_of(writes), job)
    await migrate(before.url)
    assert await fetch(before.url_of(writes), job)
    # As before, also whoever becomes a member later; and nobody else.
    later, nobody = await before.role("LOGIN IN ROLE pg_write_all_data"), await before.role()
    assert await fetch(before.url_of(later), job)
    await before.as_owner(f"GRANT USAGE ON SCHEMA windlass TO {nobody}")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await fetch(before.url_of(nobody), job)


OPEN: Final = """
SELECT p.proname::text AS name
FROM pg_proc p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
WHERE p.pronamespace = 'windlass'::regnamespace AND p.prosecdef AND a.grantee = 0
  AND a.privilege_type = 'EXECUTE' ORDER BY 1"""
# What a dump without rights leaves behind: rights of functions as they are when they are made.
FORGET: Final = """
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT p.oid::regprocedure AS name FROM pg_proc p
               WHERE p.pronamespace = 'windlass'::regnamespace AND p.prosecdef LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', one.name);
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION windlass.enqueue(jsonb) FROM pg_write_all_data;"""


async def _open(server: Server) -> set[str]:
    return {row["name"] for row in await server.as_owner(OPEN)}


async def test_to_migrate_closes_functions_that_anybody_may_call_with_the_owners_rights(
    server: Server,
) -> None:
    writes = await server.role("LOGIN IN ROLE pg_write_all_data")
    await server.as_owner(FORGET)
    assert {"enqueue", "audit_forget", "drop_partition"} <= await _open(server)
    # A node that owns nothing starts, and leaves it to the doctor.
    node = await server.role()
    await asyncio.gather(*(migrate(server.url) for _ in range(4)))
    assert await _open(server) == set()
    assert await fetch(server.url_of(writes), 'SELECT windlass.enqueue(\'{"kind": "noop"}\')')
    await give_rights(server.url, node, "node")
    await server.as_owner(FORGET)
    assert await migrate(server.url_of(node)) == []
    assert "enqueue" in await _open(server)


async def test_who_is_given_rights_makes_nobody_else_have_them(server: Server) -> None:
    shop = await server.role()
    await server.as_owner(FORGET)
    printed = await give_rights(server.url, shop, "submitter", is_trial=True)
    assert (
        "REVOKE EXECUTE ON FUNCTION windlass.audit_forget(days integer, most integer) FROM PUBLIC"
        in printed
    )
    await give_rights(server.url, shop, "submitter")
    assert await _open(server) == set()
    assert await fetch(server.url_of(shop), 'SELECT windlass.enqueue(\'{"kind": "noop"}\')')
    for sql in (
        "SELECT windlass.make_partition('event', current_date)",
        "SELECT windlass.at_commit('queue', 'mine')",
        "SELECT windlass.audit_forget(30, 1)",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await fetch(server.url_of(shop), sql)
    assert await give_rights(server.url, shop, "submitter") == []


async def test_everybody_may_submit_where_everybody_may_insert_jobs(server: Server) -> None:
    await server.as_owner("GRANT INSERT ON windlass.job TO PUBLIC")
    await server.as_owner(FORGET)
    await migrate(server.url)
    assert await _open(server) == {"enqueue"}
    shop = await server.role()
    await give_rights(server.url, shop, "submitter")
    assert await _open(server) == {"enqueue"}


async def test_functions_with_the_owners_rights_look_nowhere_else_and_are_nobodys(
    server: Server,
) -> None:
    rows = await server.as_owner(
        """SELECT p.oid::regprocedure::text AS name, p.proconfig AS settings, EXISTS (
               SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
               WHERE a.grantee = 0) AS is_everybodys
           FROM pg_proc p WHERE p.pronamespace = 'windlass'::regnamespace AND p.prosecdef"""
    )
    assert len(rows) >= 9
    for row in rows:
        paths = [one for one in row["settings"] or [] if one.startswith("search_path=pg_catalog")]
        assert paths, row["name"]
        assert not row["is_everybodys"], row["name"]


async def test_what_a_caller_puts_in_its_way_is_not_looked_at(server: Server) -> None:
    """Tables, functions and operators of a temporary schema, before all others."""
    role = await server.role()
    await give_rights(server.url, role, "submitter")
    caller = await asyncpg.connect(server.url_of(role))
    try:
        await caller.execute(
            """CREATE TEMP TABLE job (id uuid); CREATE TEMP TABLE pg_class (oid oid);
               CREATE FUNCTION pg_temp.length(text) RETURNS int LANGUAGE plpgsql
                   AS $$ BEGIN RAISE 'caught as %', current_user; END $$;
               CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql
                   AS $$ BEGIN RAISE 'caught as %', current_user; END $$;
               SET search_path = pg_temp, pg_catalog, public"""
        )
        job = '{"kind": "noop", "key": "k", "tags": ["a"], "locks": ["l"], "debounce": "1m"}'
        made = await caller.fetchval("SELECT windlass.enqueue($1)", job)
        assert await caller.fetchval("SELECT windlass.enqueue($1)", job) == made
    finally:
        await caller.close()
    assert len(await server.as_owner("SELECT FROM windlass.job")) == 1


async def test_a_day_that_is_made_is_for_whom_its_table_is(server: Server) -> None:
    role = await server.role()
    await give_rights(server.url, role, "node")
    url = server.url_of(role)
    [answer] = await fetch(url, "SELECT windlass.make_partition('event', '2020-02-03')")
    assert answer[0] == "made"
    assert await server.rights(role, "event_20200203") == ALL - {"UPDATE"}
    assert await give_rights(server.url, role, "node") == []
    drop = "SELECT windlass.drop_partition('event', 'event_20200203', 10, 1000)"
    assert [row[0] for row in await fetch(url, drop)] == ["dropped"]
