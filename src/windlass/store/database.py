"""Connection pools to PostgreSQL, and what its failures mean.

Owns: the pools. `hot` serves claim and enqueue; `settling` serves what ends attempts, which waits
for nobody's row for long; `side` serves reads and everything an operator asks for, so a slow list
never stands in the way of work. `own` serves tasks that write in their job's transaction: it is
made when the first one does.
Promises: every call ends within its deadline; a server that cannot be reached is `Unavailable`,
never a raw driver error; deadlocks and serialization failures are tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from typing import Any, Final, TypeVar

import asyncpg
import structlog

from windlass.clock import monotonic
from windlass.config.redaction import where_of
from windlass.errors import Unavailable, WindlassError
from windlass.limits import (
    ASKED_LOCK_SECONDS,
    ASKED_ROW_SECONDS,
    DATABASE_ANSWER_SECONDS,
    DATABASE_CALL_SECONDS,
    DATABASE_CONNECT_SECONDS,
    OWN_CONNECTIONS_MAX,
    OWN_IDLE_SECONDS_MAX,
    OWN_STATEMENT_SECONDS_MAX,
    ROW_WAIT_SECONDS,
)
from windlass.store.address import Address, leave_as_it_is
from windlass.store.replica import Replica
from windlass.store.row_gate import RowGates
from windlass.store.statements import statement
from windlass.telemetry.outage import POSTGRESQL, reason_text

Record = asyncpg.Record
Connection = asyncpg.pool.PoolConnectionProxy
log = structlog.get_logger()

T = TypeVar("T")

HOT_CONNECTIONS: Final = 4
SETTLING_CONNECTIONS: Final = 4
ASKING_MAX: Final = 2  # of either, for whoever may have to wait for a row
SIDE_CONNECTIONS: Final = 6
OWN_POOL_IDLE_SECONDS: Final = 30.0
RETRIES: Final = 5

_SETTINGS: Final = {
    "statement_timeout": str(int(DATABASE_CALL_SECONDS * 1000)),
    "idle_in_transaction_session_timeout": "60000",
    "timezone": "UTC",
    "jit": "off",
}
# Statements of the hot path are all meant as nested loops over indexes. A table that is empty one
# minute and holds a million rows the next has no statistics worth planning by: a plan made for the
# empty table (a scan, a hash) was measured to cost 7x on the full one. So there is no other plan.
_HOT_SETTINGS: Final = {
    **_SETTINGS,
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}

# A batch does not wait for a row that somebody holds: it is taken apart, and goes on without.
_SETTLING_SETTINGS: Final = {
    **_HOT_SETTINGS,
    "lock_timeout": str(int(ROW_WAIT_SECONDS * 1000)),
}

# A task takes its time, and thinks between its statements.
_OWN_SETTINGS: Final = {
    **_SETTINGS,
    "statement_timeout": str(int(OWN_STATEMENT_SECONDS_MAX * 1000)),
    "idle_in_transaction_session_timeout": str(int(OWN_IDLE_SECONDS_MAX * 1000)),
}

# The connection or the server is the trouble: what was asked may be asked again later.
_UNREACHABLE: Final = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    # A password was rotated, or nobody may log in just now; a pooler says so only to a statement.
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.OperatorInterventionError,  # shut down, starting, crashed, cancelled
    asyncpg.InsufficientResourcesError,  # too many connections, no room on the disk
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
)
# The statement was rolled back whole because of a neighbour, or because a migration changed what it
# was prepared for: the same again will do.
_COLLISIONS: Final = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InvalidCachedStatementError,
)
# So PostgreSQL says of a cancel that somebody asked for, and mostly nobody did: if a row is to be
# had at the very moment its lock_timeout passes, and the statement goes on to wait for the next,
# the reason is forgotten on the way (once in some 15,000 such moments on a busy machine).
# What asyncpg says of an argument: `… argument $1: <the value> (why)`.
_ARGUMENT: Final = re.compile(r"(invalid input for query argument \$\d+): .*", re.DOTALL)
_BY_REQUEST: Final = "user request"


class Refused(WindlassError):
    """PostgreSQL understood and said no: a value or a row that may not be. Nothing was changed."""

    code = "refused_by_database"


class LimitReached(Refused):
    """A limit of a queue, counted while a transaction commits, or one of the server's own."""

    code = "queue_full"


class BadValue(Refused):
    """It is this value or row that may not be; others may."""


class Unknown(Unavailable):
    """The connection broke while a statement was on its way: it may have been committed or not."""


class TooSlow(Unknown):
    """The server stopped it at its time limit: it was too much at once, or waited for somebody."""


