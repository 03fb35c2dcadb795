"""What a drain took: its time, and the CPU seconds of a worker and of its PostgreSQL.

Of each, the process and all below it are counted, those that have ended included.
"""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg
import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    worker_seconds: float
    postgres_seconds: float

    def __sub__(self, before: Cpu) -> Cpu:
        return Cpu(
            worker_seconds=self.worker_seconds - before.worker_seconds,
            postgres_seconds=self.postgres_seconds - before.postgres_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    jobs: int
    seconds: float
    cpu: Cpu

    @property
    def per_second(self) -> float:
        return self.jobs / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """Reads what this process and its PostgreSQL have used so far."""

    postmaster: int

    @classmethod
    async def beside(cls, connection: asyncpg.Connection) -> Meter:
        return cls(postmaster=await postmaster_of(connection))

    def read(self) -> Cpu:
        return Cpu(
            worker_seconds=used(psutil.Process().pid), postgres_seconds=used(self.postmaster)
        )


async def postmaster_of(connection: asyncpg.Connection) -> int:
    """The process that all others of a PostgreSQL on this machine are children of."""
    backend: int = await connection.fetchval("SELECT pg_backend_pid()")
    return psutil.Process(backend).ppid()


def used(pid: int) -> float:
    root = psutil.Process(pid)
    own = root.cpu_times()
    seconds = own.user + own.system + own.children_user + own.children_system
    for below in root.children(recursive=True):
        try:
            times = below.cpu_times()
        except psutil.NoSuchProcess:
            continue  # it has just ended: the next reading has it among its parent's
        seconds += times.user + times.system + times.children_user + times.children_system
    return seconds
