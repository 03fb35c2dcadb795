"""Both embedded servers of one data folder, under its lock.

    async with EmbeddedServers(data) as servers:
        ... servers.database_url ... servers.redis_url ...

Promises: both run or neither does; one process uses a folder at a time; after `stop` no process is
left and the data is.

The lock (`DataLock`) is an flock on `<data>/lock`: the kernel drops it when its holder dies,
however it dies, so a file that was left behind means nothing. The number in it only serves the
message.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from windlass.embedded.errors import (
    DataInUse,
    DataNotUsable,
    EmbeddedError,
    RestoreUnfinished,
    ServerFailed,
)
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.server import wait_for_any
from windlass.embedded.valkey import EmbeddedValkey

# Holds the name of the file that is restored into the folder, from before anything is there until
# all of it is.
UNFINISHED: Final = "restore.unfinished"
_UNFINISHED_BYTES_MAX: Final = 4096


class EmbeddedServers:
    def __init__(
        self,
        data: Path,
        *,
        postgres_settings: Mapping[str, str] | None = None,
        valkey_settings: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data.resolve()
        self.postgres = EmbeddedPostgres(self.data, settings=postgres_settings)
        self.valkey = EmbeddedValkey(self.data, settings=valkey_settings)
        self._lock = DataLock(self.data)

    @property
    def database_url(self) -> str:
        return self.postgres.url()

    @property
    def redis_url(self) -> str:
        return self.valkey.url()

    async def start(self) -> tuple[str, str]:
        """Returns the URLs of PostgreSQL and Valkey, once both answer."""
        make_data_folder(self.data)
        self._lock.acquire()
        try:
            refuse_unfinished(self.data)
            return await self._start_both()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self.postgres.stop())
                both.create_task(self.valkey.stop())
        finally:
            self._lock.release()

    async def wait(self) -> ServerFailed:
        """Wait until one of them ends without being asked to; returns what to tell the user."""
        return await wait_for_any(self.postgres, self.valkey)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _start_both(self) -> tuple[str, str]:
        try:
            async with asyncio.TaskGroup() as both:
                postgres = both.create_task(self.postgres.start())
                valkey = both.create_task(self.valkey.start())
        except* EmbeddedError as failures:
            first = self._plainly(failures.exceptions[0])
        except* OSError as failures:
            first = self._unusable(failures.exceptions[0])
        else:
            return postgres.result(), valkey.result()
        raise first

    def _plainly(self, failure: Exception) -> Exception:
        """A full disk is said by PostgreSQL in the midst of much else."""
        full = os.strerror(errno.ENOSPC)
        if isinstance(failure, ServerFailed) and full in failure.tail:
            return self._unusable(OSError(errno.ENOSPC, full))
        return failure

    def _unusable(self, error: BaseException) -> DataNotUsable:
        reason = error.strerror if isinstance(error, OSError) else None
        return DataNotUsable(
            self.data,
            f"cannot be written to ({reason or error})",
            "make room or permit it, or give another folder with --data",
        )


def make_data_folder(data: Path) -> None:
    # As root others may pass through (not look inside), so that the servers' account can.
    mode = 0o711 if os.geteuid() == 0 else 0o700
    try:
        data.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise DataNotUsable(
            data,
            f"cannot be made ({error.strerror})",
            "give a folder that you may write to with --data",
        ) from error


def refuse_unfinished(data: Path) -> None:
    """A folder that a restore was to fill is not served as if it had been."""
    try:
        file = (data / UNFINISHED).read_bytes()[:_UNFINISHED_BYTES_MAX]
    except FileNotFoundError:
        return
    raise RestoreUnfinished(data, os.fsdecode(file).strip() or "FILE")


_held: set[int] = set()


class DataLock:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock at once or say who has it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            fd = os.open(self._data / "lock", flags, 0o600)
        except OSError as error:
            raise DataNotUsable(
                self._data,
                f"its lock file cannot be opened ({error.strerror})",
                "start as the folder's owner, or give another folder with --data",
            ) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip()
            os.close(fd)
            raise DataInUse(self._data, holder) from None
        with contextlib.suppress(OSError):  # the number only serves a message
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        _held.add(fd)
        self._fd = fd

    def release(self) -> None:
        """Let go. The file stays: removing it would let two processes lock two files."""
        if self._fd is not None:
            _held.discard(self._fd)
            os.close(self._fd)
            self._fd = None


def _close_in_forked_child() -> None:
    # A forked worker shares the lock with us and would keep it alive after our death.
    for fd in _held:
        os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_forked_child)