class RowLocked(Unavailable):
    """Somebody else holds a row that it needs, for longer than it may wait; nothing was changed."""


class NoConnection(Unavailable):
    """The server let nobody in; nothing was asked of it."""


class Demoted(Unavailable):
    """The server takes no writes any more; nothing was changed. The primary is elsewhere."""


class Database:
    """All that the engine knows of PostgreSQL."""

    def __init__(
        self, url: str, *, application: str = "windlass", read_url: str | None = None
    ) -> None:
        self.url = url
        self.application = application
        self._address = Address(url)
        self.is_verified = self._address.is_verified  # a server must prove who it is
        self._where = where_of(url)
        self._replica = Replica(read_url, f"{application} lists", _SETTINGS) if read_url else None
        self._hot: asyncpg.Pool[Record] | None = None
        self._settling: asyncpg.Pool[Record] | None = None
        self._side: asyncpg.Pool[Record] | None = None
        self._own: asyncpg.Pool[Record] | None = None
        self._making = asyncio.Lock()
        # Whoever finds all taken waits for as long as its attempt may take, not for a deadline.
        self._own_room = asyncio.Semaphore(OWN_CONNECTIONS_MAX)
        self._gates = RowGates()
        self._asking = asyncio.Semaphore(ASKING_MAX)
        self._asking_to_settle = asyncio.Semaphore(ASKING_MAX)

    async def open(self) -> None:
        self._hot = await self._pool(HOT_CONNECTIONS, "hot", _HOT_SETTINGS)
        self._settling = await self._pool(SETTLING_CONNECTIONS, "settling", _SETTLING_SETTINGS)
        self._side = await self._pool(SIDE_CONNECTIONS, "side", _SETTINGS)

    async def close(self) -> None:
        if self._replica is not None:
            await self._replica.close()
        for pool in (self._hot, self._settling, self._side, self._own):
            if pool is not None:
                try:
                    await asyncio.wait_for(pool.close(), 5)
                except Exception as trouble:  # whatever it is: the others are closed as well
                    log.debug("pool_not_closed", reason=str(trouble) or type(trouble).__name__)
                    pool.terminate()

    async def _pool(
        self,
        size: int,
        use: str,
        settings: Mapping[str, str],
        *,
        at_least: int = 1,
        call_seconds: float = DATABASE_CALL_SECONDS,
        idle_seconds: float = 300,
        reset: Callable[[Any], Awaitable[None]] | None = leave_as_it_is,
    ) -> asyncpg.Pool[Record]:
        try:
            return await asyncpg.create_pool(
                self.url,
                connect=self._address.dial,
                min_size=at_least,
                max_size=size,
                timeout=DATABASE_CONNECT_SECONDS,
                command_timeout=call_seconds + DATABASE_ANSWER_SECONDS,
                max_inactive_connection_lifetime=idle_seconds,
                reset=reset,
                server_settings={"application_name": f"{self.application} {use}", **settings},
            )
        except (*_UNREACHABLE, TimeoutError) as trouble:
            raise Unavailable(f"PostgreSQL does not answer: {trouble}") from trouble
        except asyncpg.PostgresError as trouble:
            raise Unavailable(f"PostgreSQL refuses the connection: {trouble}") from trouble

    @contextlib.asynccontextmanager
    async def hot(self, **transaction: Any) -> AsyncIterator[Connection[Record]]:
        """With options of a transaction, in one."""
        assert self._hot is not None, "the database is not open"
        async with self._lent(self._hot, _HOT_SETTINGS, transaction) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def settling(self, **transaction: Any) -> AsyncIterator[Connection[Record]]:
        """As `hot`, for what must not wait: RowLocked, if a row is held for ROW_WAIT_SECONDS."""
        assert self._settling is not None, "the database is not open"
        async with self._lent(self._settling, _SETTLING_SETTINGS, transaction) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def side(self, **transaction: Any) -> AsyncIterator[Connection[Record]]:
        assert self._side is not None, "the database is not open"
        async with self._lent(self._side, _SETTINGS, transaction) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def own(self) -> AsyncIterator[Connection[Record]]:
        """A transaction that a task writes in."""
        async with self._making:
            if self._own is None:
                self._own = await self._pool(
                    OWN_CONNECTIONS_MAX,
                    "tasks",
                    _OWN_SETTINGS,
                    at_least=0,
                    call_seconds=OWN_STATEMENT_SECONDS_MAX,
                    idle_seconds=OWN_POOL_IDLE_SECONDS,
                    # What a task has set for its session must not meet the next one.
                    reset=leave_as_it_is if self._address.is_pooled else None,
                )
        async with (
            self._own_room,
            self._lent(self._own, _OWN_SETTINGS, {"readonly": False}) as connection,
        ):
            yield connection

    @contextlib.asynccontextmanager
    async def _lent(
        self, pool: asyncpg.Pool[Record], settings: Mapping[str, str], transaction: dict[str, Any]
    ) -> AsyncIterator[Connection[Record]]:
        try:
            async with (
                _lent(pool) as connection,
                self._address.turn(connection, settings, **transaction),
            ):
                yield connection
            if POSTGRESQL.is_on:
                POSTGRESQL.answered(self._where)
        except Unavailable as trouble:
            self._failed(trouble)
            if not isinstance(trouble, Demoted):
                raise
            # Reads through connections of before would work on, and tell of the past for ever.
            for other in (self._hot, self._settling, self._side, self._own):
                if other is not None:
                    await other.expire_connections()
            raise

    def _failed(self, trouble: Unavailable) -> None:
        """Say once that the server is away, if that is what it means."""
        is_certain = isinstance(trouble, NoConnection)
        if is_certain or (isinstance(trouble, Unknown) and not isinstance(trouble, TooSlow)):
            reason = reason_text(trouble.__cause__ or trouble)
            POSTGRESQL.failed(self._where, reason, is_certain=is_certain)

    async def run(self, name: str, *args: Any) -> list[Record]:
        """One statement of the hot path, by name."""

        async def call() -> list[Record]:
            async with self.hot() as connection:
                return await connection.fetch(statement(name), *args)

        return await _through_collisions(call)

    async def settle(self, name: str, *args: Any) -> list[Record]:
        """One statement that ends attempts, by name. Raises RowLocked rather than wait long."""

        async def call() -> list[Record]:
            async with self.settling() as connection:
                return await connection.fetch(statement(name), *args)

        return await _through_collisions(call)

    async def read(self, name: str, *args: Any) -> list[Record]:
        """One statement that somebody is waiting for on a screen."""

        async def call() -> list[Record]:
            async with self.side() as connection:
                return await connection.fetch(statement(name), *args)

        return await _through_collisions(call)

    async def browse(self, sql: str, *args: Any) -> list[Record]:
        """A list or a figure that may be a moment old: from the replica, if there is one."""
        if self._replica is not None:
            found = await self._replica.fetch(sql, *args)
            if found is not None:
                return found
        async with self.side() as connection:
            return await connection.fetch(sql, *args)

    async def together(
        self,
        work: Callable[[Connection[Record]], Awaitable[T]],
        *,
        lock_seconds: float | None = None,
    ) -> T:
        """Several statements in one transaction, done again from the start on a collision.

        `lock_seconds`: how long a row that another transaction holds is waited for at most; then
        it raises RowLocked. None: as long as any statement may take.
        """

        async def call() -> T:
            async with self.hot(readonly=False) as connection:
                if lock_seconds is not None:
                    await wait_at_most(connection, lock_seconds)
                return await work(connection)

        return await _through_collisions(call)

    async def ask(
        self,
        work: Callable[[Connection[Record]], Awaitable[T]],
        *,
        about: Hashable | None = None,
        lock_seconds: float = ASKED_LOCK_SECONDS,
    ) -> T:
        """As `together`, for what somebody asks of one thing by its name, which another may hold:
        raises RowLocked after so long. However many ask, claiming and accepting go on beside them,
        and who asks for something else has its turn: nobody keeps a connection to wait for a row,
        and of those who ask `about` the same thing one tries for all.
        """
        give_up_at = monotonic() + lock_seconds
        async with self._gates.pass_through(about) as gate:
            while True:
                if gate.rests_beyond(give_up_at):
                    raise RowLocked("somebody else holds what was asked for")
                await gate.rest()
                try:
                    async with _room_of(self._asking):
                        done = await self.together(work, lock_seconds=gate.wait_seconds)
                except RowLocked:
                    gate.was_held()
                    if gate.rests_beyond(give_up_at):
                        raise
                except Unavailable:
                    raise
                except WindlassError:  # an answer: the row was to be had
                    gate.was_free()
                    raise
                else:
                    gate.was_free()
                    return done

    async def ask_at_once(self, name: str, *args: Any) -> list[Record]:
        """One statement that waits for nobody's row, in turn with those who `ask`."""
        async with _room_of(self._asking):
            return await self.run(name, *args)

    async def ask_together_at_once(self, work: Callable[[Connection[Record]], Awaitable[T]]) -> T:
        """Several of them in one transaction."""
        async with _room_of(self._asking):
            return await self.together(work)

    async def ask_for(self, name: str, *args: Any, about: Hashable | None = None) -> list[Record]:
        """As `ask`, of one statement by name."""

        async def work(connection: Connection[Record]) -> list[Record]:
            return await connection.fetch(statement(name), *args)

        return await self.ask(work, about=about)

    async def settle_together(
        self,
        work: Callable[[Connection[Record]], Awaitable[T]],
        *,
        lock_seconds: float | None = None,  # None: ROW_WAIT_SECONDS
    ) -> T:
        """The same for what ends attempts. Raises RowLocked rather than wait for a row."""

        async def call() -> T:
            async with self.settling(readonly=False) as connection:
                if lock_seconds is not None:
                    await wait_at_most(connection, lock_seconds)
                return await work(connection)

        return await _through_collisions(call)

    async def settle_asked(self, work: Callable[[Connection[Record]], Awaitable[T]]) -> T:
        """As `settle_together`, for what somebody asks of jobs that another may hold: raises
        RowLocked after a moment. However many ask, attempts are ended beside them.
        """
        async with _room_of(self._asking_to_settle):
            return await self.settle_together(work, lock_seconds=ASKED_ROW_SECONDS)


