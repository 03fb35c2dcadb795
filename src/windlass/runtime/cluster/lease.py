"""A node's lease: its right to run work, renewed by heartbeats from a thread of its own.

That thread has a connection of its own, too: nothing that happens on the node's main loop, however
slow, can delay a renewal. The node trusts its lease only for a window counted from when the last
successful renewal *started*, by the monotonic clock, less a margin: it stops starting work before
anybody may take its jobs away. When half of the margin is gone too it gives up what still runs, so
that nothing runs on two nodes at once (G2).

    renewal starts        answer        stop starting   give up   lease lapses
    |---------------------|-------------------|-----------|-----------|
                                              |--------margin---------|

Each renewal says what the process uses of its machine (`Footprint`: memory now, CPU since it was
last asked), and brings the leader's term, the nodes that live, and whether a signal waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from windlass import ids
from windlass.clock import monotonic
from windlass.limits import LEASE_MARGIN_SECONDS
from windlass.store.address import Address
from windlass.store.statements import statement
from windlass.telemetry.outage import note_unreachable

log = structlog.get_logger()

_LAST_TRY_SECONDS: Final = 0.2

_STATM: Final = Path("/proc/self/statm")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseCalls:
    """What a lease asks, and whom it tells. All are called on its thread."""

    in_flight: Callable[[], int]  # jobs that the node has and has not settled
    on_lost: Callable[[], None]
    on_leader: Callable[[int, bool], None]  # the term, and whether somebody leads
    on_signal: Callable[[], None]  # one waits in PostgreSQL
    on_members: Callable[[list[UUID]], None]  # who has shards now


class Lease:
    def __init__(
        self,
        url: str,
        node_id: UUID,
        calls: LeaseCalls,
        *,
        lease_seconds: float,
        heartbeat_seconds: float,
    ) -> None:
        self._address = Address(url)
        self._node_id = node_id
        self._lease_seconds = lease_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._footprint = Footprint()
        self._trusted_until = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.is_lost = False
        self._calls = calls

    def granted(self, started_at: float) -> None:
        """A renewal (or the registration) that started at `started_at` succeeded."""
        self._trusted_until = started_at + self._lease_seconds - LEASE_MARGIN_SECONDS

    @property
    def is_trusted(self) -> bool:
        """May this node start work now?"""
        return not self.is_lost and monotonic() < self._trusted_until

    @property
    def _left_seconds(self) -> float:
        """Until what runs must be given up."""
        return self._trusted_until + LEASE_MARGIN_SECONDS / 2 - monotonic()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="windlass lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            asyncio.run(self._renew_for_ever())
        except BaseException:  # whatever it is: nobody renews it any more, and the node must know
            log.exception("lease_thread_failed", node=ids.show("node", self._node_id))
            if not self.is_lost and not self._stop.is_set():
                self._lose("its thread failed")

    async def _renew_for_ever(self) -> None:
        connection: asyncpg.Connection[asyncpg.Record] | None = None
        try:
            while not self._stop.is_set() and not self.is_lost:
                try:
                    # A node that comes too late asks once more: its lease may stand all the same.
                    seconds = max(self._left_seconds, _LAST_TRY_SECONDS)
                    async with asyncio.timeout(min(seconds, self._heartbeat_seconds)):
                        if connection is None or connection.is_closed():
                            connection = await self._address.connect(
                                seconds=self._heartbeat_seconds,
                                server_settings={"application_name": "windlass lease"},
                            )
                        await self._renew(connection)
                except Exception as trouble:  # whatever it is: this thread must not end silently
                    note_unreachable(self._address.url, trouble)
                    reason = str(trouble) or type(trouble).__name__
                    log.warning("lease_not_renewed", reason=reason)
                    if connection is not None:
                        connection.terminate()
                        connection = None
                    if self._left_seconds <= 0:
                        self._lose("it could not be renewed in time")
                        return
                    await self._rest(min(1.0, self._heartbeat_seconds, self._left_seconds))
                    continue
                await self._rest(self._heartbeat_seconds)
        finally:
            if connection is not None:
                with contextlib.suppress(Exception):
                    await connection.close(timeout=1)

    async def _renew(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        started_at = monotonic()
        async with self._address.turn(connection):
            row = await connection.fetchrow(
                statement("node_renew"),
                self._node_id,
                self._lease_seconds,
                self._calls.in_flight(),
                self._footprint.memory_bytes(),
                self._footprint.cpu_percent(),
            )
        if row is not None:
            self.granted(started_at)
            self._calls.on_leader(row["leader_term"], row["is_led"])
            self._calls.on_members(row["members"])
            if row["has_signal"]:
                self._calls.on_signal()
            return
        self._lose("it has lapsed; what this node ran goes on elsewhere")

    def _lose(self, reason: str) -> None:
        self.is_lost = True
        log.error("lease_lost", node=ids.show("node", self._node_id), reason=reason)
        self._calls.on_lost()

    async def _rest(self, seconds: float) -> None:
        """Nothing else runs on this loop, so a blocking wait that stop() can end is fine."""
        await asyncio.to_thread(self._stop.wait, seconds)


@dataclass(slots=True)
class Footprint:
    _asked_at: float = field(default_factory=monotonic)
    _cpu_seconds: float = field(default_factory=time.process_time)

    def memory_bytes(self) -> int:
        """Resident now; where there is no /proc the most that it ever was."""
        try:
            return int(_STATM.read_text().split()[1]) * _PAGE_BYTES
        except OSError:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def cpu_percent(self) -> float:
        """Of one core, since the last call; more than 100 when several were busy."""
        now, cpu_seconds = monotonic(), time.process_time()
        used = cpu_seconds - self._cpu_seconds
        passed = max(now - self._asked_at, 1e-3)
        self._asked_at, self._cpu_seconds = now, cpu_seconds
        return round(100 * used / passed, 2)
