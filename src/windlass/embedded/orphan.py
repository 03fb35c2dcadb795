"""What an earlier, killed owner of the data may have left behind.

The kernel ends our servers when we die, but they may take a moment (PostgreSQL writes a last
checkpoint), and a file `postmaster.pid` outlives a crash. PostgreSQL refuses to start when the
number in that file belongs to any living process at all, which after a reboot or in a container is
soon the case. So we look who that is: our PostgreSQL is ended, a stranger's number is forgotten.

Two PostgreSQL on one cluster would be the end of it, so the caller holds the data lock, a process
is only taken for a stranger when it is known not to work in the cluster, and PostgreSQL's own check
of its shared memory still stands behind ours.
"""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

from windlass.embedded import processes
from windlass.embedded.errors import DataNotUsable
from windlass.embedded.limits import (
    KILL_SECONDS,
    POSTGRES_FAST_STOP_SECONDS,
    POSTGRES_IMMEDIATE_STOP_SECONDS,
    VALKEY_STOP_SECONDS,
)
from windlass.embedded.processes import Process

POSTGRES_STOP = (
    (signal.SIGINT, POSTGRES_FAST_STOP_SECONDS),
    (signal.SIGQUIT, POSTGRES_IMMEDIATE_STOP_SECONDS),
)
VALKEY_STOP = ((signal.SIGTERM, VALKEY_STOP_SECONDS),)
_KILL = (signal.SIGKILL, KILL_SECONDS)


def cluster_name(cluster: Path) -> str:
    """Shown in the title of each of its processes, where everybody can see whose they are."""
    return f"windlass-{hashlib.sha256(os.fsencode(cluster)).hexdigest()[:12]}"


async def end_postgres_on(cluster: Path) -> None:
    """Afterwards no PostgreSQL runs on the cluster and no stale file says that one does."""
    pid_file = cluster / "postmaster.pid"
    process = _process_named_in(pid_file)
    if process is not None and _is_postgres_on(process, cluster):
        await _must_end([process], cluster, *POSTGRES_STOP, _KILL)
    # A postmaster that was killed leaves processes that go by themselves, but not always at once.
    await _must_end(
        [other for other in processes.everyone() if _is_postgres_on(other, cluster)],
        cluster,
        (signal.SIGQUIT, POSTGRES_IMMEDIATE_STOP_SECONDS),
        _KILL,
    )
    _forget(pid_file)


async def end_listener(socket_path: Path) -> None:
    """Afterwards nobody listens there; for Valkey, which has no data to lose."""
    process = processes.listener(socket_path)
    if process is not None:
        await _must_end([process], socket_path, *VALKEY_STOP, _KILL)
    _forget(socket_path)


def _forget(file: Path) -> None:
    file.unlink(missing_ok=True)


def _process_named_in(pid_file: Path) -> Process | None:
    try:
        return processes.find(int(pid_file.read_text().split("\n", 1)[0]))
    except (FileNotFoundError, ValueError):
        return None


def _is_postgres_on(process: Process, cluster: Path) -> bool:
    if process.name != "postgres":
        return False
    match processes.works_in(process, cluster):
        case None:  # root without the right to look, as in a container; a title is for all to see
            return cluster_name(cluster) in " ".join(processes.command_line(process))
        case known:
            return known


async def _must_end(
    left_over: list[Process], folder: Path, *steps: tuple[signal.Signals, float]
) -> None:
    left = await processes.end(left_over, *steps)
    if left:
        numbers = ", ".join(str(process.pid) for process in left)
        raise DataNotUsable(
            folder,
            f"is still used by process {numbers} of an earlier start, which does not end",
            "end it by hand, then start again",
        )
