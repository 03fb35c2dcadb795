"""A data folder as the first release made it: everybody who got at the socket was the superuser."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import asyncpg

from tests.embedded.owners import PATIENCE_SECONDS
from windlass.embedded.account import make_folder, shared_account
from windlass.embedded.binaries import postgres_bin_dir
from windlass.embedded.child import Child
from windlass.embedded.cluster import PostgresInstallation, run_to_end
from windlass.embedded.staging import reachable_postgres
from windlass.store.migrate import migrate

# What somebody may have put beside Windlass's own.
THINGS = """
CREATE TABLE kept (id bigserial PRIMARY KEY, number int GENERATED ALWAYS AS IDENTITY, answer int);
INSERT INTO kept (answer) VALUES (42);
CREATE SCHEMA "Shop";
CREATE TYPE "Shop".size AS ENUM ('small', 'large');
CREATE DOMAIN "Shop".price AS numeric CHECK (VALUE >= 0);
CREATE TYPE "Shop".line AS (size "Shop".size, price "Shop".price);
CREATE VIEW "Shop".answers AS SELECT answer FROM kept;
CREATE SEQUENCE "Shop".numbers;
CREATE FUNCTION "Shop".twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n';
"""


async def make_earlier_folder(data: Path) -> None:
    """With the whole schema of Windlass in it; nothing runs on it."""
    await asyncio.to_thread(data.mkdir, 0o711)
    account = shared_account() if os.geteuid() == 0 else None
    installation = PostgresInstallation(
        home=data / "postgresql",
        bin_dir=reachable_postgres(postgres_bin_dir(), account, data),
        log_path=data / "log" / "postgresql.log",
        account=account,
    )
    for folder in (data / "valkey", installation.home, installation.cluster):
        make_folder(folder, account)
    options = ("--username=windlass", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
    await run_to_end(
        installation.order("initdb", installation.cluster, *options), "be made", PATIENCE_SECONDS
    )
    settings = ("-c", "listen_addresses=", "-c", "unix_socket_directories=..", "-c", "fsync=off")
    server = Child.start(installation.order("postgres", installation.cluster, *settings))
    try:
        await _fill(f"postgresql://windlass@/%s?host={installation.home}&port=5432")
    finally:
        await server.stop((signal.SIGINT, PATIENCE_SECONDS))


async def _fill(url: str) -> None:
    connection = await _connected(url % "postgres")
    await connection.execute("CREATE DATABASE windlass")
    await connection.close()
    await migrate(url % "windlass")
    connection = await asyncpg.connect(url % "windlass")
    await connection.execute(THINGS)
    await connection.close()


async def _connected(url: str) -> asyncpg.Connection:
    """Once it answers."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                return await asyncpg.connect(url)
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.05)


def copied(folder: Path, to: Path) -> Path:
    """A copy with all owners and modes."""
    subprocess.run(["cp", "-a", folder, to], check=True)
    return to
