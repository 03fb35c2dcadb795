"""Real node processes, and what a bad day does to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import UUID

import psutil

from tests.as_node_role import whose
from tests.faults.forked import ForkedProcess
from tests.faults.witness import VARIABLE
from tests.until import until

ROOT: Final = Path(__file__).parents[2]
APP: Final = "tests.faults.app:app"
# Longer than a pause of a busy machine.
LEASE_SECONDS, HEARTBEAT_SECONDS = 15.0, 0.5
# For nodes that are killed, frozen or cut off and whose lease must lapse soon.
MORTAL: Final = {"WINDLASS_LEASE_SECONDS": "4"}
# Without one no node delivers what has to be signed.
SECRET_KEY: Final = "0f" * 32
READY_SECONDS_MAX: Final = 30.0
END_SECONDS_MAX: Final = 30.0


@dataclass(slots=True, kw_only=True)
class NodeProcess:
    """One `windlass node`."""

    process: asyncio.subprocess.Process | ForkedProcess
    said: str  # when it was ready
    log_path: Path

    @property
    def node_id(self) -> UUID:
        """The id that it had when it was ready; one with an API says its address instead."""
        return UUID(self.said.removeprefix("node "))

    @property
    def url(self) -> str:
        assert self.said.startswith("http"), "it serves no API"
        return self.said

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    async def kill(self) -> None:
        """SIGKILL: it has no chance to say anything."""
        self.process.kill()
        await self.process.wait()

    async def freeze(self) -> None:
        # One that is just being paused by others (tests/paused.py) would be thawed by them.
        await until(self._is_moving, what=f"process {self.pid} is nobody else's")
        self.process.send_signal(signal.SIGSTOP)
        await until(self._is_stopped, what=f"process {self.pid} is frozen")

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    async def ends(self, within_seconds: float = END_SECONDS_MAX) -> int:
        """Its exit code, once it has ended by itself."""
        async with asyncio.timeout(within_seconds):
            return await self.process.wait()

    async def _is_moving(self) -> bool:
        return not await self._is_stopped()

    async def _is_stopped(self) -> bool:
        return psutil.Process(self.pid).status() == psutil.STATUS_STOPPED


class EndedEarly(AssertionError):
    """A node ended before it was ready, by itself or by a job that it had begun by then."""

    code: int  # which it ended with

    def __init__(self) -> None:
        super().__init__("the node ended before it was ready")


class Nodes:
    """Starts nodes on one database; whatever still lives at the end is killed, by its pid."""

    def __init__(self, folder: Path, *, witness_path: Path) -> None:
        self._folder = folder
        self._witness_path = witness_path
        self.started: list[NodeProcess] = []

    async def start(
        self,
        database_url: str,
        redis_url: str | None,
        *,
        workers: int = 8,
        roles: str = "worker",
        settings: dict[str, str] | None = None,
        app: str = APP,
        descriptors: int | None = None,
    ) -> NodeProcess:
        """`descriptors` is all that the system lets it have; None: as many as we have."""
        log_path = self._folder / f"node-{len(self.started)}.log"
        command = ["node", "--roles", roles, "--workers", str(workers), "--app", app]
        urls = {"WINDLASS_DATABASE_URL": whose(database_url)}
        urls |= {"WINDLASS_REDIS_URL": whose(redis_url)} if redis_url else {}
        environ = self._environ({**urls, **(settings or {})})
        process: asyncio.subprocess.Process | ForkedProcess
        if descriptors is None:
            process = ForkedProcess(command=command, environ=environ, log=log_path)
            lines = await process.lines()
        else:
            process = await _limited(command, environ, log_path, descriptors)
            assert process.stdout is not None
            lines = process.stdout
        try:
            said = await _ready(lines)
        except EndedEarly as early:
            early.code = await process.wait()
            print(log_path.read_text())
            raise
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            print(log_path.read_text())
            raise
        node = NodeProcess(process=process, said=said, log_path=log_path)
        self.started.append(node)
        return node

    def _environ(self, settings: dict[str, str]) -> dict[str, str]:
        ours = {name: text for name, text in os.environ.items() if not name.startswith("WINDLASS_")}
        return {
            **ours,
            VARIABLE: str(self._witness_path),
            "WINDLASS_LEASE_SECONDS": str(LEASE_SECONDS),
            "WINDLASS_HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
            "WINDLASS_EGRESS_ALLOW": "127.0.0.0/8",
            "WINDLASS_SECRET_KEY": SECRET_KEY,
            **settings,
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node in self.started:
            if node.is_alive:
                await node.kill()
        if error is not None:
            self.tell()

    def tell(self) -> None:
        """What the nodes said, for whoever reads a failed test."""
        for node in self.started:
            print(f"--- pid {node.pid} {node.said}\n{node.log[-20_000:]}")


async def _limited(
    command: list[str], environ: dict[str, str], log_path: Path, descriptors: int
) -> asyncio.subprocess.Process:
    """A process that begins as a user's does, and may open only so many files."""
    limit = ["prlimit", f"--nofile={descriptors}:{descriptors}"]
    with log_path.open("wb") as log:
        return await asyncio.create_subprocess_exec(
            *(*limit, sys.executable, "-m", "windlass", *command),
            cwd=ROOT,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )


async def _ready(lines: asyncio.StreamReader) -> str:
    async with asyncio.timeout(READY_SECONDS_MAX):
        while line := (await lines.readline()).decode():
            if line.startswith("ready: "):
                return line.removeprefix("ready: ").strip()
    raise EndedEarly
