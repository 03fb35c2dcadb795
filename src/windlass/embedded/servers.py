"""Both embedded servers of one data folder, under its lock.

    async with EmbeddedServers(data) as servers:
        ... servers.database_url ... servers.redis_url ...

Promises: both run or neither does; one process uses a folder at a time; after `stop` no process is
left and the data is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from windlass.embedded.errors import DataNotUsable, EmbeddedError, ServerFailed
from windlass.embedded.lock import DataLock
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.server import wait_for_any
from windlass.embedded.valkey import EmbeddedValkey


class EmbeddedServers:
    def __init__(
        self,
        data: Path,
        *,
        postgres_settings: Mapping[str, str] | None = None,
        valkey_settings: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data.resolve()
        self.postgres = EmbeddedPostgres(self.data, settings=postgres_settings)
        self.valkey = EmbeddedValkey(self.data, settings=valkey_settings)
        self._lock = DataLock(self.data)

    @property
    def database_url(self) -> str:
        return self.postgres.url()

    @property
    def redis_url(self) -> str:
        return self.valkey.url()

    async def start(self) -> tuple[str, str]:
        """Returns the URLs of PostgreSQL and Valkey, once both answer."""
        self._make_data_folder()
        self._lock.acquire()
        try:
            return await self._start_both()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self.postgres.stop())
                both.create_task(self.valkey.stop())
        finally:
            self._lock.release()

    async def wait(self) -> ServerFailed:
        """Wait until one of them ends without being asked to; returns what to tell the user."""
        return await wait_for_any(self.postgres, self.valkey)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _start_both(self) -> tuple[str, str]:
        try:
            async with asyncio.TaskGroup() as both:
                postgres = both.create_task(self.postgres.start())
                valkey = both.create_task(self.valkey.start())
        except* EmbeddedError as failures:
            first = failures.exceptions[0]
        else:
            return postgres.result(), valkey.result()
        raise first

    def _make_data_folder(self) -> None:
        # As root others may pass through (not look inside), so that the servers' account can.
        mode = 0o711 if os.geteuid() == 0 else 0o700
        try:
            self.data.mkdir(mode=mode, parents=True, exist_ok=True)
        except OSError as error:
            raise DataNotUsable(
                self.data,
                f"cannot be made ({error.strerror})",
                "give a folder that you may write to with --data",
            ) from error
