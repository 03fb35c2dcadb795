"""A PostgreSQL cluster on disk: made whole or not at all.

It is made under another name and renamed when it is complete and on disk, so whatever is called
`cluster` is one; what an interrupted making left behind is thrown away by the next.
"""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from windlass.embedded.account import Account, can_enter, make_folder
from windlass.embedded.child import Child, Order
from windlass.embedded.errors import ServerFailed
from windlass.embedded.limits import INITDB_SECONDS_MAX
from windlass.embedded.log import log_size, log_tail

SUPERUSER = "windlass"
_DRAFT_PREFIX = "cluster-draft-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPlace:
    """Where one PostgreSQL lives and who runs it."""

    home: Path
    bin_dir: Path
    log_path: Path
    account: Account | None  # None: we run it as ourselves

    @property
    def cluster(self) -> Path:
        return self.home / "cluster"

    def order(self, program: str, cluster: Path, *arguments: str) -> Order:
        return Order(
            argv=(str(self.bin_dir / program), "-D", self._spelled(cluster), *arguments),
            cwd=cluster,
            log_path=self.log_path,
            account=self.account,
            # Fast shutdown: a clean end costs one checkpoint, an unclean one a recovery.
            death_signal=signal.SIGINT if program == "postgres" else signal.SIGKILL,
        )

    def _spelled(self, cluster: Path) -> str:
        """A path by which the account finds the cluster.

        PostgreSQL turns -D into an absolute path and walks it, which fails below a folder that the
        account may not enter, say root's home. But it always works from inside the cluster, where
        we put it before dropping privileges; and the kernel follows /proc/self/cwd to there without
        asking about the folders above.
        """
        return str(cluster) if can_enter(self.account, cluster) else "/proc/self/cwd"


async def ensure_cluster(place: PostgresPlace, *, durable: bool) -> None:
    """Make the cluster unless it is there. Not durable: a power cut may spoil it (for tests)."""
    _discard_drafts(place.home)
    if not place.cluster.exists():
        draft = place.home / f"{_DRAFT_PREFIX}{os.urandom(4).hex()}"
        make_folder(draft, place.account)
        await _initdb(place, draft, durable=durable)
        draft.rename(place.cluster)
        if durable:
            _sync_folder(place.home)


async def _initdb(place: PostgresPlace, folder: Path, *, durable: bool) -> None:
    begin = log_size(place.log_path)
    options = ["--username", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--no-locale"]
    if not durable:
        options.append("--no-sync")
    child = Child.start(place.order("initdb", folder, *options))
    try:
        is_over = await child.ends_within(INITDB_SECONDS_MAX)
    finally:
        await child.kill()
    if child.exit_code != 0:
        what = "could not make its cluster" if is_over else "took too long to make its cluster"
        raise ServerFailed(
            "PostgreSQL", what, place.log_path, log_tail(place.log_path, since=begin)
        )


def _discard_drafts(home: Path) -> None:
    for draft in home.glob(f"{_DRAFT_PREFIX}*"):
        # A dying initdb may still write there for a moment; the next start finds what remains.
        shutil.rmtree(draft, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
