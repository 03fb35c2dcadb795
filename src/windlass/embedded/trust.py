"""A cluster of an earlier release, which let everybody in, learns to ask for a password.

Whoever opened its socket was `windlass`, its superuser. Now the superuser has another name and a
password, `windlass` is an ordinary role that owns the database, and pg_hba.conf trusts nobody.

    1  the passwords are on disk             (passwords.py)
    2  the superuser gets name and password  (here, while no server runs: nobody can come between)
    3  pg_hba.conf asks for passwords        (here)
    4  the account of its own                (account.py, if root made the folder)
    5  the application gets its role         (postgres.py, by the server itself)

Each can be done twice. Whoever is interrupted finds trust in pg_hba.conf and begins again, or finds
that `windlass` cannot log in and goes on with the last.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final

from windlass.embedded.account import Account
from windlass.embedded.cluster import PostgresInstallation, run_to_end
from windlass.embedded.errors import DataNotUsable
from windlass.embedded.limits import POSTGRES_START_SECONDS_MAX

_SQL: Final = Path(__file__).with_name("sql")
# The method is the last word of an entry: this one takes no options.
_TRUST: Final = re.compile(r"^(\s*(?:local|host)[^#\n]*\s)trust(?=[ \t]*(?:#.*)?$)", re.MULTILINE)
_HBA: Final = "pg_hba.conf"


def statement(name: str, **words: str) -> str:
    """A statement of ours, with names and verifiers put in."""
    text = (_SQL / f"{name}.sql").read_text()
    for word, value in words.items():
        assert re.fullmatch(r"[\w$:+/=-]+", value), "nothing that would have to be quoted"
        text = text.replace("{" + word + "}", value)
    return text


def trusts(cluster: Path) -> bool:
    """Whether anybody is let in without a password."""
    try:
        return _TRUST.search((cluster / _HBA).read_text(errors="replace")) is not None
    except FileNotFoundError:
        return False


async def name_superuser(
    installation: PostgresInstallation, *, superuser: str, verifier: str
) -> None:
    """No server runs on the cluster, and its account has a name."""
    script = statement("admin_name", admin=superuser, verifier=verifier)
    body = "\n".join(line for line in script.splitlines() if not line.startswith("--"))
    order = installation.order(
        "postgres",
        installation.cluster,
        *("-c", "exit_on_error=on", "-c", "log_checkpoints=off", "-j", "postgres"),
        mode="--single",
        stdin=f"{body}\n\n".encode(),  # -j: a statement ends with an empty line
    )
    await run_to_end(order, "name its superuser", POSTGRES_START_SECONDS_MAX)


def ask_for_passwords(cluster: Path, account: Account | None) -> None:
    """Whole or not at all. What a user has added stays, but for its trust.

    By descriptor, and only what is the account's: root must not be led to read or write for it
    what it could not.
    """
    cluster_fd = os.open(cluster, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        new = f"{_HBA}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=cluster_fd)
        text = _TRUST.sub(r"\1scram-sha-256", _read(_HBA, cluster_fd, account))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(
            os.open(new, flags, 0o600, dir_fd=cluster_fd), "w", encoding="latin-1"
        ) as file:
            if account is not None:
                os.fchown(file.fileno(), account.uid, account.gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, _HBA, src_dir_fd=cluster_fd, dst_dir_fd=cluster_fd)
        os.fsync(cluster_fd)
    finally:
        os.close(cluster_fd)


def _read(name: str, cluster_fd: int, account: Account | None) -> str:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=cluster_fd)
    with os.fdopen(fd, encoding="latin-1") as file:  # any bytes, and back to the same
        if account is not None and os.fstat(fd).st_uid != account.uid:
            raise DataNotUsable(
                Path(name), "belongs to somebody else", "give it to the owner of its folder"
            )
        return file.read()
