"""Programs where an unprivileged account can run them.

A virtualenv below root's home (mode 0700) is out of reach for the account that PostgreSQL runs as,
and PostgreSQL insists on resolving its own absolute path, so no open descriptor helps: the files
must lie somewhere else. They are copied once, below the data folder if the account can get there
and otherwise in the system's cache, under a name made from what they are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from windlass.embedded.account import Account, can_enter, can_execute
from windlass.embedded.errors import DataNotUsable

SYSTEM_CACHE = Path("/var/cache/windlass")
# Headers and static libraries are a third of the wheel and no server reads them.
_UNUSED = shutil.ignore_patterns("include", "pkgconfig", "*.a", "__pycache__")


def reachable_postgres(
    bin_dir: Path, account: Account | None, data: Path, *, cache: Path = SYSTEM_CACHE
) -> Path:
    """`bin_dir` itself if the account can run what is in it, else the same folder of a copy."""
    bin_dir = bin_dir.resolve()
    if account is None or can_execute(account, bin_dir / "postgres"):
        return bin_dir
    install = bin_dir.parent
    package = install.parent
    # The wheel's client programs look for libpq beside the package, at $ORIGIN/../../../<libs>.
    libraries = package.parent / f"{package.name}.libs"
    wanted = [install, libraries] if libraries.is_dir() else [install]
    copy = _copied(wanted, package.parent, _shelf(account, data, cache))
    return copy / bin_dir.relative_to(package.parent)


def reachable_valkey(
    program: Path, account: Account | None, data: Path, *, cache: Path = SYSTEM_CACHE
) -> Path:
    """`program` itself if the account can run it, else a copy of it."""
    program = program.resolve()
    if account is None or can_execute(account, program):
        return program
    return _copied([program], program.parent, _shelf(account, data, cache)) / program.name


def _shelf(account: Account, data: Path, cache: Path) -> Path:
    """The folder that copies go to."""
    shelf = data / "programs" if can_enter(account, data) else cache
    shelf.mkdir(mode=0o755, parents=True, exist_ok=True)
    shelf.chmod(0o755)
    found = shelf.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise DataNotUsable(
            shelf, "is not a folder of root's", "remove it, so that programs can be copied there"
        )
    if not can_enter(account, shelf):
        raise DataNotUsable(
            shelf,
            f"user {account.uid} cannot enter it and cannot run the programs where they are either",
            "install Windlass outside of root's home, or give --data a folder others may enter",
        )
    return shelf


def _copied(wanted: Sequence[Path], root: Path, shelf: Path) -> Path:
    """A folder that holds `wanted` as `root` does; made whole or not at all."""
    copy = shelf / _fingerprint(wanted)
    if copy.is_dir():
        return copy
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=shelf))
    try:
        for path in wanted:
            target = draft / path.relative_to(root)
            if path.is_dir():
                shutil.copytree(path, target, ignore=_UNUSED, symlinks=True)
            else:
                shutil.copy2(path, target)
        _open_to_all(draft)
        try:
            draft.rename(copy)
        except OSError:
            if not copy.is_dir():  # else another start made the same copy first
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return copy


def _open_to_all(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(0o755 if mode & stat.S_IXUSR else 0o644)


def _fingerprint(wanted: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in wanted:
        for file in _files(path):
            found = file.lstat()
            digest.update(f"{file.relative_to(path.parent)}\0{found.st_size}\0".encode())
            digest.update(f"{found.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def _files(path: Path) -> Iterator[Path]:
    yield from sorted(path.rglob("*")) if path.is_dir() else (path,)
