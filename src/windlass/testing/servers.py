"""A PostgreSQL and a Valkey of one's own, for a test run or a benchmark.

    async with PrivateServers() as servers:
        url = await servers.create_database()      # fresh, empty, about 15 ms
        await servers.kill_valkey()                # and what a bad day brings
        await servers.restart_valkey()             # at the same URL as before

Everything lies in a temporary folder that goes when the servers stop. Unless `durable`, nothing is
forced to disk: a test does not outlive a power cut, and where the machine has memory to spare the
folder lies there (a database has hundreds of files: copying them takes a quarter of the time). The
servers survive each other's death and any number of restarts; both URLs stay as they are.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote, urlsplit

from windlass.extras import server_parts

with server_parts("windlass.testing.servers"):
    import asyncpg

    from windlass.embedded.limits import SCRAM_ITERATIONS
    from windlass.embedded.postgres import APPLICATION, EmbeddedPostgres
    from windlass.embedded.valkey import EmbeddedValkey

# Commits still wait for the log to be written: they survive `kill_postgres`, as users' commits do.
_CAREFREE: Mapping[str, str] = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "256MB",  # it may lie in memory
}
# As many keyspaces as a run may make databases: see `redis_of`.
_ROOMY: Mapping[str, str] = {"databases": "16384"}
_NAME: Final = "test_"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 (a folder of our own is made in it)
_MEMORY_FREE_MIN: Final = 4 << 30


class PrivateServers:
    def __init__(
        self,
        *,
        durable: bool = False,  # True: fsync as in production, for figures that mean something
        postgres_settings: Mapping[str, str] | None = None,
        valkey_settings: Mapping[str, str] | None = None,
        bin_dir: Path | None = None,  # of another PostgreSQL than the bundled one
    ) -> None:
        self._data = _folder(durable) / f"windlass-test-{os.urandom(8).hex()}"
        careful: Mapping[str, str] = {} if durable else _CAREFREE
        self.postgres = EmbeddedPostgres(
            self._data,
            settings={**careful, **(postgres_settings or {})},
            bin_dir=bin_dir,
            # A run logs in thousands of times.
            scram_iterations=SCRAM_ITERATIONS if durable else 1,
        )
        self.valkey = EmbeddedValkey(self._data, settings={**_ROOMY, **(valkey_settings or {})})
        self._numbers = itertools.count(1)

    @property
    def database_url(self) -> str:
        """The database `windlass`, shared by whoever uses it; see `create_database`."""
        return self.postgres.url()

    @property
    def redis_url(self) -> str:
        return self.valkey.url()

    def redis_of(self, database_url: str) -> str:
        """The URL of keys that belong to one database of `create_database`, and to no other.

        Two installations do not share a Redis: each would see to what the other has marked.
        """
        return f"{self.redis_url}?db={_database_in(database_url).removeprefix(_NAME)}"

    async def start(self) -> Self:
        # The servers' account passes through when we are root.
        await asyncio.to_thread(self._data.mkdir, 0o711)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self.postgres.start())
                both.create_task(self.valkey.start())
            await self._grant_settings()
        except BaseException:
            await self.stop()
            raise
        return self

    async def stop(self) -> None:
        try:
            # At once: nothing here is worth a last checkpoint.
            async with asyncio.TaskGroup() as both:
                both.create_task(self.postgres.stop(at_once=True))
                both.create_task(self.valkey.stop(at_once=True))
        finally:
            await asyncio.to_thread(shutil.rmtree, self._data)

    async def create_database(self, template: str = "template0") -> str:
        """The URL of a new database, a copy of `template` (a name or a URL of this server).

        Nobody may be connected to the template meanwhile. Set up a schema once, then copy it.
        """
        name = f"{_NAME}{next(self._numbers)}"
        source = _database_in(template) if "://" in template else template
        connection = await asyncpg.connect(self.postgres.admin_url())
        try:
            # Copying files takes an eighth of the time of copying through the log.
            is_old = connection.get_server_version().major < 15  # knows no other way
            strategy = "" if is_old else "STRATEGY file_copy"
            await connection.execute(
                f'CREATE DATABASE "{name}" OWNER {APPLICATION} TEMPLATE "{source}" {strategy}'
            )
        finally:
            await connection.close()
        return self.postgres.url(name)

    async def drop_database(self, url: str) -> None:
        """Drop what `create_database` made, whoever is connected to it."""
        connection = await asyncpg.connect(self.postgres.admin_url())
        try:
            await connection.execute(f'DROP DATABASE IF EXISTS "{_database_in(url)}" WITH (FORCE)')
        finally:
            await connection.close()

    def admin_url(self, database_url: str) -> str:
        """The same database for PostgreSQL's superuser, which whoever has the other is not."""
        return self.postgres.admin_url(_database_in(database_url))

    async def _grant_settings(self) -> None:
        """Tests may put rows where no caller could, and not wait for a deadlock to be found."""
        connection = await asyncpg.connect(self.postgres.admin_url())
        try:
            if connection.get_server_version().major >= 15:  # before, a superuser's alone
                await connection.execute(
                    "GRANT SET ON PARAMETER session_replication_role, deadlock_timeout "
                    f"TO {APPLICATION}"
                )
        finally:
            await connection.close()

    async def kill_postgres(self) -> None:
        """SIGKILL: what was committed is there after `restart_postgres`."""
        await self.postgres.kill()

    async def restart_postgres(self, *, at_once: bool = False) -> None:
        """Stop it, if it runs, and start it again; `at_once` is its immediate shutdown."""
        await self.postgres.stop(at_once=at_once)
        await self.postgres.start()

    async def kill_valkey(self) -> None:
        """SIGKILL: all keys are gone."""
        await self.valkey.kill()

    async def restart_valkey(self) -> None:
        """Start it again, empty, at the same URL."""
        await self.valkey.stop()
        await self.valkey.start()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()


def _folder(durable: bool) -> Path:
    is_open = not durable and os.access(_MEMORY, os.W_OK | os.X_OK)
    has_room = is_open and shutil.disk_usage(_MEMORY).free >= _MEMORY_FREE_MIN
    return _MEMORY if has_room else Path(tempfile.gettempdir())


def _database_in(url: str) -> str:
    return unquote(urlsplit(url).path.lstrip("/"))
