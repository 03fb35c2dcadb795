"""The embedded servers of `windlass up`: restarted when they end, and the key in their data folder.

Whichever of PostgreSQL and Valkey ends by itself is started again. The key that encrypts secrets is
made at the first start and kept in the data folder: whoever has the folder has the secrets. A copy
of the database alone, a dump for example, has not.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from windlass.compose.private_file import write_private
from windlass.compose.terminal import say, say_beside_log
from windlass.config import Settings
from windlass.config.secret_key import FILE, KEY_BYTES
from windlass.embedded.errors import DataNotUsable, EmbeddedError
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import EmbeddedServers
from windlass.embedded.valkey import EmbeddedValkey
from windlass.supervise import supervisor

log = structlog.get_logger()

RESTART_REST_SECONDS: Final = 0.5
TAIL_LINES_MAX: Final = 3
KEY_FILE: Final = "secret.key"


@contextlib.asynccontextmanager
async def keep_alive(servers: EmbeddedServers) -> AsyncIterator[None]:
    """While inside, an embedded server that ends by itself is started again."""
    keepers = [
        supervisor().keep(name, partial(_restart_for_ever, server))
        for name, server in (("postgres", servers.postgres), ("valkey", servers.valkey))
    ]
    try:
        yield
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)


async def _restart_for_ever(server: EmbeddedPostgres | EmbeddedValkey) -> None:
    while True:
        ended = await server.wait()
        reason, _, tail = str(ended).partition("; the end of ")
        path, _, last = tail.partition(":\n")
        log.error("server_ended", reason=reason, log_path=path, tail=_last_lines(last))
        say_beside_log(f"{ended.name} {ended.what}; it is started again")
        while True:
            await asyncio.sleep(RESTART_REST_SECONDS)
            try:
                await server.start()
                say(f"{ended.name} runs again")
                break
            except EmbeddedError as trouble:
                log.error("server_not_restarted", reason=str(trouble))  # noqa: TRY400


def _last_lines(text: str) -> str:
    return "\n".join(text.splitlines()[-TAIL_LINES_MAX:])


def with_secret_key(settings: Settings, data: Path) -> Settings:
    """The settings with a key: the one they have, or that of the folder, which is made if need be.

    The caller holds the folder's lock.
    """
    if settings.secret_key is not None:
        return settings
    path = data / KEY_FILE
    if not path.exists():
        try:
            write_private(path, base64.b64encode(os.urandom(KEY_BYTES)).decode())
        except OSError as trouble:
            raise DataNotUsable(
                path, f"cannot be written ({trouble.strerror})", "make room or permit it"
            ) from None
    return replace(settings, secret_key=FILE + str(path))
