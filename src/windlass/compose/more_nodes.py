"""Further nodes of `up --nodes N`: child processes that execute and serve no API.

One that dies is begun again, after a rest that grows while it keeps dying, and both are said: in
the log, and to whoever sits at the terminal. One that left because it was asked to (`windlass node
drain`) is left alone. None outlives us, even when we are killed: the kernel tells it to drain, and
the next start on the same data does not find strangers at work.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from windlass.config import Settings
from windlass.embedded import launch
from windlass.embedded.servers import EmbeddedServers
from windlass.supervise import Restarts, supervisor

log = structlog.get_logger()


@contextlib.asynccontextmanager
async def more_nodes(
    settings: Settings, servers: EmbeddedServers, count: int
) -> AsyncIterator[None]:
    environ = {**os.environ, "WINDLASS_DATABASE_URL": servers.database_url}
    environ["WINDLASS_REDIS_URL"] = servers.redis_url
    environ["WINDLASS_SECRET_KEY"] = settings.secret_key or ""
    command = [sys.executable, "-m", "windlass", "node", "--roles", "worker,leader"]
    command += ["--workers", str(settings.workers)]
    command += ["--app", settings.app] if settings.app else []
    command += ["--queues", ",".join(settings.queues)] if settings.queues else []
    command += (
        ["--queues-except", ",".join(settings.queues_except)] if settings.queues_except else []
    )
    command += ["--queue-order", settings.queue_order]
    names = [f"node {number}" for number in range(2, count + 2)]  # this process is the first
    children = [_Child(name=name, command=command, environ=environ) for name in names]
    keepers = [supervisor().keep(child.name, child.live) for child in children]
    try:
        yield
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        seconds = settings.drain_timeout_seconds + 10
        await asyncio.gather(*(child.end(seconds) for child in children))


@dataclass(slots=True, kw_only=True)
class _Child:
    name: str
    command: Sequence[str]
    environ: Mapping[str, str]
    _beginning: asyncio.Task[asyncio.subprocess.Process] | None = field(default=None, init=False)

    async def live(self) -> None:
        restarts = Restarts()
        while True:
            # A task of its own: whatever ends us, a process that was begun is known, and ended.
            self._beginning = asyncio.create_task(self._begin())
            process = await asyncio.shield(self._beginning)
            code = await process.wait()
            if code == 0:
                log.info("node_left", node=self.name, pid=process.pid)
                return
            rest, how = restarts.next_seconds(), _how(code)
            log.error("node_ended", node=self.name, pid=process.pid, how=how, rest_seconds=rest)
            print(f"{self.name} (pid {process.pid}) {how}; it is begun again", flush=True)
            await asyncio.sleep(rest)

    async def _begin(self) -> asyncio.subprocess.Process:
        order = {
            "argv": self.command,
            **dict.fromkeys(("uid", "gid", "umask")),  # our own
            "death_signal": signal.SIGTERM,
            "parent": os.getpid(),
        }
        # From the thread of the loop, which lives as long as we do: the kernel looks at that.
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", launch.__file__, json.dumps(order)),
            env=self.environ,
            stdout=asyncio.subprocess.DEVNULL,
            # A Ctrl-C at the terminal is ours to pass on, once.
            start_new_session=True,
        )

    async def end(self, seconds: float) -> None:
        if self._beginning is None:
            return
        try:
            process = await self._beginning
        except OSError:
            return  # it could not be begun
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), seconds)
        except TimeoutError:
            process.kill()
            await process.wait()


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
