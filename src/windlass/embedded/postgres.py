"""The embedded PostgreSQL.

Owns: `<data>/postgresql`, `<data>/log/postgresql.log`. Whoever starts it holds the data lock.
Promises: `start` returns when the database answers; a second start on the same data finds the data;
after `stop` no process is left.
Trust: nobody is let in without a password, by whatever way. The application is `windlass`, an
ordinary role that owns its database; the superuser is `windlass_admin`, and only this file logs in
as it. The socket lies in a folder that only the server's account and root can enter, and TCP is off
unless `listen` asks for it. PostgreSQL is given the SCRAM verifier of a password and not the
password: enough to recognise it, not enough to log in with it. So no password of ours is ever part
of a statement, which may be logged, or in a file that a server's account reads.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import asyncpg

from windlass.embedded.account import account_for, make_folder, maker_of, settle
from windlass.embedded.binaries import POSTGRES_MAJOR, postgres_bin_dir
from windlass.embedded.child import Order
from windlass.embedded.cluster import (
    PostgresInstallation,
    ensure_cluster,
    refuse_other_major,
)
from windlass.embedded.errors import DataNotUsable
from windlass.embedded.limits import (
    CONNECT_SECONDS_MAX,
    POSTGRES_START_SECONDS_MAX,
    SCRAM_ITERATIONS,
    SCRAM_SALT_BYTES,
)
from windlass.embedded.listen import host_and_port
from windlass.embedded.orphan import POSTGRES_STOP, cluster_name, end_postgres_on
from windlass.embedded.passwords import Password
from windlass.embedded.server import Server
from windlass.embedded.staging import reachable_postgres
from windlass.embedded.trust import ask_for_passwords, name_superuser, statement, trusts

DATABASE = "windlass"
APPLICATION, ADMIN = "windlass", "windlass_admin"
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
        scram_iterations: int = SCRAM_ITERATIONS,
    ) -> None:
        super().__init__(data, settings=settings, listen=listen)
        self._bin_dir = bin_dir
        self._address = host_and_port(listen) if listen else ("", _PORT)
        self._socket_folder = self.home
        self._scram_iterations = scram_iterations
        self.password = Password(self.data, "postgresql")
        self.admin_password = Password(self.data, "postgresql-admin")

    def url(self, database: str = DATABASE) -> str:
        """The address of one of its databases, for the application."""
        return self._url(APPLICATION, self.password, database)

    def admin_url(self, database: str = "postgres") -> str:
        """The same for the superuser."""
        return self._url(ADMIN, self.admin_password, database)

    async def prepare(self) -> Order:
        installation = await asyncio.to_thread(self._installation)
        if self._bin_dir is None:
            refuse_other_major(installation.cluster, POSTGRES_MAJOR)
        await end_postgres_on(installation.cluster)
        await self._end_trust(installation)
        await asyncio.to_thread(settle, self.home, durable=self._is_durable)
        installation = await asyncio.to_thread(self._installation)
        self.password.ensure()
        kept = self._verifier(self.admin_password)
        await ensure_cluster(installation, superuser=ADMIN, verifier=kept, durable=self._is_durable)
        self._socket_folder = self.sockets.make(installation.account)
        self._forget_stale_sockets()
        return installation.order("postgres", installation.cluster, *self._options(installation))

    async def answers(self) -> bool:
        try:
            await self._run(self._socket_url(APPLICATION, self.password, DATABASE), "SELECT 1")
        except (
            asyncpg.InvalidCatalogNameError,
            asyncpg.InvalidPasswordError,
            asyncpg.InvalidAuthorizationSpecificationError,
        ):
            await self._make_application()
        except (OSError, TimeoutError):
            return False
        except (asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
            return False  # it is starting, or still replaying its log
        return True

    async def _end_trust(self, installation: PostgresInstallation) -> None:
        """Close what an earlier release left open, or what somebody has opened since."""
        if not installation.cluster.exists():
            return
        is_open, is_known = trusts(installation.cluster), self.admin_password.known() is not None
        if maker_of(installation.account) == installation.account:
            if is_open or not is_known:
                kept = self._verifier(self.admin_password)
                await name_superuser(installation, superuser=ADMIN, verifier=kept)
        elif not is_known:  # without a name nobody can be PostgreSQL's single user
            raise DataNotUsable(
                self.admin_password.path,
                "is missing, and nobody else knows the superuser's password",
                "put it back from a copy of the data folder",
            )
        if is_open:
            await asyncio.to_thread(ask_for_passwords, installation.cluster, installation.account)

    async def _make_application(self) -> None:
        """The application's role, its database and what is in there; the login comes last.

        So a login that succeeds says that all of it is done. Each statement can be run again.
        """
        admin = await self._admin("postgres")
        try:
            if not await admin.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", APPLICATION):
                await admin.execute(f"CREATE ROLE {APPLICATION} NOLOGIN")
            if await admin.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
                await admin.execute(f"ALTER DATABASE {DATABASE} OWNER TO {APPLICATION}")
            else:
                await admin.execute(f"CREATE DATABASE {DATABASE} OWNER {APPLICATION}")
            inside = self._socket_url(ADMIN, self.admin_password, DATABASE)
            await self._run(inside, statement("application_own", role=APPLICATION))
            kept = self._verifier(self.password)
            await admin.execute(f"ALTER ROLE {APPLICATION} LOGIN NOSUPERUSER PASSWORD '{kept}'")
        finally:
            await admin.close()

    async def _admin(self, database: str) -> asyncpg.Connection:
        url = self._socket_url(ADMIN, self.admin_password, database)
        try:
            return await asyncpg.connect(url, timeout=CONNECT_SECONDS_MAX)
        except asyncpg.InvalidPasswordError:
            raise DataNotUsable(
                self.admin_password.path,
                "is not the password of this database's superuser",
                "put back the one that belongs to this data folder",
            ) from None

    def _verifier(self, password: Password) -> str:
        return verifier(password.ensure(), self._scram_iterations)

    @property
    def _is_durable(self) -> bool:
        return self.settings["fsync"] == "on"

    def _installation(self) -> PostgresInstallation:
        account = account_for(self.home)
        make_folder(self.home, account)
        bin_dir = self._bin_dir or postgres_bin_dir()
        return PostgresInstallation(
            home=self.home,
            bin_dir=reachable_postgres(bin_dir, account, self.data),
            log_path=self.log_path,
            account=account,
        )

    def _options(self, installation: PostgresInstallation) -> list[str]:
        host, port = self._address
        fixed = {
            "listen_addresses": host,
            "port": str(port),
            # Relative to the cluster, which is the server's working directory: no path is too long
            # for that, and no folder above has to be entered.
            "unix_socket_directories": ".." if self.sockets.is_home else str(self._socket_folder),
            "unix_socket_permissions": "0700",
            "cluster_name": cluster_name(installation.cluster),
        }
        words = [f"{name}={value}" for name, value in {**self.settings, **fixed}.items()]
        return [argument for word in words for argument in ("-c", word)]

    def _url(self, role: str, password: Password, database: str) -> str:
        if self.listen is None:
            return self._socket_url(role, password, database)
        return f"postgresql://{role}{password.in_url()}@{self.listen}/{quote(database)}"

    def _socket_url(self, role: str, password: Password, database: str) -> str:
        # The port is spelled out because PGPORT in the environment would otherwise stand in for it.
        host, port = quote(str(self._socket_folder), safe="/"), self._address[1]
        return f"postgresql://{role}{password.in_url()}@/{quote(database)}?host={host}&port={port}"

    def _forget_stale_sockets(self) -> None:
        """Nobody runs on this cluster now, and a socket's lock file has the trap of the pid too."""
        for file in self._socket_folder.glob(".s.PGSQL.*"):
            file.unlink()

    async def _run(self, url: str, statement: str) -> None:
        connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS_MAX)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def verifier(password: str, iterations: int) -> str:
    """SCRAM-SHA-256 (RFC 5803) of a password of ASCII letters, which need no preparation."""
    salt = os.urandom(SCRAM_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    words = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{words[0]}${words[1]}:{words[2]}"
