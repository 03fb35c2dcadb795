"""The embedded PostgreSQL.

Owns: `<data>/postgresql`, `<data>/log/postgresql.log`. Whoever starts it holds the data lock.
Promises: `start` returns when the database answers; a second start on the same data finds the data;
after `stop` no process is left.
Trust: everybody who can open the socket is the superuser, so the socket lies in a folder that only
the server's account and root can enter, and TCP is off unless `listen` asks for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import asyncpg

from windlass.embedded.account import account_for, make_folder
from windlass.embedded.binaries import postgres_bin_dir
from windlass.embedded.child import Order
from windlass.embedded.cluster import SUPERUSER, PostgresPlace, ensure_cluster
from windlass.embedded.limits import CONNECT_SECONDS_MAX, POSTGRES_START_SECONDS_MAX
from windlass.embedded.listen import host_and_port
from windlass.embedded.orphan import POSTGRES_STOP, cluster_name, end_postgres_on
from windlass.embedded.server import Server
from windlass.embedded.staging import reachable_postgres

DATABASE = "windlass"
_PORT = 5432  # part of the socket's name, even where no TCP port is opened


class EmbeddedPostgres(Server):
    NAME = "PostgreSQL"
    SOCKET_NAME = f".s.PGSQL.{_PORT}"
    START_SECONDS_MAX = POSTGRES_START_SECONDS_MAX
    STOP_STEPS = POSTGRES_STOP
    # Valid for PostgreSQL 14 to 18; meant for a small machine that other things run on too.
    DEFAULT_SETTINGS = {  # noqa: RUF012 (ClassVar[Mapping] in the parent)
        "fsync": "on",
        "synchronous_commit": "on",
        "shared_buffers": "128MB",
        "max_connections": "100",
        "wal_compression": "on",
        # Queues rewrite the same pages over and over: rare checkpoints write each of them once.
        "max_wal_size": "2GB",
        "min_wal_size": "256MB",
        "checkpoint_timeout": "15min",
        # A small hot table gathers dead rows quickly; the default minute is far too rare.
        "autovacuum_naptime": "5s",
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "off",
        "log_checkpoints": "off",
    }

    def __init__(
        self,
        data: Path,
        *,
        settings: Mapping[str, str] | None = None,
        listen: str | None = None,  # "host:port" to open TCP as well
        bin_dir: Path | None = None,  # None: the bundled PostgreSQL 18
    ) -> None:
        super().__init__(data, settings=settings, listen=listen)
        self._bin_dir = bin_dir
        self._address = host_and_port(listen) if listen else ("", _PORT)
        self._socket_folder = self.home

    def url(self, database: str = DATABASE) -> str:
        """The address of one of its databases."""
        if self.listen is not None:
            return f"postgresql://{SUPERUSER}@{self.listen}/{quote(database)}"
        return self._socket_url(database)

    async def prepare(self) -> Order:
        place = await asyncio.to_thread(self._place)
        await end_postgres_on(place.cluster)
        await ensure_cluster(place, durable=self.settings["fsync"] == "on")
        self._socket_folder = self.sockets.make(place.account)
        self._forget_stale_sockets()
        return place.order("postgres", place.cluster, *self._options(place))

    async def answers(self) -> bool:
        try:
            await self._run(DATABASE, "SELECT 1")
        except asyncpg.InvalidCatalogNameError:
            await self._run("postgres", f'CREATE DATABASE "{DATABASE}"')
        except (OSError, TimeoutError):
            return False
        except (asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
            return False  # it is starting, or still replaying its log
        return True

    def _place(self) -> PostgresPlace:
        account = account_for(self.home)
        make_folder(self.home, account)
        bin_dir = self._bin_dir or postgres_bin_dir()
        return PostgresPlace(
            home=self.home,
            bin_dir=reachable_postgres(bin_dir, account, self.data),
            log_path=self.log_path,
            account=account,
        )

    def _options(self, place: PostgresPlace) -> list[str]:
        host, port = self._address
        fixed = {
            "listen_addresses": host,
            "port": str(port),
            # Relative to the cluster, which is the server's working directory: no path is too long
            # for that, and no folder above has to be entered.
            "unix_socket_directories": ".." if self.sockets.is_home else str(self._socket_folder),
            "unix_socket_permissions": "0700",
            "cluster_name": cluster_name(place.cluster),
        }
        words = [f"{name}={value}" for name, value in {**self.settings, **fixed}.items()]
        return [argument for word in words for argument in ("-c", word)]

    def _socket_url(self, database: str) -> str:
        # The port is spelled out because PGPORT in the environment would otherwise stand in for it.
        host, port = quote(str(self._socket_folder), safe="/"), self._address[1]
        return f"postgresql://{SUPERUSER}@/{quote(database)}?host={host}&port={port}"

    def _forget_stale_sockets(self) -> None:
        """Nobody runs on this cluster now, and a socket's lock file has the trap of the pid too."""
        for file in self._socket_folder.glob(".s.PGSQL.*"):
            file.unlink()

    async def _run(self, database: str, statement: str) -> None:
        url = self._socket_url(database)
        connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS_MAX)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()
