"""Backups of a PostgreSQL that Windlass did not start: by it, and by docs/operating/backup.md."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from uuid import uuid4

import asyncpg
import pytest

from tests.cli.server import clean_environment
from tests.engine.hands import noop, register, sql, submit, take
from tests.house.repository import ROOT
from tests.servers.scratch import scratch_folder
from tests.store.test_versions import BUNDLED_16
from tests.until import until
from windlass.embedded.account import make_folder
from windlass.embedded.binaries import postgres_bin_dir
from windlass.embedded.client import Login, client_program
from windlass.embedded.errors import ClientTooOld
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.store.database import Database
from windlass.store.migrate import migrate, migrations
from windlass.store.roles import give_rights
from windlass.testing.servers import PrivateServers

PATIENCE_SECONDS: Final = 90.0
PAGE: Final = (ROOT / "docs/operating/backup.md").read_text()


def blocks(heading: str) -> list[str]:
    """What the page has to be typed below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def windlass(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "windlass", *words],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def typed(block: str, folder: Path, **variables: str) -> str:
    """Run it as somebody would who has PostgreSQL's programs, and Windlass, on the PATH."""
    here = f"{Path(sys.executable).parent}:{postgres_bin_dir()}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", block],
        cwd=folder,
        env=clean_environment(PATH=here, **variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture
async def filled_url(servers: PrivateServers, database_url: str) -> str:
    """A database with three jobs, one of which runs."""
    await _fill(database_url)
    return database_url


async def _fill(url: str) -> None:
    database = Database(url)
    await database.open()
    try:
        await submit(database, noop(), noop(), noop())
        await take(database, await register(database), 1)
    finally:
        await database.close()


async def test_the_page_on_dumps_can_be_typed(
    servers: PrivateServers, filled_url: str, tmp_path: Path
) -> None:
    ours, theirs = blocks("A dump")
    urls = {
        "DATABASE_URL": filled_url,
        "EMPTY_URL": await servers.create_database(),
        "OTHER_URL": await servers.create_database(),
    }
    told = await asyncio.to_thread(typed, ours, tmp_path, **urls)
    assert told.count("3 jobs (3 unfinished, 1 of them running)") == 3
    assert "windlass.dump can be restored" in told
    told = await asyncio.to_thread(typed, theirs, tmp_path, **urls)
    assert "nothing to do: the database is up to date" in told
    assert "all is well" in told


async def test_a_dump_by_pg_dump_itself_is_restored_without_what_else_it_holds(
    servers: PrivateServers, filled_url: str, tmp_path: Path
) -> None:
    connection = await asyncpg.connect(filled_url)
    await connection.execute("CREATE SCHEMA shop; CREATE TABLE shop.orders AS SELECT 1 AS id")
    await connection.close()
    dumping = f"pg_dump -Fc -f all.dump '{filled_url}'"
    await asyncio.to_thread(typed, dumping, tmp_path)
    empty = await servers.create_database()
    done = await asyncio.to_thread(
        windlass, "restore", "all.dump", "--database-url", empty, folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "by pg_dump; when, it does not say" in done.stdout
    assert "3 jobs (3 unfinished, 1 of them running)" in done.stdout
    connection = await asyncpg.connect(empty)
    assert await connection.fetchval("SELECT to_regnamespace('shop')") is None
    await connection.close()


async def test_a_database_with_windlass_in_it_is_refused_and_left_as_it_is(
    servers: PrivateServers, filled_url: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "w.dump")
    taken = await asyncio.to_thread(windlass, "backup", file, "--database-url", filled_url)
    assert taken.returncode == 0, taken.stderr
    again = await asyncio.to_thread(windlass, "restore", file, "--database-url", filled_url)
    assert (again.returncode, "has a schema windlass already" in again.stderr) == (5, True)
    pooled = filled_url + "&pgbouncer=true"
    for words in (("backup", str(tmp_path / "x")), ("restore", file)):
        refused = await asyncio.to_thread(windlass, *words, "--database-url", pooled)
        assert (refused.returncode, "leads to PgBouncer" in refused.stderr) == (1, True)
    empty = await servers.create_database()
    nothing = await asyncio.to_thread(
        windlass, "backup", str(tmp_path / "x"), "--database-url", empty
    )
    assert (nothing.returncode, "no tables of Windlass" in nothing.stderr) == (1, True)
    away = await asyncio.to_thread(
        windlass, "backup", str(tmp_path / "x"), "--database-url", "postgresql://me@127.0.0.1:1/x"
    )
    assert away.returncode == 1
    assert away.stderr == "error: it cannot go on: connection refused; nothing was written\n"
    assert not (tmp_path / "x").exists()


async def test_rights_of_other_roles_come_along_or_are_said_to_be_lost(
    servers: PrivateServers, filled_url: str, tmp_path: Path
) -> None:
    admin = await asyncpg.connect(servers.admin_url(filled_url))
    await admin.execute('CREATE ROLE "shop app"')
    await admin.execute('GRANT USAGE ON SCHEMA windlass TO "shop app"')
    await admin.execute('GRANT EXECUTE ON FUNCTION windlass.enqueue TO "shop app"')
    file = str(tmp_path / "w.dump")
    taken = await asyncio.to_thread(windlass, "backup", file, "--database-url", filled_url)
    assert taken.returncode == 0, taken.stderr

    first, second = await servers.create_database(), await servers.create_database()
    done = await asyncio.to_thread(windlass, "restore", file, "--database-url", first)
    assert done.returncode == 0, done.stderr
    assert "\n  rights " not in done.stdout
    connection = await asyncpg.connect(first)
    asked = "SELECT has_schema_privilege('shop app', 'windlass', 'USAGE')"
    assert await connection.fetchval(asked) is True
    await connection.close()
    await servers.drop_database(first)

    # It is still named in the file, and the server has it no more.
    await admin.execute('DROP OWNED BY "shop app"; DROP ROLE "shop app"')
    await admin.close()
    done = await asyncio.to_thread(windlass, "restore", file, "--database-url", second)
    assert done.returncode == 0, done.stderr
    assert "none were restored: there is no role shop app" in done.stdout


OPEN: Final = """
SELECT p.proname::text FROM pg_proc p
CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
WHERE p.pronamespace = 'windlass'::regnamespace AND p.prosecdef AND a.grantee = 0"""


@pytest.mark.parametrize(
    "how", ["a role is gone", "dumped without rights", "loaded without rights"]
)
async def test_a_restore_without_rights_opens_nothing_and_gives_those_that_are_noted(
    servers: PrivateServers, filled_url: str, tmp_path: Path, how: str
) -> None:
    node, gone = (f"role_{uuid4().hex[:12]}" for _ in range(2))
    admin = await asyncpg.connect(servers.admin_url(filled_url))
    await admin.execute(f"CREATE ROLE {node} LOGIN; CREATE ROLE {gone}")
    await give_rights(filled_url, node, "node")
    await give_rights(filled_url, gone, "submitter")
    bare = "--no-privileges" if how == "dumped without rights" else ""
    dumping = f"pg_dump -Fc {bare} --schema windlass -f all.dump '{filled_url}'"
    await asyncio.to_thread(typed, dumping, tmp_path)
    if how == "a role is gone":
        await admin.execute(f"DROP OWNED BY {gone}; DROP ROLE {gone}")
    await admin.close()

    empty = await servers.create_database()
    if how == "loaded without rights":
        loading = f"pg_restore --no-owner --no-privileges --dbname '{empty}' all.dump"
        await asyncio.to_thread(typed, loading, tmp_path)
        looked = await asyncio.to_thread(windlass, "doctor", "--database-url", empty)
        assert looked.returncode == 1
        assert "windlass.audit_forget(days integer, most integer)" in looked.stdout
        assert "may be called by anybody, with its owner's rights" in looked.stdout
        done = await asyncio.to_thread(windlass, "migrate", "up", "--database-url", empty)
    else:
        done = await asyncio.to_thread(
            windlass, "restore", "all.dump", "--database-url", empty, folder=tmp_path
        )
    assert done.returncode == 0, done.stderr
    connection = await asyncpg.connect(empty)
    assert [row[0] for row in await connection.fetch(OPEN)] == []
    await connection.close()
    if how != "loaded without rights":
        assert await give_rights(empty, node, "node") == []
    looked = await asyncio.to_thread(windlass, "doctor", "--database-url", empty)
    assert "may be called by anybody" not in looked.stdout + looked.stderr


async def test_older_servers_are_backed_up_and_restored(tmp_path: Path) -> None:
    async with PrivateServers(bin_dir=BUNDLED_16) as older:
        source, target = await older.create_database(), await older.create_database()
        await migrate(source)
        await _fill(source)
        file = str(tmp_path / "w.dump")
        taken = await asyncio.to_thread(windlass, "backup", file, "--database-url", source)
        assert taken.returncode == 0, taken.stderr
        done = await asyncio.to_thread(windlass, "restore", file, "--database-url", target)
        assert done.returncode == 0, done.stderr
        assert "from PostgreSQL 16." in done.stdout
        assert "all is well" in done.stdout


async def test_a_backup_of_an_older_windlass_is_brought_up_to_date(
    servers: PrivateServers, tmp_path: Path
) -> None:
    older, empty = await servers.create_database(), await servers.create_database()
    connection = await asyncpg.connect(older)
    await migrate(older)
    await connection.execute("DROP SCHEMA windlass CASCADE; CREATE SCHEMA windlass")
    await connection.execute(
        "CREATE TABLE windlass.migration (number integer PRIMARY KEY, name text NOT NULL,"
        " sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    *known, newest = migrations()
    for migration in known:
        await connection.execute(migration.sql)
        await connection.execute(
            "INSERT INTO windlass.migration (number, name, sha256) VALUES ($1, $2, $3)",
            *(migration.number, migration.name, migration.sha256),
        )
    await connection.close()
    file = str(tmp_path / "old.dump")
    taken = await asyncio.to_thread(windlass, "backup", file, "--database-url", older)
    assert taken.returncode == 0, taken.stderr
    assert f"schema   {known[-1].name}" in taken.stdout
    done = await asyncio.to_thread(windlass, "restore", file, "--database-url", empty)
    assert done.returncode == 0, done.stderr
    assert f"schema   {newest.name}; applied {newest.name}" in done.stdout


async def test_a_server_newer_than_every_pg_dump_here_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await client_program("pg_dump", server_major=18)).path.parent == postgres_bin_dir()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientTooOld, match="pg_dump 19 or newer, and the newest here is 18"):
        await client_program("pg_dump", server_major=19)
    newer = tmp_path / "pg_dump"
    newer.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 19.1'\n")
    newer.chmod(0o755)
    found = await client_program("pg_dump", server_major=19)
    assert (found.path, found.major) == (newer, 19)


def test_a_password_is_in_the_environment_of_a_program_and_in_no_address() -> None:
    for url in (
        "postgresql://me:s%40cret@one:1,two:2/shop?sslmode=require&target_session_attrs=any",
        "postgresql://me@one:1,two:2/shop?password=s%40cret&sslmode=require",
    ):
        login = Login.of(url, is_ours=False)
        assert login.environment["PGPASSWORD"] == "s@cret"
        assert login.url.startswith("postgresql://me@one:1,two:2/shop?")
        assert "sslmode=require" in login.url
        assert "cret" not in login.url


# -- point-in-time recovery ----------------------------------------------------------------------


@pytest.fixture
async def archiving() -> AsyncIterator[tuple[EmbeddedPostgres, Path]]:
    """A server with the settings of the page, and the folder that stands for /backup."""
    [settings] = re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)
    with scratch_folder("primary") as folder:
        said = dict(line.split(" = ", 1) for line in settings.splitlines())
        options = {
            name: value.strip("'").replace("/backup", str(folder)) for name, value in said.items()
        }
        postgres = EmbeddedPostgres(folder / "primary", settings={**options, "fsync": "off"})
        make_folder(folder / "wal", await asyncio.to_thread(_account, postgres))
        await postgres.start()
        try:
            yield postgres, folder
        finally:
            await postgres.stop(at_once=True)


