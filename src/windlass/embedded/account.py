"""Who the servers run as.

PostgreSQL refuses to run as root. When we are root both servers run as an unprivileged account;
otherwise as ourselves, which is written `None` throughout this package.

A folder belongs to whoever made it: data that a normal user made is served as that user even when
root starts it, so that the user can start it again tomorrow.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from windlass.embedded.errors import DataNotUsable, NoAccount

PREFERRED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    uid: int
    gid: int


def account_for(home: Path) -> Account | None:
    """Who runs the server that lives in `home`; None means that we run it as ourselves."""
    owner = _owner(home)
    if os.geteuid() != 0:
        if owner is not None and owner.uid != os.geteuid():
            raise DataNotUsable(
                home,
                f"belongs to user {owner.uid}, not to user {os.geteuid()} who is starting it",
                "start it as that user or as root, or give another folder with --data",
            )
        return None
    if owner is not None and owner.uid != 0:
        return owner
    return preferred_account()


def preferred_account(names: tuple[str, ...] = PREFERRED) -> Account:
    """The unprivileged account that root's own data is served as: the first that exists."""
    for name in names:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(uid=entry.pw_uid, gid=entry.pw_gid)
    raise NoAccount(names)


def make_folder(folder: Path, account: Account | None) -> None:
    """Make `folder` unless it is there; nobody but its owner (and root) may enter it."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        owner = _settled_owner(folder, account)
    except OSError as error:
        raise DataNotUsable(
            folder,
            f"cannot be prepared ({error.strerror})",
            "check its owner and permissions, or give another folder with --data",
        ) from error
    if owner != (account.uid if account else os.geteuid()):
        raise DataNotUsable(
            folder,
            f"belongs to user {owner}, who is not the one to use it",
            "remove it, or give another folder with --data",
        )


def _settled_owner(folder: Path, account: Account | None) -> int:
    """The folder's owner, after root has given away what is root's.

    By descriptor: root must not be led to give away a folder that somebody else put in the place of
    the one just looked at.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        owner = os.fstat(fd).st_uid
        if account is None or owner != 0 or folder.is_symlink():
            return owner
        os.fchown(fd, account.uid, account.gid)
        return account.uid
    finally:
        os.close(fd)


def can_enter(account: Account | None, folder: Path) -> bool:
    """Whether the account may walk the whole absolute path down into `folder`."""
    if account is None:
        return True
    return all(_may(account, place, 0o1) for place in (folder, *folder.parents))


def can_execute(account: Account | None, program: Path) -> bool:
    """Whether the account may walk to `program`, read it and run it."""
    return account is None or (can_enter(account, program.parent) and _may(account, program, 0o5))


def _may(account: Account, path: Path, wanted: int) -> bool:
    """By permission bits alone. Where an access list says more, we err towards not needing it."""
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid == account.uid:
        mode >>= 6
    elif found.st_gid == account.gid:
        mode >>= 3
    return mode & wanted == wanted


def _owner(path: Path) -> Account | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise DataNotUsable(
            path, "cannot be looked at", "start as its owner, or give another folder with --data"
        ) from error
    return Account(uid=found.st_uid, gid=found.st_gid)
