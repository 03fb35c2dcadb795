"""The embedded Valkey: the fast lane of a single machine.

Owns: `<data>/valkey`, `<data>/log/valkey.log`. Whoever starts it holds the data lock.
Promises: `start` returns when it answers PING. It keeps nothing on disk, since what lies in the
fast lane may be wiped at any moment anyway. Nobody is let in without its password.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from redis.asyncio import Redis
from redis.exceptions import RedisError

from windlass.embedded.account import Account, account_for, make_folder, settle
from windlass.embedded.binaries import valkey_server
from windlass.embedded.child import Order
from windlass.embedded.limits import CONNECT_SECONDS_MAX, VALKEY_START_SECONDS_MAX
from windlass.embedded.listen import host_and_port
from windlass.embedded.orphan import VALKEY_STOP, end_listener
from windlass.embedded.passwords import Password
from windlass.embedded.server import Server
from windlass.embedded.staging import reachable_valkey


class EmbeddedValkey(Server):
    NAME = "Valkey"
    SOCKET_NAME = "valkey.sock"
    START_SECONDS_MAX = VALKEY_START_SECONDS_MAX
    STOP_STEPS = VALKEY_STOP
    DEFAULT_SETTINGS = {  # noqa: RUF012 (ClassVar[Mapping] in the parent)
        "save": '""',
        "appendonly": "no",
        "maxmemory": "256mb",
        # When memory is full only keys with a lifetime go: caches, sessions, results. Marks and
        # beats have none: evicting those unseen would cost a sweep of PostgreSQL each time, while a
        # write that finds no room fails loudly and takes its declared fallback.
        "maxmemory-policy": "volatile-lru",
        "maxclients": "1000",
        "loglevel": "warning",
    }

    def __init__(
        self,
        data: Path,
        *,
        settings: Mapping[str, str] | None = None,  # values as in a configuration file
        listen: str | None = None,  # "host:port" to open TCP as well
        program: Path | None = None,  # None: the bundled valkey-server
    ) -> None:
        super().__init__(data, settings=settings, listen=listen)
        self._program = program
        self._address = host_and_port(listen) if listen else ("127.0.0.1", 0)  # 0: no TCP
        self._socket = self.home / self.SOCKET_NAME
        self.password = Password(self.data, "valkey")

    def url(self) -> str:
        if self.listen is None:
            return self._socket_url()
        return f"redis://{self.password.in_url()}@{self.listen}"

    async def prepare(self) -> Order:
        account, program = await asyncio.to_thread(self._prepared)
        await end_listener(self.sockets.previous() / self.SOCKET_NAME)
        self._socket = self.sockets.make(account) / self.SOCKET_NAME
        return Order(
            argv=(str(program), "-"),  # it reads its configuration from its standard input
            cwd=self.home,
            log_path=self.log_path,
            account=account,
            death_signal=signal.SIGTERM,
            stdin=self._configuration().encode(errors="surrogateescape"),
        )

    async def answers(self) -> bool:
        client = Redis.from_url(self._socket_url(), socket_timeout=CONNECT_SECONDS_MAX)
        try:
            return bool(await client.ping())
        except (OSError, RedisError):
            return False
        finally:
            await client.aclose()

    def _prepared(self) -> tuple[Account | None, Path]:
        settle(self.home, durable=False)
        account = account_for(self.home)
        make_folder(self.home, account)
        self.password.ensure()
        program = self._program or valkey_server()
        return account, reachable_valkey(program, account, self.data)

    def _configuration(self) -> str:
        host, port = self._address
        # Relative to its working directory, as in postgres.py.
        socket = self.SOCKET_NAME if self.sockets.is_home else str(self._socket)
        fixed = {
            "bind": host,
            "port": str(port),
            "unixsocket": _quoted(socket),
            "unixsocketperm": "700",
            "daemonize": "no",
            "requirepass": self.password.ensure(),
            # Nobody here needs what reaches beyond its data: files, programs, its own memory.
            "protected-mode": "yes",
            "enable-protected-configs": "no",
            "enable-debug-command": "no",
            "enable-module-command": "no",
        }
        lines = [f"{name} {value}" for name, value in {**self.settings, **fixed}.items()]
        return "\n".join([*lines, ""])

    def _socket_url(self) -> str:
        return f"unix://{self.password.in_url()}@" + quote(str(self._socket), safe="/")


def _quoted(text: str) -> str:
    """A word of the configuration, whatever it holds."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in os.fsencode(text)) + '"'
