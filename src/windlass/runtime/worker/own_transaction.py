"""A job's own transaction: what a task writes in (`current().db`) is committed with the job's end.

It lives on the node's loop, with a connection that is lent by the first statement; the task asks
from its own thread or loop. It ends in one of three ways:

    the task succeeded     the fenced end of the job is the last statement, then COMMIT (G4)
    the fence had moved    ROLLBACK: another attempt writes the effects, or did
    anything else          ROLLBACK, then the attempt is settled as any other

When the answer to COMMIT is lost nobody knows whether it happened. Then the attempt is settled as a
failure, under the same fence: if the commit took effect the job has ended and the failure changes
nothing; if it is still on its way the failure waits for the row that it holds; if it did not happen
the next attempt does the work, for the first time as far as anybody can see.

Promises: after it is over nobody writes in it, whatever thread a task has left behind.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg
import structlog

from windlass import errors
from windlass.engine.effects import Effects
from windlass.engine.jobs.finish import finish_own, has_finished
from windlass.errors import Unavailable, WindlassError
from windlass.limits import OWN_ROLLBACK_SECONDS
from windlass.model.job.outcome import Cancelled, Failed
from windlass.model.job.running import OwnSession
from windlass.model.job.settle import Settlement
from windlass.store.database import Connection, Database, LimitReached, Record
from windlass.supervise import supervisor

log = structlog.get_logger()

# Stands from the beginning to the end. A task that says COMMIT or ROLLBACK takes it along: so we
# know that what is committed at the end is all that the task wrote.
_MARK: Final = "windlass_job"


class TransactionEnded(WindlassError):
    """The task committed or rolled back by itself."""

    code = "transaction_ended"


class _NotMeant(WindlassError):
    """Thrown into the transaction, so that it is rolled back."""


class OwnTransaction:
    def __init__(self, database: Database, loop: asyncio.AbstractEventLoop) -> None:
        self._database = database
        self._loop = loop
        self._stack = contextlib.AsyncExitStack()
        self._connection: Connection[Record] | None = None  # None: nothing was asked of it yet
        self._turn = asyncio.Lock()
        self._asking: set[asyncio.Task[Any]] = set()
        self._after: list[Callable[[], None]] = []
        self._is_over = False
        self._ending: asyncio.Task[None] | None = None

    # -- what a task calls, from wherever it runs ------------------------------------------------

    def execute(self, query: str, *args: Any) -> Any:
        return self._ask("execute", query, *args)

    def executemany(self, query: str, args: Any) -> Any:
        return self._ask("executemany", query, args)

    def fetch(self, query: str, *args: Any) -> Any:
        return self._ask("fetch", query, *args)

    def fetchrow(self, query: str, *args: Any) -> Any:
        return self._ask("fetchrow", query, *args)

    def fetchval(self, query: str, *args: Any) -> Any:
        return self._ask("fetchval", query, *args)

    def after_commit(self, call: Callable[[], None]) -> None:
        """Called on the node's loop once it is committed, and not at all if it is not."""
        self._after.append(call)

    def _ask(self, verb: str, *args: Any) -> Any:
        future = asyncio.run_coroutine_threadsafe(self._do(verb, args), self._loop)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._wait_for(future)
        return asyncio.wrap_future(future)

    def _wait_for(self, future: concurrent.futures.Future[Any]) -> Any:
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise _stopped() from None

    # -- on the node's loop ----------------------------------------------------------------------

    async def _do(self, verb: str, args: tuple[Any, ...]) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._asking.add(task)
        try:
            async with self._turn:
                if self._is_over:
                    raise _stopped()
                connection = self._connection or await self._open()
                return await getattr(connection, verb)(*args)
        finally:
            self._asking.discard(task)

    async def _open(self) -> Connection[Record]:
        connection = await self._stack.enter_async_context(self._database.own())
        try:
            await connection.execute(f"SAVEPOINT {_MARK}")
        except BaseException as trouble:  # nobody else knows that it was lent
            await self._leave(trouble)
            raise
        self._connection = connection
        return connection

    async def commit(self, last: Callable[[Any], Awaitable[bool]]) -> bool:
        """Let `last` do the last thing on its connection, and commit if that said yes.

        False: it said no, and all is rolled back. Raises what PostgreSQL says; then it is too, or
        nobody knows (Unknown).
        """
        self._is_over = True
        async with self._turn:
            connection = self._connection or await self._open()
            try:
                await self._release(connection)
                is_meant = await last(connection)
            except BaseException as trouble:
                await self._leave(trouble)
                raise
            await self._leave(None if is_meant else _NotMeant())
            for call in self._after if is_meant else ():
                call()
            return is_meant

    async def _release(self, connection: Connection[Record]) -> None:
        try:
            await connection.execute(f"RELEASE SAVEPOINT {_MARK}")
        except (asyncpg.InvalidSavepointSpecificationError, asyncpg.NoActiveSQLTransactionError):
            raise TransactionEnded(
                "the task ended its job's transaction by a COMMIT or ROLLBACK of its own; what it "
                "wrote before is not tied to the job's end"
            ) from None

    def abort(self) -> None:
        self._is_over = True
        if self._ending is None and (self._connection is not None or self._asking):
            for task in self._asking:
                task.cancel()
            self._ending = supervisor().spawn(self._undo(), name="roll back")

    async def roll_back(self) -> None:
        self.abort()
        if self._ending is not None:
            await asyncio.wait([self._ending])

    async def _undo(self) -> None:
        lent = self._connection
        try:
            async with asyncio.timeout(OWN_ROLLBACK_SECONDS), self._turn:
                lent = self._connection
                if lent is not None:
                    await self._leave(_NotMeant())
        except (WindlassError, TimeoutError) as trouble:
            log.warning("own_transaction_left", reason=str(trouble) or type(trouble).__name__)
            if lent is not None:
                # The server rolls back by itself what nobody speaks for.
                with contextlib.suppress(asyncpg.InterfaceError):
                    lent.terminate()

    async def _leave(self, trouble: BaseException | None) -> None:
        """Out of the transaction, as its context would be left. None: by a commit."""
        self._connection = None
        try:
            kind = None if trouble is None else type(trouble)
            await self._stack.__aexit__(kind, trouble, None)
        except _NotMeant:
            pass


