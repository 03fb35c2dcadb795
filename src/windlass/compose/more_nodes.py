"""Nodes as child processes: the further ones of `up --nodes N`, and all of them with `--reload`.

Each gets every setting that this process has, whatever they came from, on its standard input: none
is read again from the file or the environment, and no password stands in a command line.

One that dies is begun again, after a rest that grows while it keeps dying, and both are said: in
the log, and to whoever sits at the terminal. One that left because it was asked to (`windlass node
drain`) is left alone, and one that wants its new code (`reload`) is begun again at once. None
outlives us, even when we are killed: the kernel tells it to drain, and the next start on the same
data does not find strangers at work.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import structlog

from windlass.compose.terminal import say_beside_log
from windlass.config import Settings
from windlass.config.load import hand_over, take_over
from windlass.supervise import Restarts, supervisor

log = structlog.get_logger()

# What a child is typed as: its settings come on standard input.
COMMAND: Final = ("node", "--settings", "-")
# How a child says that it wants to be begun again with new code: a number no error of ours has.
RELOAD: Final = 75
# For what follows a drain: connections, the embedded interpreters of tasks, the exit.
END_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOrder:
    """What a node process is told beside its settings."""

    listener: int | None = None  # the descriptor of a bound socket; None: it serves no API, or
    # binds its own
    data: str | None = None  # folder of the embedded servers; None: the servers are the user's own
    nodes: int = 1  # of `up`, this one included
    is_reloading: bool = False
    round: int = 1  # how often it was begun, for the sake of new code
    is_quiet: bool = False  # another process speaks to the terminal

    @property
    def folder(self) -> Path | None:
        return Path(self.data) if self.data is not None else None


def to_line(settings: Settings, order: NodeOrder) -> bytes:
    return json.dumps({"settings": hand_over(settings), "order": asdict(order)}).encode()


def from_line(line: bytes) -> tuple[Settings, NodeOrder]:
    told: Mapping[str, Any] = json.loads(line)
    return take_over(told["settings"]), NodeOrder(**told["order"])


@contextlib.asynccontextmanager
async def more_nodes(
    settings: Settings, count: int, order: NodeOrder, main: NodeOrder | None = None
) -> AsyncIterator[ChildNodes]:
    """`count` nodes that serve no API; and before them one that does, if `main` is told so.

    The settings name the servers.
    """
    further = replace(settings, roles=("worker", "leader"))
    first = [_Child(name="the node", settings=settings, order=main)] if main is not None else []
    names = [f"node {number}" for number in range(2, count + 2)]
    quiet = replace(order, is_quiet=True)
    others = [_Child(name=name, settings=further, order=quiet) for name in names]
    nodes = ChildNodes([*first, *others])
    try:
        yield nodes
    finally:
        await nodes.end(asyncio.Event())


class ChildNodes:
    def __init__(self, children: Sequence[_Child]) -> None:
        self._children = children
        self._keepers = [supervisor().keep(child.name, child.live) for child in children]

    async def first_left(self) -> int:
        """Until the first of them has left, or could not be begun; returns its exit code."""
        await asyncio.wait(self._keepers[:1])
        return self._children[0].code

    async def end(self, at_once: asyncio.Event) -> None:
        """Let them drain; when `at_once` is set they are told a second time, and do not."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*(child.end(at_once) for child in self._children))


@dataclass(slots=True, kw_only=True)
class _Child:
    name: str
    settings: Settings
    order: NodeOrder
    code: int = field(default=0, init=False)  # of its last process
    _beginning: asyncio.Task[asyncio.subprocess.Process] | None = field(default=None, init=False)

    async def live(self) -> None:
        restarts = Restarts()
        while True:
            # A task of its own: whatever ends us, a process that was begun is known, and ended.
            self._beginning = asyncio.create_task(self._begin())
            process = await asyncio.shield(self._beginning)
            self.code = code = await process.wait()
            if code == RELOAD:
                self.order = replace(self.order, round=self.order.round + 1)
                continue
            if code == 0:
                log.info("node_left", node=self.name, pid=process.pid)
                return
            if not self.order.is_quiet and self.order.round == 1 and code > 0:
                return  # it has said why it cannot start
            rest, how = restarts.next_seconds(), _how(code)
            log.error("node_ended", node=self.name, pid=process.pid, how=how, rest_seconds=rest)
            say_beside_log(f"{self.name} (pid {process.pid}) {how}; it is begun again")
            await asyncio.sleep(rest)

    async def _begin(self) -> asyncio.subprocess.Process:
        from windlass.embedded import launch  # a node without children needs none of that room

        order = {
            "argv": [sys.executable, "-m", "windlass", *COMMAND],
            **dict.fromkeys(("uid", "gid", "umask")),  # our own
            "death_signal": signal.SIGTERM,
            "parent": os.getpid(),
        }
        listener = self.order.listener
        # From the thread of the loop, which lives as long as we do: the kernel looks at that.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", launch.__file__, json.dumps(order)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL if self.order.is_quiet else None,
            pass_fds=() if listener is None else (listener,),
            # A Ctrl-C at the terminal is ours to pass on, once.
            start_new_session=True,
        )
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it is gone already, and that is seen soon
            process.stdin.write(to_line(self.settings, self.order))
            await process.stdin.drain()
            process.stdin.close()
        return process

    async def end(self, at_once: asyncio.Event) -> None:
        if self._beginning is None:
            return
        try:
            process = await self._beginning
        except OSError:
            return  # it could not be begun
        async with _told_again(process, at_once):
            _terminate(process)
            seconds = self.settings.drain_timeout_seconds + END_SECONDS
            try:
                await asyncio.wait_for(process.wait(), seconds)
            except TimeoutError:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def _told_again(
    process: asyncio.subprocess.Process, at_once: asyncio.Event
) -> AsyncIterator[None]:
    async def tell() -> None:
        await at_once.wait()
        _terminate(process)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()


def _terminate(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
