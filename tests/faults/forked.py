"""Processes forked from one that has imported everything: a node is there in no time.

A process that begins with Python imports for a second before it does anything, and tests start
hundreds of nodes. The fork server of the standard library imports once for each worker of the
suite; a node forked from it is a process like any other, with its own pid, environment, log and
exit code, killed and frozen by signals. What it runs is what `windlass node` runs.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

# What a node with every role imports before it is ready. Nothing of it may start a thread: a fork
# would have only half of it.
PRELOADED: Final = (
    "tests.faults.app",
    "tests.sdk.sample_app",
    "uvloop",
    "windlass.api.app",
    "windlass.engine.identity.first",
    "windlass.api.http.serve",
    "windlass.cli.app",
    "windlass.cli.launch",
    "windlass.cli.verbs.node",
    "windlass.compose.foreground",
    "windlass.compose.start",
    "windlass.fastlane.connect",
)
_FORKS: Final = multiprocessing.get_context("forkserver")


class ForkedProcess:
    """As `asyncio.subprocess.Process`, as far as tests need it."""

    def __init__(self, *, command: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        """`command` is what follows `windlass`."""
        _FORKS.set_forkserver_preload(list(PRELOADED))
        heard, said = _FORKS.Pipe(duplex=False)
        self._process = _FORKS.Process(
            target=_run, args=(list(command), dict(environ), str(log), said)
        )
        self._process.start()
        said.close()
        self._heard = heard
        assert self._process.pid is not None
        self.pid: Final = self._process.pid

    async def lines(self) -> asyncio.StreamReader:
        """What it prints."""
        reader = asyncio.StreamReader()
        pipe = os.fdopen(os.dup(self._heard.fileno()), "rb", buffering=0)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        self._heard.close()
        return reader

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        # Readable once it has ended.
        loop.add_reader(self._process.sentinel, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        self._process.join()
        assert self.returncode is not None
        return self.returncode


def _run(command: list[str], environ: dict[str, str], log: str, said: Connection) -> None:
    """In the fork: become `windlass node …`."""
    gc.freeze()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(said.fileno(), 1)
    said.close()
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, buffering=1, closefd=False)  # noqa: SIM115
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    os.environ.clear()
    os.environ.update(environ)
    # What an interpreter would have done with it.
    sys.path[:0] = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.argv = ["windlass", *command]
    from windlass.cli.launch import launch

    try:
        sys.exit(launch(command))
    finally:
        atexit._run_exitfuncs()
