"""A server's log file: opened safely, kept small, shown when something fails."""

from __future__ import annotations

import os
from pathlib import Path

from windlass.embedded.account import Account
from windlass.embedded.limits import LOG_BYTES_MAX, LOG_TAIL_BYTES, LOG_TAIL_LINES


def open_log(path: Path, account: Account | None) -> int:
    """A descriptor to append to; a log that has grown too large is put aside first."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        if path.lstat().st_size > LOG_BYTES_MAX:
            path.replace(path.with_name(path.name + ".1"))
    except FileNotFoundError:
        pass
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    if account is not None and os.fstat(fd).st_uid != account.uid:
        os.fchown(fd, account.uid, account.gid)
    return fd


def log_size(path: Path) -> int:
    """Where the next line will be written: what lies before it is of earlier starts."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def log_tail(path: Path, *, since: int = 0) -> str:
    """The last lines written after byte `since`."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            # A log that was put aside and begun anew is shorter than `since`.
            begin = since if since <= end else 0
            file.seek(max(begin, end - LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-LOG_TAIL_LINES:])
