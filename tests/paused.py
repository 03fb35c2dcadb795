"""Run a command while its processes are paused at random, one at a time: chaos for a whole suite.

    python -m tests.paused bash .ci/run

Whatever the command has started, however far down, may be the next: a test process, a node, a
backend of PostgreSQL, Valkey. It is stopped (SIGSTOP) for a moment, as a busy machine or a virtual
one stops it, and goes on. The command's exit code is ours; the seed is printed first and each pause
is one line of `paused.log`, so that a test that fails has a suspect.

A process that is stopped already is somebody's who wants it so, and left alone.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

import psutil

REST_SECONDS: Final = (3.0, 12.0)  # between two pauses
PAUSE_SECONDS: Final = (0.2, 2.0)
LOOK_SECONDS: Final = 0.5
LOG: Final = Path("paused.log")


class Family:
    """All that a process has started: once seen, a child is remembered when its parent has gone."""

    def __init__(self, pid: int) -> None:
        self._members = {psutil.Process(pid)}

    def alive(self) -> list[psutil.Process]:
        for member in list(self._members):
            with contextlib.suppress(psutil.NoSuchProcess):
                self._members.update(member.children(recursive=True))
        # Not by its pid alone: another process may have that by now.
        self._members = {member for member in self._members if member.is_running()}
        return sorted(self._members, key=lambda member: member.pid)


def main(command: Sequence[str], seed: int) -> int:
    print(f"pauses at random, seed {seed}", flush=True)
    chance = random.Random(seed)
    with LOG.open("w") as log, subprocess.Popen(command) as running:
        family = Family(running.pid)
        while not _has_ended(running, family, chance.uniform(*REST_SECONDS)):
            pause(chance.choice(family.alive() or [psutil.Process()]), chance, log)
        return running.returncode


def pause(process: psutil.Process, chance: random.Random, log: TextIO) -> None:
    """Stop it for a moment, unless it is ours, has ended, or was stopped by somebody else."""
    seconds = chance.uniform(*PAUSE_SECONDS)
    with contextlib.suppress(psutil.NoSuchProcess):
        if process.pid == os.getpid() or process.status() in (
            psutil.STATUS_STOPPED,
            psutil.STATUS_ZOMBIE,
        ):
            return
        line = " ".join(process.cmdline())[:120] or process.name()
        process.send_signal(signal.SIGSTOP)
        try:
            log.write(f"{time.strftime('%H:%M:%S')} {seconds:.1f} s {process.pid} {line}\n")
            log.flush()
            time.sleep(seconds)
        finally:
            process.send_signal(signal.SIGCONT)


def _has_ended(running: subprocess.Popen[bytes], family: Family, within_seconds: float) -> bool:
    """Wait so long; look meanwhile who is there, so that none is lost with its parent."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(LOOK_SECONDS)
            return True
        family.alive()
    return False


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python -m tests.paused COMMAND [ARGUMENT …]")
    sys.exit(main(sys.argv[1:], seed=int(os.environ.get("PAUSED_SEED", time.time_ns() % 100_000))))
