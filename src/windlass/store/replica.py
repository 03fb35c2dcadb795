"""A read replica of PostgreSQL, for lists and statistics only.

Promises: it is never waited for long and never believed when it is far behind: whatever goes wrong,
`fetch` says None, the primary is asked instead, and for a few seconds nobody tries again.
Never: serves what decides something. What a caller has just written may not be here yet.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

import asyncpg
import structlog

from windlass.clock import monotonic
from windlass.limits import (
    DATABASE_CALL_SECONDS,
    REPLICA_CONNECT_SECONDS,
    REPLICA_LAG_SECONDS_MAX,
    REPLICA_LOOK_SECONDS,
    REPLICA_REST_SECONDS,
)
from windlass.store.address import Address, leave_as_it_is
from windlass.store.statements import statement

log = structlog.get_logger()

CONNECTIONS: Final = 4
_TROUBLE: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class _Behind(OSError):
    pass


class Replica:
    def __init__(self, url: str, application: str, settings: Mapping[str, str]) -> None:
        self._address = Address(url, wants="prefer-standby")
        self._settings = {"application_name": application, **settings}
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()
        self._rests_until = 0.0
        self._looked_at = 0.0

    async def fetch(self, sql: str, *args: Any) -> list[asyncpg.Record] | None:
        """None: ask the primary."""
        if monotonic() < self._rests_until:
            return None
        try:
            pool = await self._opened()
            async with (
                pool.acquire(timeout=REPLICA_CONNECT_SECONDS) as connection,
                self._address.turn(connection, self._settings),
            ):
                await self._must_be_near(connection)
                return await connection.fetch(sql, *args)
        except _TROUBLE as trouble:
            # A query that stood in the way of the replay is among them, and says so.
            log.warning("replica_not_used", reason=str(trouble) or type(trouble).__name__)
            self._rests_until = monotonic() + REPLICA_REST_SECONDS
            return None

    async def close(self) -> None:
        if self._pool is not None:
            with contextlib.suppress(*_TROUBLE):
                await asyncio.wait_for(self._pool.close(), 5)

    async def _opened(self) -> asyncpg.Pool[asyncpg.Record]:
        """Opened when it is first needed: a replica that is away keeps no node from starting."""
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._address.url,
                    connect=self._address.dial,
                    min_size=0,
                    max_size=CONNECTIONS,
                    timeout=REPLICA_CONNECT_SECONDS,
                    command_timeout=DATABASE_CALL_SECONDS,
                    reset=leave_as_it_is,
                    server_settings=self._settings,
                )
        return self._pool

    async def _must_be_near(self, connection: Any) -> None:
        if monotonic() - self._looked_at < REPLICA_LOOK_SECONDS:
            return
        lag: float = await connection.fetchval(statement("replica_lag"))
        if lag > REPLICA_LAG_SECONDS_MAX:
            raise _Behind(f"the replica is {lag:.0f} s behind")
        self._looked_at = monotonic()
