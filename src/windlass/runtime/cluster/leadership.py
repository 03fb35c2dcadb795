"""Leader election: an advisory lock for speed, a lease for truth, on a thread of its own.

A leader holds two things. The *seat* is an advisory lock that lives and dies with its session: when
the process is killed the server frees it at once, and a candidate that waits for it is seated. The
*lease* is a row with a term, an owner and an end, and is what counts: a leader renews it on the
connection that holds the seat, and trusts it only for a share of its length counted from when the
last successful renewal *started*, by the monotonic clock.

    killed    its session ends -> a candidate is seated -> term + 1
    frozen    its lease lapses -> a candidate ends its session -> seated -> term + 1
    cut off   it loses its connection, or cannot renew: it steps down by itself
    held      a user's transaction has the row, so nobody can begin a term: the seat alone counts

Whatever a leader writes names its term (see engine.cluster.nodes), so one that thaws is powerless.
Through a pooler that lends sessions by the transaction there is no seat: then the lease alone
decides, and a killed leader is followed when its lease has lapsed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeAlias
from uuid import UUID

import asyncpg
import structlog

from windlass import ids
from windlass.clock import monotonic
from windlass.engine.cluster.nodes import Tenure
from windlass.limits import LEADER_GRACE_SECONDS, LEADER_RENEW_SHARE, LEADER_TRUST_SHARE
from windlass.store.address import Address
from windlass.store.statements import statement
from windlass.supervise import supervisor
from windlass.telemetry.outage import note_unreachable

log = structlog.get_logger()

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
CALL_SECONDS: Final = 5.0
# windlass.leader_wait() ends by itself within ten seconds and a moment.
WAIT_SECONDS: Final = 10.3 + CALL_SECONDS
REST_SECONDS: Final = 1.0
RESIGN_SECONDS, JOIN_SECONDS = 1.0, 5.0


class Leadership:
    def __init__(
        self, url: str, node_id: UUID, *, lease_seconds: float, has_seat: bool = True
    ) -> None:
        self._address = Address(url)
        self._node_id = node_id
        self._lease_seconds = lease_seconds
        self._has_seat = has_seat and not self._address.is_pooled
        self._tenure: Tenure | None = None
        self._trusted_until = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._end: Callable[[], object] | None = None  # None: the thread has not begun

    @property
    def tenure(self) -> Tenure | None:
        """This node's term, if it leads now; None: it does not, or cannot be sure."""
        return self._tenure if monotonic() < self._trusted_until else None

    @property
    def is_leader(self) -> bool:
        return self.tenure is not None

    @property
    def term(self) -> int | None:
        tenure = self.tenure
        return None if tenure is None else tenure.term

    # -- life ------------------------------------------------------------------------------------

    def start(
        self,
        on_elected: Callable[[], None] = lambda: None,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        """Both are called on its thread."""
        self._on_elected, self._on_lost = on_elected, on_lost
        self._thread = supervisor().thread("leadership", self._run)

    def resign(self) -> None:
        """Stop leading, or trying to, without waiting for the end of it."""
        self._stop.set()
        if (end := self._end) is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                end()

    def stop(self) -> None:
        self.resign()
        if self._thread is not None:
            self._thread.join(timeout=JOIN_SECONDS)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._stand_for_ever())

    async def _stand_for_ever(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._end = lambda: loop.call_soon_threadsafe(task.cancel)
        while not self._stop.is_set():
            try:
                async with self._session() as session:
                    await self._lead(session, await self._be_elected(session))
            except Exception as trouble:  # whatever it is: this thread must not end silently
                note_unreachable(self._address.url, trouble)
                log.warning("leadership_waits", reason=str(trouble) or type(trouble).__name__)
            await asyncio.sleep(REST_SECONDS)

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[Session]:
        # A wait for the seat ends by itself; nothing else may end it with an error.
        timeouts = {"statement_timeout": "0", "lock_timeout": "0"} if self._has_seat else {}
        session = await self._address.connect(
            seconds=CALL_SECONDS,
            server_settings={"application_name": "windlass leadership", **timeouts},
        )
        try:
            yield session
        finally:
            # Without ceremony: the seat is free as soon as the server sees the socket closed.
            session.terminate()

    # -- standing --------------------------------------------------------------------------------

    async def _be_elected(self, session: Session) -> Tenure:
        while True:
            await (self._wait_for_seat(session) if self._has_seat else self._wait_for_end(session))
            if await self._take(session, is_vacant=False) or (
                self._has_seat and await self._take_over(session)
            ):
                assert self._tenure is not None
                return self._tenure

    async def _wait_for_seat(self, session: Session) -> None:
        ask = statement("leader_wait")
        while (word := await session.fetchval(ask, timeout=WAIT_SECONDS)) != "seated":
            if word == "evicted":
                log.warning("leader_evicted", reason="it let its lease lapse")

    async def _wait_for_end(self, session: Session) -> None:
        """Until the lease that stands lapses, unless it is renewed."""
        row = await self._ask(session, "leader_read")
        await asyncio.sleep(row["left_seconds"])

    async def _take_over(self, session: Session) -> bool:
        """Somebody's lease stands, and we have the seat: its session ended a moment ago."""
        await asyncio.sleep(LEADER_GRACE_SECONDS)
        return await self._take(session, is_vacant=True)

    async def _take(self, session: Session, *, is_vacant: bool) -> bool:
        started_at = monotonic()
        given = (self._node_id, self._lease_seconds, is_vacant)
        row = await self._ask(session, "leader_take", *given)
        if row is None:
            return False
        self._tenure = Tenure(node_id=self._node_id, term=row["term"])
        self._granted(started_at)
        return True

    # -- leading ---------------------------------------------------------------------------------

    async def _lead(self, session: Session, tenure: Tenure) -> None:
        log.info("leader_elected", node=ids.show("node", self._node_id), term=tenure.term)
        self._on_elected()
        reason = "it resigned"
        try:
            reason = await self._renew_until_lost(session, tenure)
        except TimeoutError:
            reason = "its lease could not be renewed in time"
        finally:
            self._tenure = None
            log.info("leadership_lost", term=tenure.term, reason=reason)
            self._on_lost()
            if self._stop.is_set():
                await self._say_resigned(session, tenure)

    async def _renew_until_lost(self, session: Session, tenure: Tenure) -> str:
        """Why it is over."""
        closed = asyncio.Event()
        session.add_termination_listener(lambda _: closed.set())
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._lease_seconds * LEADER_RENEW_SHARE):
                    await closed.wait()
                return "its connection to PostgreSQL was closed"
            started_at = monotonic()
            given = (tenure.node_id, tenure.term, self._lease_seconds)
            async with asyncio.timeout(self._trusted_until - started_at):
                row = await self._ask(session, "leader_renew", *given)
            if row is None:
                return "its lease has lapsed"
            if row["is_held"]:
                log.warning("leader_row_held", term=tenure.term, reason="a transaction is open")
            if self._has_seat or not row["is_held"]:
                self._granted(started_at)

    async def _say_resigned(self, session: Session, tenure: Tenure) -> None:
        """So that nobody has to wait for the lease; who cannot say it lets it lapse."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(RESIGN_SECONDS):
                await self._ask(session, "leader_resign", tenure.node_id, tenure.term)

    def _granted(self, started_at: float) -> None:
        self._trusted_until = started_at + self._lease_seconds * LEADER_TRUST_SHARE

    async def _ask(self, session: Session, name: str, *given: Any) -> Any:
        """The first row of a statement, or None."""
        async with self._address.turn(session):
            return await session.fetchrow(statement(name), *given, timeout=CALL_SECONDS)
