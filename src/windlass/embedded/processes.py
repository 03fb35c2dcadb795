"""Other processes, as /proc shows them.

A process is known by its number and its start time together, so that a number given to another
process in the meantime is never mistaken for it, let alone signalled.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from windlass.clock import monotonic
from windlass.embedded.limits import READY_POLL_SECONDS

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    pid: int
    parent: int
    group: int
    name: str
    started: int  # in clock ticks since boot

    def is_alive(self) -> bool:
        now = find(self.pid)
        return now is not None and now.started == self.started

    def send(self, number: signal.Signals) -> None:
        if self.is_alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass  # it ended by itself just now


def find(pid: int) -> Process | None:
    """The living process of this number. A zombie is dead: nobody has asked how it ended yet."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name stands in brackets and may hold anything, brackets and spaces too.
    name, _, rest = text.partition("(")[2].rpartition(")")
    state, parent, group, *fields = rest.split()
    if state in "ZXx":
        return None
    return Process(
        pid=pid, parent=int(parent), group=int(group), name=name, started=int(fields[16])
    )


def everyone() -> Iterator[Process]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (process := find(int(entry.name))) is not None:
            yield process


def descendants_of(pid: int) -> list[Process]:
    """Its children, their children, and so on."""
    by_parent: dict[int, list[Process]] = {}
    for process in everyone():
        by_parent.setdefault(process.parent, []).append(process)
    found = list(by_parent.get(pid, ()))
    for process in found:  # grows while we walk it
        found.extend(by_parent.get(process.pid, ()))
    return found


def members_of(group: int) -> list[Process]:
    return [process for process in everyone() if process.group == group]


def command_line(process: Process) -> list[str]:
    try:
        raw = (_PROC / str(process.pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(word) for word in raw.split(b"\0")]


def works_in(process: Process, folder: Path) -> bool | None:
    """Whether that is its working directory; None when we are not allowed to know."""
    try:
        return os.path.samestat((_PROC / str(process.pid) / "cwd").stat(), folder.stat())
    except PermissionError:
        return None
    except OSError:
        return False


def listener(path: Path) -> Process | None:
    """Who listens on this unix socket. The kernel says so: no file has to be believed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        try:
            client.connect(str(path))
            raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    pid: int = struct.unpack("3i", raw)[0]
    return find(pid)


async def end(processes: Iterable[Process], *steps: tuple[signal.Signals, float]) -> list[Process]:
    """Signal them, harder from step to step, until all are gone; returns those that are not."""
    left = [process for process in processes if process.is_alive()]
    for number, seconds in steps:
        for process in left:
            process.send(number)
            process.send(signal.SIGCONT)  # a frozen process would only hear of it later
        left = await gone_within(left, seconds)
        if not left:
            break
    return left


async def gone_within(processes: Iterable[Process], seconds: float) -> list[Process]:
    """Wait until they are gone; returns those that still live when the time is up."""
    deadline = monotonic() + seconds
    left = [process for process in processes if process.is_alive()]
    while left and monotonic() < deadline:
        await asyncio.sleep(READY_POLL_SECONDS)
        left = [process for process in left if process.is_alive()]
    return left
