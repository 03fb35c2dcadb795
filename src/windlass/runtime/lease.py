"""A node's right to run work, renewed on a thread and a connection of its own.

Nothing that happens on the node's main loop, however slow, can delay a renewal. The node trusts its
lease only for a window counted from when the last successful renewal *started*, by the monotonic
clock, less a margin: it stops starting work before anybody may take its jobs away.

    renewal starts        answer        stop starting          lease lapses
    |---------------------|-------------------|--------margin--------|
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from uuid import UUID

import asyncpg
import structlog

from windlass.clock import monotonic
from windlass.limits import LEASE_MARGIN_SECONDS
from windlass.store.statements import statement

log = structlog.get_logger()


class Lease:
    def __init__(
        self, url: str, node_id: UUID, *, lease_seconds: float, heartbeat_seconds: float
    ) -> None:
        self._url = url
        self._node_id = node_id
        self._lease_seconds = lease_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._trusted_until = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.is_lost = False
        self.in_flight: Callable[[], int] = lambda: 0
        self.on_lost: Callable[[], None] = lambda: None  # called on the lease's thread

    def granted(self, started_at: float) -> None:
        """A renewal (or the registration) that started at `started_at` succeeded."""
        self._trusted_until = started_at + self._lease_seconds - LEASE_MARGIN_SECONDS

    @property
    def is_trusted(self) -> bool:
        """May this node start work now?"""
        return not self.is_lost and monotonic() < self._trusted_until

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="windlass lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        asyncio.run(self._renew_for_ever())

    async def _renew_for_ever(self) -> None:
        connection: asyncpg.Connection[asyncpg.Record] | None = None
        try:
            while not self._stop.is_set() and not self.is_lost:
                try:
                    async with asyncio.timeout(self._heartbeat_seconds):
                        if connection is None or connection.is_closed():
                            connection = await asyncpg.connect(
                                self._url, server_settings={"application_name": "windlass lease"}
                            )
                        await self._renew(connection)
                except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as e:
                    log.warning("lease_not_renewed", reason=str(e) or type(e).__name__)
                    if connection is not None:
                        connection.terminate()
                        connection = None
                    await self._rest(min(1.0, self._heartbeat_seconds))
                    continue
                await self._rest(self._heartbeat_seconds)
        finally:
            if connection is not None:
                with contextlib.suppress(Exception):
                    await connection.close(timeout=1)

    async def _renew(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        started_at = monotonic()
        row = await connection.fetchrow(
            statement("node_renew"), self._node_id, self._lease_seconds, self.in_flight()
        )
        if row is not None:
            self.granted(started_at)
            return
        # Somebody declared this node lost; its jobs run elsewhere by now.
        self.is_lost = True
        log.error("lease_lost", node=self._node_id.hex)
        self.on_lost()

    async def _rest(self, seconds: float) -> None:
        """Nothing else runs on this loop, so a blocking wait that stop() can end is fine."""
        await asyncio.to_thread(self._stop.wait, seconds)
