"""Who the servers run as.

PostgreSQL refuses to run as root. When we are root each server runs as an account of its own;
otherwise as ourselves, which is written `None` throughout this package.

An account of its own is a number that nobody else has, chosen when its folder is made and read from
the folder's owner ever after. It has no name, no home and no login; nothing is added to the list of
users. `initdb` alone insists on a name: it runs as a shared account, without a password to be seen,
and what it made is handed over before anything starts on it.

A folder belongs to whoever made it: data that a normal user made is served as that user even when
root starts it, so that the user can start it again tomorrow. What root made in the name of a shared
account, as earlier releases did, is handed over to an account of its own.
"""

from __future__ import annotations

import os
import pwd
import random
import stat
from dataclasses import dataclass
from pathlib import Path

from windlass.embedded.errors import DataNotUsable, NoAccount
from windlass.embedded.limits import ACCOUNT_RANGES, ACCOUNT_TRIES_MAX

SHARED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    uid: int
    gid: int


def account_for(home: Path) -> Account | None:
    """Who runs the server that lives in `home`; None means that we run it as ourselves."""
    owner = owner_of(home)
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
    return own_account() or shared_account()


def own_account() -> Account | None:
    """A number that nobody has. None: this system knows none that we may give away."""
    for first, last in ACCOUNT_RANGES:
        if not (_is_mapped("uid_map", first, last) and _is_mapped("gid_map", first, last)):
            continue
        for _ in range(ACCOUNT_TRIES_MAX):
            number = random.SystemRandom().randint(first, last)
            if not (_has_name(number) or _runs_something(number)):
                return Account(uid=number, gid=number)
    return None


def _is_mapped(file: str, first: int, last: int) -> bool:
    """Whether these numbers exist here: in a container with a user namespace few may."""
    try:
        lines = Path("/proc/self", file).read_text().splitlines()
    except OSError:
        return False
    ranges = [tuple(int(word) for word in line.split()) for line in lines]
    return any(inside <= first and last < inside + count for inside, _, count in ranges)


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _runs_something(uid: int) -> bool:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                return True
        except OSError:
            continue  # it ended just now
    return False


def maker_of(account: Account | None) -> Account | None:
    """Who runs `initdb` for the account: itself if it has a name, else a shared one."""
    return account if account is None or _has_name(account.uid) else shared_account()


def settle(home: Path, *, durable: bool) -> None:
    """Give the folder an account of its own where root made it in the name of a shared one.

    Nothing runs in there now. Whose it will be is written down first, as its group: whoever is
    interrupted goes on with the same.
    """
    old = owner_of(home)
    if old is None or not _is_shared(home, old) or _has_links(home):
        return
    is_begun = any(first <= old.gid <= last for first, last in ACCOUNT_RANGES)
    new = Account(uid=old.gid, gid=old.gid) if is_begun else own_account()
    if new is not None:
        os.chown(home, -1, new.gid, follow_symlinks=False)
        hand_over(home, old, new, durable=durable)


def _is_shared(home: Path, account: Account) -> bool:
    """Whether root made the folder in the name of an account that others have too."""
    makers = (owner_of(home.parent), owner_of(home.parent / "log"))
    is_roots = os.geteuid() == 0 and all(who and who.uid == 0 for who in makers)
    return is_roots and account.uid in _shared_uids()


def hand_over(folder: Path, old: Account, new: Account, *, durable: bool) -> None:
    """Give what is below `folder` and belongs to `old` to `new`; the folder itself comes last.

    So a folder that is `new`'s is so throughout, and whoever was interrupted does it again. By
    descriptor: whatever `old` may do meanwhile, nothing is given away that was not its own.
    """
    for _, _, names, folder_fd in os.fwalk(folder, topdown=False, follow_symlinks=False):
        for name in names:
            _give(name, folder_fd, old, new, durable=durable)
        if os.fstat(folder_fd).st_uid == old.uid:
            os.fchown(folder_fd, new.uid, new.gid)
        if durable:
            os.fsync(folder_fd)


def _give(name: str, folder_fd: int, old: Account, new: Account, *, durable: bool) -> None:
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(name, flags, dir_fd=folder_fd)
    except OSError:  # a link or a socket: neither is PostgreSQL's data, a start makes sockets anew
        return
    try:
        if os.fstat(fd).st_uid == old.uid:
            os.fchown(fd, new.uid, new.gid)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def _has_links(folder: Path) -> bool:
    """Whether anything in it lies elsewhere, as a log or a tablespace on another disk may."""
    return any(
        (Path(where) / name).is_symlink()
        for where, folders, files in os.walk(folder)
        for name in (*folders, *files)
    )


def _shared_uids() -> set[int]:
    found = set()
    for name in SHARED:
        try:
            found.add(pwd.getpwnam(name).pw_uid)
        except KeyError:
            continue
    return found - {0}


def shared_account(names: tuple[str, ...] = SHARED) -> Account:
    """The unprivileged account that programs without one of their own use: the first there is."""
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

    By descriptor: root must not be led to give away a folder that somebody else exchanged for
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
    return all(_may(account, one, 0o1) for one in (folder, *folder.parents))


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


def owner_of(path: Path) -> Account | None:
    """None: there is nothing."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise DataNotUsable(
            path, "cannot be looked at", "start as its owner, or give another folder with --data"
        ) from error
    return Account(uid=found.st_uid, gid=found.st_gid)
