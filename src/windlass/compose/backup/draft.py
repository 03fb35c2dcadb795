"""A file while it is written: `FILE.part` beside its name, and `FILE` when it is whole.

Promises: whoever finds FILE finds all of it, on disk; a power cut, a full disk or a kill -9 leaves
at most `FILE.part`, which the next backup to FILE takes over; two at once do not meet in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from windlass.errors import WindlassError

_SUFFIX: Final = ".part"


class FileThere(WindlassError):
    """A file of this name is there, and nobody said that it may be replaced."""

    code = "file_there"


class CannotWrite(WindlassError):
    """The file cannot be written where it was asked for."""

    code = "cannot_write"

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(
            f"{path} cannot be written ({why}); make room or permit it, or name another"
        )


@contextlib.contextmanager
def said_of(path: Path) -> Iterator[None]:
    """What the system refuses in here is said of the file."""
    try:
        yield
    except OSError as trouble:
        raise CannotWrite(path, trouble.strerror or str(trouble)) from trouble


@contextlib.contextmanager
def draft_of(path: Path, *, may_replace: bool) -> Iterator[IO[bytes]]:
    """Write to what this gives; when the block ends well it becomes `path`.

    Raises FileThere, CannotWrite.
    """
    _refuse(path, may_replace=may_replace)
    part = path.with_name(path.name + _SUFFIX)
    with _opened(part) as file:
        try:
            yield file
            with said_of(path):
                file.flush()
                os.fsync(file.fileno())
            # Somebody else may have made it meanwhile.
            _refuse(path, may_replace=may_replace)
            with said_of(path):
                part.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    _sync(path.parent)


def _refuse(path: Path, *, may_replace: bool) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink():
            raise FileThere(f"{path} is a link that leads nowhere; name another file") from None
        return
    except OSError as trouble:
        raise CannotWrite(path, trouble.strerror or str(trouble)) from None
    if not stat.S_ISREG(mode):
        raise CannotWrite(path, "it is there and no regular file")
    if not may_replace:
        raise FileThere(f"{path} is there already; name another file, or replace it with --force")


@contextlib.contextmanager
def _opened(part: Path) -> Iterator[IO[bytes]]:
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(part, flags, 0o600)
    except OSError as trouble:
        raise CannotWrite(part, trouble.strerror or str(trouble)) from None
    with os.fdopen(handle, "r+b", buffering=0) as file:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileThere(
                f"{part} is being written by another backup; wait for its end, or name another file"
            ) from None
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            raise CannotWrite(part, "it is there and not ours")
        os.fchmod(handle, 0o600)
        os.ftruncate(handle, 0)
        yield file


def _sync(folder: Path) -> None:
    """The name is on disk as well."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
