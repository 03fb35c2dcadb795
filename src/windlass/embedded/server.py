"""What the two embedded servers have in common: a home, a socket, a log, a child, a life.

A subclass says how to get ready, what to start and how to ask whether it answers; the order of
things is written here, once.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from windlass.clock import monotonic
from windlass.embedded.child import Child, Order
from windlass.embedded.errors import NotOnThisSystem, ServerFailed
from windlass.embedded.limits import READY_POLL_SECONDS
from windlass.embedded.log import log_size, log_tail
from windlass.embedded.sockets import SocketFolder


class Server(ABC):
    NAME: ClassVar[str]
    SOCKET_NAME: ClassVar[str]
    DEFAULT_SETTINGS: ClassVar[Mapping[str, str]]
    START_SECONDS_MAX: ClassVar[float]
    STOP_STEPS: ClassVar[tuple[tuple[signal.Signals, float], ...]]

    def __init__(
        self, data: Path, *, settings: Mapping[str, str] | None, listen: str | None
    ) -> None:
        self.data = data.resolve()
        self.home = self.data / self.NAME.lower()
        self.log_path = self.data / "log" / f"{self.NAME.lower()}.log"
        self.settings = {**self.DEFAULT_SETTINGS, **(settings or {})}
        self.listen = listen
        self.sockets = SocketFolder(self.home, self.SOCKET_NAME)
        self._child: Child | None = None
        self._log_begin = 0

    @abstractmethod
    def url(self) -> str:
        """Where it is reached once it has been started; the same after every restart."""

    @abstractmethod
    async def prepare(self) -> Order:
        """Settle what an earlier start left and what is missing; returns what to start."""

    @abstractmethod
    async def answers(self) -> bool:
        """Ask it once. Its answer is the only proof that it runs; no file is believed."""

    @property
    def pid(self) -> int | None:
        """Its process; None while it does not run."""
        if self._child is None or self._child.exit_code is not None:
            return None
        return self._child.pid

    async def start(self) -> str:
        """Returns its URL once it answers, or raises with the end of its log."""
        assert self.pid is None, "it runs already"
        if sys.platform != "linux":  # see child.py and processes.py
            raise NotOnThisSystem(sys.platform)
        order = await self.prepare()
        self._log_begin = log_size(self.log_path)
        child = self._child = Child.start(order)
        try:
            await self._until_it_answers(child)
        except BaseException:
            await self.stop()
            raise
        return self.url()

    async def stop(self, *, at_once: bool = False) -> None:
        """End it in good order, harder if that takes too long; or begin with the last step.

        Stopping what does not run is harmless.
        """
        if self._child is not None:
            await self._child.stop(*(self.STOP_STEPS[-1:] if at_once else self.STOP_STEPS))
        self.sockets.remove()

    async def kill(self) -> None:
        """End it as a crash would."""
        if self._child is not None:
            await self._child.kill()

    async def wait(self) -> ServerFailed:
        """Wait until it ends, by whatever cause; returns what to tell the user."""
        assert self._child is not None, "start it first"
        return self._failed(f"ended with code {await self._child.wait()}")

    async def _until_it_answers(self, child: Child) -> None:
        deadline = monotonic() + self.START_SECONDS_MAX
        while not await self.answers():
            if await child.ends_within(READY_POLL_SECONDS):
                raise self._failed(f"ended with code {child.exit_code} before it answered")
            if monotonic() > deadline:
                raise self._failed(f"did not answer within {self.START_SECONDS_MAX:g} s")

    def _failed(self, what: str) -> ServerFailed:
        tail = log_tail(self.log_path, since=self._log_begin)
        return ServerFailed(self.NAME, what, self.log_path, tail)


async def wait_for_any(*servers: Server) -> ServerFailed:
    """Wait until one of them ends."""
    waits = [asyncio.create_task(server.wait()) for server in servers]
    try:
        ended, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        return ended.pop().result()
    finally:
        for task in waits:
            task.cancel()
