"""One process for one data folder.

The lock is an flock on `<data>/lock`: the kernel drops it when its holder dies, however it dies, so
a file that was left behind means nothing. The number written in it only serves the message.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from windlass.embedded.errors import DataInUse, DataNotUsable

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
