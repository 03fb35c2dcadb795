"""The servers and the node that all tests of a run play on, in a thread of their own.

    first test    PostgreSQL and Valkey -> a database with the virtual clock -> a node, gate shut
    each test     emptied -> its App connected, its tasks wired -> ... -> disconnected

The thread lives as long as the run: the embedded servers end with the thread that started them. A
lease of the node is longer than any test advances, so that moving the clock never ends it.

A database is emptied in a few milliseconds, under a node that goes on: rows are deleted and not
tables truncated, which of a few rows is a tenth of the time. Triggers are off meanwhile: nothing is
counted, and history, which is final, may go.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from datetime import datetime
from typing import Any, Final, Self, TypeVar

from redis.asyncio import Redis

from windlass.compose import start as compose
from windlass.config import Settings
from windlass.config.secret_key import KEY_BYTES
from windlass.sdk.tasks.app import App
from windlass.store.database import Database
from windlass.strategies.python.task import Task, tasks_of
from windlass.strategies.wait import Wait
from windlass.testing import local_clock
from windlass.testing.local_calls import Calls
from windlass.testing.local_clock import VirtualClock
from windlass.testing.local_gate import Gate
from windlass.testing.local_quiet import Quiet, until
from windlass.testing.local_sql import ask
from windlass.testing.local_transport import LocalTransport
from windlass.testing.servers import PrivateServers

T = TypeVar("T")
LEASE_SECONDS: Final = 100 * 365 * 86_400.0
WORKERS: Final = 8
START_SECONDS_MAX: Final = 120.0
# For what a failed test left running: to end by itself, and then to be stopped. After that the
# stage is given up, and the next test has a new one.
END_SECONDS_MAX, STOP_SECONDS_MAX = 0.5, 3.0


class Stage:
    def __init__(self) -> None:
        self._started = threading.Event()
        self._trouble: BaseException | None = None  # why it could not start
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._live, name="windlass local", daemon=True)
        self.tasks: dict[str, Task] = {}  # the node performs what is in here
        self.loop: asyncio.AbstractEventLoop
        self.running: compose.Windlass
        self.database_url: str
        self.gate: Gate
        self.quiet: Quiet
        self.clock: VirtualClock
        self.transport: LocalTransport
        self._wipe: Wipe
        self._redis: Redis

    # -- life ------------------------------------------------------------------------------------

    @classmethod
    def start(cls) -> Self:
        stage = cls()
        stage._thread.start()
        if not stage._started.wait(START_SECONDS_MAX):
            raise TimeoutError(f"the servers did not start within {START_SECONDS_MAX:g} seconds")
        if stage._trouble is not None:
            raise stage._trouble
        return stage

    def stop(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._end.set)
            self._thread.join(START_SECONDS_MAX)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """On the stage's loop, from any other thread."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise

    def _live(self) -> None:
        try:
            asyncio.run(self._stand())
        except BaseException as trouble:
            self._trouble = trouble
        finally:
            self._started.set()

    async def _stand(self) -> None:
        self.loop = asyncio.get_running_loop()
        async with PrivateServers() as servers, self._node(servers):
            self._started.set()
            await self._end.wait()

    @contextlib.asynccontextmanager
    async def _node(self, servers: PrivateServers) -> AsyncIterator[None]:
        self.database_url = await servers.create_database()
        await local_clock.install(self.database_url)
        self.running = await compose.start(
            _settings(),
            database_url=self.database_url,
            redis_url=servers.redis_url,
            serving=None,
            tasks=self.tasks,
        )
        kinds = self.running.kinds
        kinds.slotted = {**kinds.slotted, "wait": Wait(in_slot_seconds_max=0)}
        self.running.app_in_node.api()  # now, and not in the first test's own time
        self.gate = Gate(self.running.node)
        self.quiet = Quiet(self.running, self.gate)
        self.clock = VirtualClock(self.running.database)
        inner = self.running.app_in_node.transport()
        self.transport = LocalTransport(inner, self.loop, self.gate, self.quiet)
        self._wipe = await Wipe.of(self.running.database)
        self._redis = Redis.from_url(servers.redis_url)
        try:
            yield
        finally:
            await self._redis.aclose()
            await self.running.stop_now()

    # -- between tests ---------------------------------------------------------------------------

    async def reset(self) -> None:
        """Nothing is left of the test before."""
        self.tasks.clear()
        await self._wipe.run(self.running.database)
        await self.running.caches.invalidate([cache.name for cache in self.running.caches])
        self.running.targets.forget()
        await self._redis.flushdb()
        await self.clock.move_to(None)

    async def set_out(self, app: App, calls: Calls, at: datetime | None) -> None:
        """Let the node perform the App's tasks, and the App reach the node."""
        wired = {name: calls.wired(task) for name, task in tasks_of(app).items()}
        self.tasks |= wired
        for name, task in app.tasks.items():
            task.stand_in = wired[name].function
        kinds = self.running.kinds
        await self.running.database.run(
            "node_set_kinds", self.running.node.node_id, kinds.names, sorted(self.tasks)
        )
        if at is not None:
            await self.clock.move_to(at)
        app.connect(self.transport)

    async def clear_up(self) -> bool:
        """Let what still runs end, or stop it; False: it would not."""
        self.clock.leave()
        worker = self.running.node.worker
        for seconds in (END_SECONDS_MAX, STOP_SECONDS_MAX):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await until(lambda: not worker.held)
                    await self.running.follower.quiet()
                    return True
            worker.hand_back_beyond(0)
        return False


def _settings() -> Settings:
    return Settings(
        workers=WORKERS,
        lease_seconds=LEASE_SECONDS,
        leader_lease_seconds=LEASE_SECONDS,
        retention_days=3650,
        drain_timeout_seconds=1.0,
        node_name="windlass local",
        egress_allow=("127.0.0.0/8", "::1/128"),  # where a test has its receivers
        secret_key=base64.b64encode(os.urandom(KEY_BYTES)).decode(),
    )


# The node, what it has said of itself, and what its start made.
KEPT: Final = ("api_key", "leader", "migration", "node", "secret", "secret_default")
_SECRETS: Final = (
    "DELETE FROM windlass.secret s"
    " WHERE NOT EXISTS (SELECT FROM windlass.secret_default d WHERE d.name = s.name)"
)


class Wipe:
    def __init__(self, script: str) -> None:
        self._script = script

    @classmethod
    async def of(cls, database: Database) -> Wipe:
        rows = await ask(database, "local_tables", list(KEPT))
        tables = [row["name"] for row in rows]
        return cls(
            "; ".join(
                [
                    "SET LOCAL session_replication_role = replica",
                    # A node folds counters now and then; half of a fold must not outlive this.
                    "LOCK TABLE windlass.counter, windlass.counter_delta IN EXCLUSIVE MODE",
                    *(f"DELETE FROM {table}" for table in tables),  # noqa: S608 (the catalogue's)
                    _SECRETS,
                ]
            )
        )

    async def run(self, database: Database) -> None:
        async with database.side(readonly=False) as connection:
            await connection.execute(self._script)