async def commit_and_finish(
    own: OwnSession, database: Database, settlement: Settlement
) -> Effects | Failed | Cancelled:
    """What was committed; or how the attempt ended instead, with nothing of it committed."""
    made: list[Effects] = []

    async def last(connection: Any) -> bool:
        effects = await finish_own(connection, settlement)
        made.extend([effects] if effects is not None else [])
        return effects is not None

    try:
        is_committed = await own.commit(last)
    except TransactionEnded as trouble:
        return Failed(trouble.code, str(trouble), is_final=True)
    except LimitReached as trouble:  # others filled the queue that the task had found room in
        return Failed(trouble.code, f"what the task enqueued has no room: {trouble}")
    except Unavailable as trouble:
        found = await _look(database, settlement)
        return found or Failed("transaction_lost", f"what the task wrote may be lost: {trouble}")
    except Exception as trouble:  # whatever PostgreSQL says of what the task wrote
        return Failed(type(trouble).__name__, f"what the task wrote was refused: {trouble}")
    # Not ours any more, or to be cancelled: settled so, the fence and the wish are heeded.
    return made[0] if is_committed else Cancelled()


async def _look(database: Database, settlement: Settlement) -> Effects | None:
    try:
        return await has_finished(database, settlement)
    except Unavailable:
        return None


def _stopped() -> errors.Cancelled:
    return errors.Cancelled("the job is to stop, or has ended: it writes nothing any more")
