"""A server that lives no longer than we do.

The child has a session of its own, so Ctrl-C in a terminal reaches us and not it; and the kernel
sends it a signal when we die, even by kill -9. The kernel ties that signal to the *thread* that
started the child, not to the process. So each child is started by a thread that does nothing but
wait for it to end: the thread lives exactly as long as the child, or as we do. The same thread
reaps it, so there is never a zombie.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from windlass.embedded import launch, processes
from windlass.embedded.account import Account
from windlass.embedded.limits import KILL_SECONDS, STDIN_BYTES_MAX
from windlass.embedded.log import open_log

_CARRIED_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "TZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to start, and as whom."""

    argv: tuple[str, ...]
    cwd: Path  # entered before privileges are dropped
    log_path: Path
    account: Account | None  # None: as ourselves
    death_signal: signal.Signals  # what the child gets when we die
    # What it reads from its standard input: a secret in here is seen by nobody else, while its
    # command line is for all to see.
    stdin: bytes = b""


class Child:
    """A running child. Made by `Child.start`; ended by `stop`."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._pid: Future[int] = Future()
        self._exit: Future[int] = Future()
        # A running future cannot be cancelled by one of several who wait for it.
        self._exit.set_running_or_notify_cancel()
        self._reaping = threading.Lock()
        self._ended: asyncio.Future[int] | None = None

    @classmethod
    def start(cls, order: Order) -> Child:
        """Start it. Takes a few milliseconds and no await, so a cancelled start leaks no child."""
        child = cls(order)
        name = f"child-{Path(order.argv[0]).name}"
        threading.Thread(target=child._live, name=name, daemon=True).start()
        child._pid.result()
        return child

    @property
    def pid(self) -> int:
        return self._pid.result()

    @property
    def exit_code(self) -> int | None:
        """None while it lives; minus the signal's number when a signal ended it."""
        return self._exit.result() if self._exit.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._end_seen_by_this_loop())

    async def ends_within(self, seconds: float) -> bool:
        await asyncio.wait([self._end_seen_by_this_loop()], timeout=seconds)
        return self._exit.done()

    def send(self, number: signal.Signals) -> None:
        with self._reaping:  # once reaped, its number may be given to a stranger
            if not self._exit.done():
                os.kill(self.pid, number)

    async def stop(self, *steps: tuple[signal.Signals, float]) -> None:
        """Each step is a signal and the seconds it is given; after the last comes SIGKILL."""
        for number, seconds in steps:
            self.send(number)
            self.send(signal.SIGCONT)  # a frozen process would only hear of it later
            if await self.ends_within(seconds):
                return
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL, also for what it forked: a dead parent cannot tell those to go."""
        with self._reaping:
            if self._exit.done():
                return
            # Some left its group (PostgreSQL's processes do), some may be born into it just now.
            offspring = processes.descendants_of(self.pid)
            os.killpg(self.pid, signal.SIGKILL)
        offspring.extend(processes.members_of(self.pid))
        await processes.end(offspring, (signal.SIGKILL, KILL_SECONDS))
        await self.wait()

    def _end_seen_by_this_loop(self) -> asyncio.Future[int]:
        # One for all who wait: each wrapping stays attached until the child ends.
        if self._ended is None or self._ended.get_loop() is not asyncio.get_running_loop():
            self._ended = asyncio.wrap_future(self._exit)
        return self._ended

    def _live(self) -> None:
        try:
            process = self._spawn()
        except BaseException as error:
            self._pid.set_exception(error)
            return
        self._pid.set_result(process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            self._exit.set_result(process.wait())

    def _spawn(self) -> subprocess.Popen[bytes]:
        order = self._order
        carried = {name: os.environ[name] for name in _CARRIED_ENVIRONMENT if name in os.environ}
        log = open_log(order.log_path, order.account)
        stdin = _filled_pipe(order.stdin, order.account)
        try:
            return subprocess.Popen(  # noqa: S603 (our own interpreter and script)
                [sys.executable, "-I", "-S", launch.__file__, self._ticket()],
                cwd=order.cwd,
                # Little is carried over: our environment may hold secrets, and PG… variables would
                # change what PostgreSQL does. LC_ALL makes its messages and its sorting plain.
                env={**carried, "LC_ALL": "C"},
                stdin=stdin,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
            os.close(stdin)

    def _ticket(self) -> str:
        account = self._order.account
        return json.dumps(
            {
                "argv": self._order.argv,
                "uid": account.uid if account else None,
                "gid": account.gid if account else None,
                "umask": 0o077,
                "death_signal": self._order.death_signal,
                "parent": os.getpid(),
            }
        )


def _filled_pipe(content: bytes, account: Account | None) -> int:
    """A descriptor to read `content` from, once; who runs as the account may open it by name."""
    assert len(content) <= STDIN_BYTES_MAX
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.write(writer, content)
    os.close(writer)
    if account is not None:
        os.fchown(reader, account.uid, account.gid)
    return reader