async def wait_at_most(connection: Connection[Record], lock_seconds: float) -> None:
    """From here on this transaction raises RowLocked, rather than wait for a row for longer."""
    await connection.execute(f"SET LOCAL lock_timeout = {lock_seconds * 1000:.0f}")


@contextlib.asynccontextmanager
async def _room_of(room: asyncio.Semaphore) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(DATABASE_CONNECT_SECONDS):
            await room.acquire()
    except TimeoutError as trouble:
        raise Unavailable("too many wait for what others hold; repeat it") from trouble
    try:
        yield
    finally:
        room.release()


@contextlib.asynccontextmanager
async def _lent(pool: asyncpg.Pool[Record]) -> AsyncIterator[Connection[Record]]:
    async with _translated():
        connection = await _acquire(pool)
        try:
            yield connection
        except asyncpg.ConfigurationLimitExceededError:  # the answer of a server that is well
            raise
        except _UNREACHABLE:
            # Nobody may get it again: the server has hung up, and the driver may not know yet; or
            # it became a replica, and the primary is elsewhere now.
            with contextlib.suppress(asyncpg.InterfaceError):  # or it does, and took it back
                connection.terminate()
            raise
        finally:
            await pool.release(connection)


async def _acquire(pool: asyncpg.Pool[Record]) -> Connection[Record]:
    """Whatever a server says to somebody who wants to log in, it says of the login: nothing was
    asked of it yet, and the same may be asked again later.
    """
    try:
        return await pool.acquire(timeout=DATABASE_CONNECT_SECONDS)
    except TimeoutError:
        raise
    except (asyncpg.PostgresError, *_UNREACHABLE) as trouble:
        raise NoConnection(f"PostgreSQL takes no connection: {trouble}") from trouble


