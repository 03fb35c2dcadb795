"""Embedded servers that come back: whichever ends by itself is started again.

The key of `windlass up`: made at the first start, kept in the data folder.

Whoever has the folder has the secrets. A copy of the database alone, a dump for example, has not.
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

from windlass.config import Settings
from windlass.config.secret_key import FILE, KEY_BYTES
from windlass.embedded.errors import EmbeddedError
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import EmbeddedServers
from windlass.embedded.valkey import EmbeddedValkey
from windlass.supervise import supervisor

log = structlog.get_logger()

RESTART_REST_SECONDS: Final = 0.5


@contextlib.asynccontextmanager
async def kept_alive(servers: EmbeddedServers) -> AsyncIterator[None]:
    """While inside, an embedded server that ends by itself is started again."""
    keepers = [
        supervisor().keep(name, partial(_keep_alive, server))
        for name, server in (("postgres", servers.postgres), ("valkey", servers.valkey))
    ]
    try:
        yield
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)


async def _keep_alive(server: EmbeddedPostgres | EmbeddedValkey) -> None:
    while True:
        log.error("server_ended", reason=str(await server.wait()))
        while True:
            await asyncio.sleep(RESTART_REST_SECONDS)
            try:
                await server.start()
                break
            except EmbeddedError as trouble:
                log.error("server_not_restarted", reason=str(trouble))  # noqa: TRY400


NAME: Final = "secret.key"


def with_key(settings: Settings, data: Path) -> Settings:
    """The settings with a key: the one they have, or that of the folder, which is made if need be.

    The caller holds the folder's lock.
    """
    if settings.secret_key is not None:
        return settings
    path = data / NAME
    if not path.exists():
        _make(path)
    return replace(settings, secret_key=FILE + str(path))


def _make(path: Path) -> None:
    """Whole or not at all: half a key would be taken for a lost one."""
    begun = path.with_suffix(".new")
    begun.unlink(missing_ok=True)
    handle = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(base64.b64encode(os.urandom(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    begun.replace(path)