def _account(postgres: EmbeddedPostgres):  # type: ignore[no-untyped-def]
    return postgres._installation().account


async def test_the_page_on_point_in_time_recovery_can_be_typed(
    archiving: tuple[EmbeddedPostgres, Path],
) -> None:
    copying, recovering, starting, looking = blocks("Point-in-time recovery")
    postgres, folder = archiving
    installation = await asyncio.to_thread(postgres._installation)
    account, home = installation.account, folder / "recovered"
    make_folder(home, account)
    variables = {
        "ADMIN_URL": postgres.admin_url(),
        "BASE": str(home / "base"),
        "NEW": str(home / "new"),
        "WAL": str(folder / "wal"),
    }

    said = (folder / "said").open("w")

    async def type_as_server(block: str, **more: str) -> None:
        done = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-euc", block],
            cwd=home,
            env={
                "PATH": f"{installation.bin_dir}:{os.environ['PATH']}",
                "LC_ALL": "C",
                **variables,
                **more,
            },
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            # A server that is started keeps what it was given: a pipe would not end.
            stdout=said,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        log = home / "new.log"
        assert done.returncode == 0, [
            path.read_text() for path in (folder / "said", log) if path.exists()
        ]

    await migrate(postgres.url())
    database = Database(postgres.url())
    await database.open()
    [before] = await submit(database)
    # The server's own folder is closed to others, and so is its socket: as its account.
    await type_as_server(copying)
    [between] = await submit(database)
    [[instant]] = await sql(database, "SELECT clock_timestamp()::text")
    await asyncio.sleep(0.01)
    [after] = await submit(database)
    await database.close()
    admin = await asyncpg.connect(postgres.admin_url())
    segment = await admin.fetchval("SELECT pg_walfile_name(pg_switch_wal())")
    await until((folder / "wal" / segment).exists, what="the log is archived")
    await admin.close()
    await postgres.stop(at_once=True)

    await type_as_server(recovering, INSTANT=instant)
    # A socket of its own: 5432 may be somebody's.
    settings = f"listen_addresses = ''\nunix_socket_directories = '{home}'\n"
    with (home / "new/postgresql.auto.conf").open("a") as conf:
        conf.write(settings)
    await type_as_server(starting)
    try:
        url = f"postgresql://windlass{postgres.password.in_url()}@/windlass?host={home}&port=5432"
        await until(lambda: _is_promoted(url), what="the recovery has ended")
        recovered = await asyncpg.connect(url)
        found = {row["id"] for row in await recovered.fetch("SELECT id FROM windlass.job")}
        await recovered.close()
        assert found == {before, between}
        assert after not in found
        told = await asyncio.to_thread(typed, looking, folder, NEW_URL=url)
        assert "all is well" in told
    finally:
        await type_as_server('pg_ctl --pgdata "$NEW" --mode immediate --wait stop')
        said.close()
    shutil.rmtree(home)


async def _is_promoted(url: str) -> bool:
    connection = await asyncpg.connect(url)
    try:
        return not await connection.fetchval("SELECT pg_is_in_recovery()")
    finally:
        await connection.close()
