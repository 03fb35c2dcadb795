"""Who may log in at the embedded servers, as whom, and who can find out how."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.embedded.earlier import copied, make_earlier_folder
from tests.embedded.owners import PATIENCE_SECONDS, SOURCE
from tests.ports import free_ports
from windlass.embedded import processes
from windlass.embedded.account import settle
from windlass.embedded.errors import DataNotUsable
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import EmbeddedServers
from windlass.embedded.trust import trusts
from windlass.embedded.valkey import EmbeddedValkey
from windlass.store.migrate import migrate

IS_ROOT = os.geteuid() == 0
HASTY = {"fsync": "off"}
CRASHING = Path(__file__).with_name("crashing.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """Over TCP and by their sockets."""

    data: Path
    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey

    @property
    def passwords(self) -> list[str]:
        kept = (self.postgres.password, self.postgres.admin_password, self.valkey.password)
        found = [password.known() for password in kept]
        assert all(found)
        assert len(set(found)) == 3
        return [password for password in found if password]


@pytest.fixture(scope="module")
async def both(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Both]:
    """Begun by somebody who lets everybody read what he makes."""
    data = tmp_path_factory.mktemp("open") / "data"
    data.mkdir(0o711)
    one, two = (f"127.0.0.1:{port}" for port in free_ports(2))
    postgres = EmbeddedPostgres(data, settings=HASTY, listen=one)
    valkey = EmbeddedValkey(data, listen=two)
    before = os.umask(0)
    try:
        await postgres.start()
        await valkey.start()
    finally:
        os.umask(before)
    yield Both(data=data, postgres=postgres, valkey=valkey)
    await postgres.stop(at_once=True)
    await valkey.stop(at_once=True)


@pytest.fixture
def made(data: Path) -> Path:
    data.mkdir()
    return data


async def fetch(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


@pytest.mark.parametrize("role", ["windlass", "windlass_admin"])
@pytest.mark.parametrize("password", ["", ":", ":wrong", ":windlass"])
async def test_postgres_lets_nobody_in_without_the_password(
    both: Both, role: str, password: str
) -> None:
    host, port = both.postgres.home, str(both.postgres.listen).rpartition(":")[2]
    by_socket = f"postgresql://{role}{password}@/windlass?host={host}&port={port}"
    by_tcp = f"postgresql://{role}{password}@{both.postgres.listen}/windlass"
    for url in (by_socket, by_tcp):
        with pytest.raises((asyncpg.InvalidPasswordError, asyncpg.InterfaceError)):
            await fetch(url, "SELECT 1")


@pytest.mark.parametrize("password", ["", ":wrong@", "windlass:@"])
async def test_valkey_lets_nobody_in_without_the_password(both: Both, password: str) -> None:
    socket = both.valkey.home / EmbeddedValkey.SOCKET_NAME
    for url in (f"unix://{password}{socket}", f"redis://{password}{both.valkey.listen}"):
        async with Redis.from_url(url) as client:
            with pytest.raises(RedisConnectionError, match=r"authenticated|username-password"):
                await client.ping()


async def test_the_application_is_an_ordinary_role_that_owns_its_database(both: Both) -> None:
    url = both.postgres.url()
    assert await fetch(url, "SELECT current_user") == "windlass"
    can = "rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
    assert await fetch(url, f"SELECT {can} FROM pg_roles WHERE rolname = current_user") is False
    for forbidden in (
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT pg_read_file('PG_VERSION')",
        "ALTER SYSTEM SET work_mem = '1MB'",
        "CREATE ROLE another SUPERUSER",
        "SELECT rolpassword FROM pg_authid",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await fetch(url, forbidden)
    assert await migrate(url), "that is enough to make the schema"


async def test_valkey_gives_no_way_to_files_and_programs(both: Both) -> None:
    client: Any = Redis.from_url(both.valkey.url())
    async with client:
        for words in (
            ("CONFIG", "SET", "dir", "/tmp"),
            ("MODULE", "LOAD", "/tmp/any.so"),
            ("DEBUG", "SLEEP", "0"),
        ):
            with pytest.raises(Exception, match=r"protected|not allowed"):
                await client.execute_command(*words)


def stats_of(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """It and all below it; a server that runs may take a file away at any moment."""
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            yield path, path.stat()


def test_what_is_secret_is_for_its_owner_alone(both: Both) -> None:
    assert stat.S_IMODE(both.data.stat().st_mode) & 0o066 == 0
    closed = [both.data / name for name in ("passwords", "postgresql", "valkey", "log")]
    assert [oct(stat.S_IMODE(folder.stat().st_mode)) for folder in closed] == ["0o700"] * 4
    for folder in closed:
        for path, found in stats_of(folder):
            assert found.st_mode & 0o077 == 0, path
    kept = sorted(path.name for path in (both.data / "passwords").iterdir())
    assert kept == ["postgresql", "postgresql-admin", "valkey"]
    assert {path.stat().st_uid for path in (both.data / "passwords").rglob("*")} == {os.geteuid()}


def test_no_password_is_told_to_others(both: Both) -> None:
    assert both.postgres.pid is not None
    assert both.valkey.pid is not None
    family = [*processes.descendants_of(both.postgres.pid)]
    for pid in (both.postgres.pid, both.valkey.pid):
        process = processes.find(pid)
        assert process is not None
        family.append(process)
    seen = [" ".join(processes.command_line(process)) for process in family]
    seen += [Path(f"/proc/{process.pid}/environ").read_text() for process in family]
    seen += [server.log_path.read_text() for server in (both.postgres, both.valkey)]
    seen.append((both.postgres.home / "cluster" / "pg_hba.conf").read_text())
    assert len(family) > 3
    for password in both.passwords:
        assert not any(password in text for text in seen)


def test_each_server_of_roots_has_an_account_that_nobody_else_has(both: Both) -> None:
    users = []
    for server in (both.postgres, both.valkey):
        [user] = {found.st_uid for _, found in stats_of(server.home)}
        assert Path(f"/proc/{server.pid}").stat().st_uid == user
        users.append(user)
    if IS_ROOT:
        assert users[0] != users[1]
        named = {entry.pw_uid for entry in pwd.getpwall()}
        assert not named & set(users)
    else:
        assert users == [os.geteuid()] * 2


# -- folders of the first release -----------------------------------------------------------------


@pytest.fixture(scope="module")
async def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old") / "data"
    await make_earlier_folder(folder)
    return folder


# What is not the application's.
STRANGE = """
WITH own AS (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema')
SELECT string_agg(what, ' ') FROM (
    SELECT c.oid::regclass::text AS what FROM pg_class c JOIN own ON own.oid = relnamespace
    WHERE relowner <> 'windlass'::regrole
    UNION ALL
    SELECT p.oid::regprocedure::text FROM pg_proc p JOIN own ON own.oid = pronamespace
    WHERE proowner <> 'windlass'::regrole
    UNION ALL
    SELECT t.oid::regtype::text FROM pg_type t JOIN own ON own.oid = typnamespace
    WHERE typowner <> 'windlass'::regrole
    UNION ALL
    SELECT nspname FROM pg_namespace
    WHERE nspowner <> 'windlass'::regrole AND nspname !~ '^pg_|^information_schema|^public$'
    UNION ALL
    SELECT datname FROM pg_database WHERE datname = 'windlass' AND datdba <> 'windlass'::regrole
) things
"""


async def is_as_new(servers: EmbeddedServers) -> None:
    url = servers.database_url
    assert await fetch(url, "SELECT answer FROM kept") == 42
    assert await fetch(url, STRANGE) is None
    roles = "SELECT string_agg(rolname, ' ' ORDER BY rolname) FROM pg_roles WHERE rolname !~ '^pg_'"
    assert await fetch(url, roles) == "windlass windlass_admin"
    supers = "SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper"
    assert await fetch(url, supers) == "windlass_admin"
    assert await fetch(url, """SELECT windlass.enqueue('{"kind": "noop"}') IS NOT NULL""")
    assert await migrate(url) == []
    assert not trusts(servers.postgres.home / "cluster")
    with pytest.raises((asyncpg.InvalidPasswordError, asyncpg.InterfaceError)):
        await fetch(f"postgresql://windlass@/windlass?host={servers.postgres.home}", "SELECT 1")
    if IS_ROOT:
        named = {entry.pw_uid for entry in pwd.getpwall()}
        for home in (servers.postgres.home, servers.valkey.home):
            [user] = {found.st_uid for _, found in stats_of(home)}
            assert user not in named


async def test_a_folder_of_the_first_release_is_closed_at_its_next_start(
    earlier: Path, data: Path
) -> None:
    copied(earlier, data)
    hba = data / "postgresql" / "cluster" / "pg_hba.conf"
    added = "host trust all 10.0.0.0/8 reject  # trust\n"
    with hba.open("a") as file:
        file.write(added)
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        await is_as_new(servers)
        url = servers.database_url
    assert added in hba.read_text(), "what somebody added stays"
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        assert servers.database_url == url
        await is_as_new(servers)


# Before the first password is kept, before the second, before the superuser has a name, before
# pg_hba.conf is another, in the middle of changing owners, before the server starts; and then after
# each statement that it is told.
POINTS = [("os.rename", 1), ("os.rename", 3), ("subprocess.Popen", 2), ("os.rename", 1)]
POINTS += [("os.chown", 5), ("os.chown", 700)] if IS_ROOT else []
POINTS += [("execute", 1), ("execute", 2), ("execute", 3)]


def killed(data: Path, event: str, number: int) -> None:
    run = subprocess.run(
        [sys.executable, CRASHING, data, event, str(number)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS * 4,
    )
    assert run.returncode == -9, (event, number, run.returncode, run.stderr)


async def test_whoever_is_killed_on_the_way_is_none_the_worse_at_the_next_start(
    earlier: Path, data: Path
) -> None:
    copied(earlier, data)
    for event, number in POINTS:
        await asyncio.to_thread(killed, data, event, number)
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        await is_as_new(servers)


async def test_trust_that_somebody_opens_is_closed_again(made: Path) -> None:
    server = EmbeddedPostgres(made, settings=HASTY)
    await server.start()
    await server.stop()
    hba = server.home / "cluster" / "pg_hba.conf"
    hba.write_text(hba.read_text().replace("scram-sha-256", "trust"))
    assert trusts(server.home / "cluster")
    try:
        await server.start()
        with pytest.raises((asyncpg.InvalidPasswordError, asyncpg.InterfaceError)):
            await fetch(f"postgresql://windlass_admin@/postgres?host={server.home}", "SELECT 1")
    finally:
        await server.stop()


async def test_a_lost_password_of_the_application_is_made_anew(made: Path) -> None:
    first = EmbeddedPostgres(made, settings=HASTY)
    before = await first.start()
    await first.stop()
    first.password.path.unlink()
    second = EmbeddedPostgres(made, settings=HASTY)
    try:
        after = await second.start()
        assert after != before
        assert await fetch(after, "SELECT 1") == 1
    finally:
        await second.stop()


async def test_a_superusers_password_that_is_another_is_said_by_its_file(made: Path) -> None:
    first = EmbeddedPostgres(made, settings=HASTY)
    await first.start()
    await first.stop()
    first.password.path.unlink()
    first.admin_password.path.write_text("another")
    with pytest.raises(DataNotUsable, match="postgresql-admin: is not the password") as refused:
        await EmbeddedPostgres(made, settings=HASTY).start()
    assert "another" not in str(refused.value)


def test_a_folder_whose_parts_lie_elsewhere_keeps_its_account(earlier: Path, data: Path) -> None:
    copied(earlier, data)
    home = data / "postgresql"
    before = home.stat()
    (home / "cluster" / "pg_tblspc" / "16500").symlink_to("/somewhere")
    settle(home, durable=False)
    after = home.stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
