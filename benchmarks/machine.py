"""The facts without which a figure means nothing, and no others: no host names, no paths."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from itertools import takewhile

import asyncpg

from benchmarks.limits import READY_SECONDS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    cores: int
    architecture: str
    kernel: str
    python: str
    postgresql: str
    fsync: str
    synchronous_commit: str

    @property
    def is_durable(self) -> bool:
        """Whether a commit on this PostgreSQL outlives a power cut."""
        return self.fsync == "on" and self.synchronous_commit == "on"


async def describe(dsn: str) -> Machine:
    connection = await asyncpg.connect(dsn, timeout=READY_SECONDS_MAX)
    try:
        rows = await connection.fetch(
            "SELECT name, setting FROM pg_settings"
            " WHERE name IN ('server_version', 'fsync', 'synchronous_commit')"
        )
    finally:
        await connection.close()
    settings: dict[str, str] = {row["name"]: row["setting"] for row in rows}
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        architecture=platform.machine(),
        kernel=f"{platform.system()} {_numbers(platform.release())}",
        python=platform.python_version(),
        postgresql=settings["server_version"],
        fsync=settings["fsync"],
        synchronous_commit=settings["synchronous_commit"],
    )


def _numbers(release: str) -> str:
    """A kernel's version without its builder's suffix, which says where it runs, not what it is."""
    return "".join(takewhile(lambda letter: letter.isdigit() or letter == ".", release))
