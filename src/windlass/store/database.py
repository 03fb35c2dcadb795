"""Connections to PostgreSQL, and what its failures mean.

Owns: the pools. `hot` serves claim, finish and enqueue; `side` serves reads and everything an
operator asks for, so a slow list never stands in the way of work.
Promises: every call ends within its deadline; a server that cannot be reached is `Unavailable`,
never a raw driver error; deadlocks and serialization failures are tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import asyncpg

from windlass.errors import Unavailable, WindlassError
from windlass.limits import DATABASE_CALL_SECONDS, DATABASE_CONNECT_SECONDS
from windlass.store.statements import statement

Record = asyncpg.Record
Connection = asyncpg.pool.PoolConnectionProxy
T = TypeVar("T")

HOT_CONNECTIONS: Final = 4
SIDE_CONNECTIONS: Final = 6
RETRIES: Final = 5

# Statements of the hot path are all meant as nested loops over indexes. A table that is empty one
# minute and holds a million rows the next has no statistics worth planning by: a plan made for the
# empty table (a scan, a hash) was measured to cost 7x on the full one. So there is no other plan.
_HOT_PLANS: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}

# The connection or the server is the trouble: what was asked may be asked again later.
_UNREACHABLE: Final = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.QueryCanceledError,
)
# The statement was rolled back whole because of a neighbour: the same again will do.
_COLLISIONS: Final = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)


class Refused(WindlassError):
    """PostgreSQL understood and said no: a value or a row that may not be. Nothing was changed."""

    code = "refused_by_database"


class Unknown(Unavailable):
    """The connection broke while a statement was on its way: it may have been committed or not."""


class Database:
    """All that the engine knows of PostgreSQL."""

    def __init__(self, url: str, *, application: str = "windlass") -> None:
        self.url = url
        self.application = application
        self._hot: asyncpg.Pool[Record] | None = None
        self._side: asyncpg.Pool[Record] | None = None

    async def open(self) -> None:
        self._hot = await self._pool(HOT_CONNECTIONS, "hot", _HOT_PLANS)
        self._side = await self._pool(SIDE_CONNECTIONS, "side", {})

    async def close(self) -> None:
        for pool in (self._hot, self._side):
            if pool is not None:
                try:
                    await asyncio.wait_for(pool.close(), 5)
                except (TimeoutError, *_UNREACHABLE):
                    pool.terminate()

    async def _pool(self, size: int, use: str, settings: Mapping[str, str]) -> asyncpg.Pool[Record]:
        try:
            return await asyncpg.create_pool(
                self.url,
                min_size=1,
                max_size=size,
                timeout=DATABASE_CONNECT_SECONDS,
                command_timeout=DATABASE_CALL_SECONDS,
                max_inactive_connection_lifetime=300,
                reset=_leave_as_it_is,
                server_settings={
                    "application_name": f"{self.application} {use}",
                    "statement_timeout": str(int(DATABASE_CALL_SECONDS * 1000)),
                    "idle_in_transaction_session_timeout": "60000",
                    "timezone": "UTC",
                    "jit": "off",
                    **settings,
                },
            )
        except (*_UNREACHABLE, TimeoutError) as trouble:
            raise Unavailable(f"PostgreSQL does not answer: {trouble}") from trouble
        except asyncpg.PostgresError as trouble:
            raise Unavailable(f"PostgreSQL refuses the connection: {trouble}") from trouble

    @contextlib.asynccontextmanager
    async def hot(self) -> AsyncIterator[Connection[Record]]:
        assert self._hot is not None, "the database is not open"
        async with _lent(self._hot) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def side(self) -> AsyncIterator[Connection[Record]]:
        assert self._side is not None, "the database is not open"
        async with _lent(self._side) as connection:
            yield connection

    async def run(self, name: str, *args: Any) -> list[Record]:
        """One statement of the hot path, by name."""

        async def call() -> list[Record]:
            async with self.hot() as connection:
                return await connection.fetch(statement(name), *args)

        return await _through_collisions(call)

    async def read(self, name: str, *args: Any) -> list[Record]:
        """One statement that somebody is waiting for on a screen."""

        async def call() -> list[Record]:
            async with self.side() as connection:
                return await connection.fetch(statement(name), *args)

        return await _through_collisions(call)

    async def together(self, work: Callable[[Connection[Record]], Awaitable[T]]) -> T:
        """Several statements in one transaction, done again from the start on a collision."""

        async def call() -> T:
            async with self.hot() as connection, connection.transaction():
                return await work(connection)

        return await _through_collisions(call)


async def _leave_as_it_is(connection: object) -> None:
    """The driver would clean the session by a round trip after each use; ours are always clean.

    Nothing here takes session locks, listens, or sets what outlives a transaction.
    """


@contextlib.asynccontextmanager
async def _lent(pool: asyncpg.Pool[Record]) -> AsyncIterator[Connection[Record]]:
    async with _translated(), pool.acquire(timeout=DATABASE_CONNECT_SECONDS) as connection:
        try:
            yield connection
        except _UNREACHABLE:
            # Nobody may get it again: the server has hung up, and the driver may not know yet.
            with contextlib.suppress(asyncpg.InterfaceError):  # or it does, and took it back
                connection.terminate()
            raise


@contextlib.asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    try:
        yield
    except (WindlassError, *_COLLISIONS):
        raise
    except asyncpg.LockNotAvailableError as trouble:
        raise Unavailable(f"somebody else holds what was asked for: {trouble}") from trouble
    except asyncpg.DataError as trouble:
        raise Refused(f"PostgreSQL cannot take a value: {trouble}") from trouble
    except TimeoutError as trouble:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            # The caller gave up, and PostgreSQL did not hear of it: the caller's word stands.
            raise asyncio.CancelledError from trouble
        raise Unknown("PostgreSQL did not answer in time") from trouble
    except _UNREACHABLE as trouble:
        raise Unknown(f"PostgreSQL is not available: {trouble}") from trouble
    except asyncpg.PostgresError as trouble:
        raise Refused(f"PostgreSQL refused a statement: {trouble}") from trouble


async def _through_collisions(call: Callable[[], Awaitable[T]]) -> T:
    for _ in range(RETRIES):
        try:
            return await call()
        except _COLLISIONS:
            await asyncio.sleep(0.01)
    try:
        return await call()
    except _COLLISIONS as trouble:
        raise Unavailable(f"PostgreSQL rolled back {RETRIES + 1} times: {trouble}") from trouble
