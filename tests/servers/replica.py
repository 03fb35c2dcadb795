"""A PostgreSQL with a streaming replica that can be promoted."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from tests.ports import free_ports
from tests.servers.scratch import scratch_folder
from tests.until import until
from windlass.embedded.account import make_folder
from windlass.embedded.child import Child, Order
from windlass.embedded.postgres import EmbeddedPostgres

COPY_SECONDS_MAX = 30.0
# Commits reach the other server, not the disk: these servers outlive no power cut.
SETTINGS = {"fsync": "off", "wal_level": "replica", "max_wal_senders": "4"}


class Replica(EmbeddedPostgres):
    """Starts as a copy of `primary` that follows it."""

    def __init__(self, data: Path, *, listen: str, primary: EmbeddedPostgres) -> None:
        super().__init__(data, settings=SETTINGS, listen=listen)
        self._primary = primary

    async def prepare(self) -> Order:
        self.password = self._primary.password
        self.admin_password = self._primary.admin_password
        installation = await asyncio.to_thread(self._installation)
        if not installation.cluster.exists():
            make_folder(installation.cluster, installation.account)
            source = ("--dbname", self._primary.admin_url())
            options = ("--write-recovery-conf", "--checkpoint=fast", "--no-sync")
            copying = Child.start(
                installation.order("pg_basebackup", installation.cluster, *source, *options)
            )
            try:
                await copying.ends_within(COPY_SECONDS_MAX)
            finally:
                await copying.kill()
            assert copying.exit_code == 0, installation.log_path.read_text()
        return await super().prepare()


class Pair:
    def __init__(self, primary: EmbeddedPostgres, replica: Replica) -> None:
        self.primary, self.replica = primary, replica
        self._receiver: int | None = None

    @property
    def url(self) -> str:
        """Both hosts, in the order in which they were started."""
        hosts = f"{self.primary.listen},{self.replica.listen}"
        return f"postgresql://windlass{self.primary.password.in_url()}@{hosts}/windlass"

    async def be_synchronous(self) -> None:
        """From now on a commit is answered when the replica has it too."""
        await _execute(self.primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        await _execute(self.primary, "SELECT pg_reload_conf()")

        async def is_so() -> bool:
            rows = await _rows(self.primary, "SELECT sync_state FROM pg_stat_replication")
            return [row["sync_state"] for row in rows] == ["sync"]

        await until(is_so, what="the replica is synchronous")

    async def until_caught_up(self) -> None:
        """The replica has all that the primary has now."""
        lsn = await _value(self.primary, "SELECT pg_current_wal_lsn()::text")

        async def is_so() -> bool:
            behind = f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'"
            return bool(await _value(self.replica, behind))

        await until(is_so, what="the replica has caught up")

    async def promote(self) -> None:
        await _execute(self.replica, "SELECT pg_promote()")

    async def take_no_writes(self) -> None:
        """What a planned switchover does to the old primary before it promotes the new one."""
        await _execute(self.primary, "ALTER SYSTEM SET default_transaction_read_only = on")
        await _execute(self.primary, "SELECT pg_reload_conf()")

    async def freeze_replication(self) -> None:
        """The replica hears nothing more, and says nothing."""
        self._receiver = await _value(self.replica, "SELECT pid FROM pg_stat_wal_receiver")
        os.kill(self._receiver, signal.SIGSTOP)

    async def thaw_replication(self) -> None:
        if self._receiver is not None:
            os.kill(self._receiver, signal.SIGCONT)

    async def until_one_waits_for_the_replica(self, *, other_than: int = 0) -> list[int]:
        """The backends of the primary whose commit waits."""
        found: list[int] = []

        async def is_so() -> bool:
            nonlocal found
            rows = await _rows(
                self.primary,
                "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid <> $1",
                other_than,
            )
            found = [row["pid"] for row in rows]
            return bool(found)

        await until(is_so, what="a commit waits for the replica", within_seconds=10)
        return found

    async def hang_up(self, pid: int) -> None:
        await _rows(self.primary, "SELECT pg_terminate_backend($1, 5000)", pid)


@asynccontextmanager
async def open_pair() -> AsyncIterator[Pair]:
    with scratch_folder("one", "two") as folder:
        one, two = (f"127.0.0.1:{port}" for port in free_ports(2))
        primary = EmbeddedPostgres(folder / "one", settings=SETTINGS, listen=one)
        replica = Replica(folder / "two", listen=two, primary=primary)
        try:
            await primary.start()
            await replica.start()
            yield Pair(primary, replica)
        finally:
            await replica.stop(at_once=True)
            await primary.stop(at_once=True)


async def _execute(server: EmbeddedPostgres, sql: str) -> None:
    connection = await asyncpg.connect(server.admin_url(), timeout=10)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def _rows(server: EmbeddedPostgres, sql: str, *args: object) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(server.admin_url(), timeout=10)
    try:
        return await connection.fetch(sql, *args)
    finally:
        await connection.close()


async def _value(server: EmbeddedPostgres, sql: str) -> Any:
    return (await _rows(server, sql))[0][0]