def _without_value(trouble: Exception) -> str:
    """What PostgreSQL or its client said, without the value or row that it was about, which may be
    nobody's business: a DETAIL shows a whole row, and the client what it could not encode.
    """
    text = str(trouble.args[0] if trouble.args else trouble)
    return _ARGUMENT.sub(r"\1", text)


@contextlib.asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    try:
        yield
    except (WindlassError, *_COLLISIONS):
        raise
    except asyncpg.LockNotAvailableError as trouble:
        raise RowLocked(f"somebody else holds what was asked for: {trouble}") from trouble
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as trouble:
        raise BadValue(f"PostgreSQL cannot take a value: {_without_value(trouble)}") from trouble
    except asyncpg.ConfigurationLimitExceededError as trouble:
        raise LimitReached(f"PostgreSQL refused what is beyond a limit: {trouble}") from trouble
    except asyncpg.ReadOnlySQLTransactionError as trouble:
        raise Demoted(f"PostgreSQL takes no writes here: {trouble}") from trouble
    except TimeoutError as trouble:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            # The caller gave up, and PostgreSQL did not hear of it: the caller's word stands.
            raise asyncio.CancelledError from trouble
        raise Unknown("PostgreSQL did not answer in time") from trouble
    except asyncpg.QueryCanceledError as trouble:
        if _BY_REQUEST in str(trouble):
            raise RowLocked(f"somebody else holds what was asked for: {trouble}") from trouble
        raise TooSlow(f"PostgreSQL is not available: {trouble}") from trouble
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
