"""A PostgreSQL cluster on disk: made whole or not at all.

It is made under another name and renamed when it is complete and on disk, so whatever is called
`cluster` is one; what an interrupted making left behind is thrown away by the next.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from windlass.embedded.account import Account, can_enter, hand_over, make_folder, maker_of
from windlass.embedded.child import Child, Order
from windlass.embedded.errors import DataNotUsable, ServerFailed
from windlass.embedded.limits import INITDB_SECONDS_MAX
from windlass.embedded.log import log_size, log_tail
from windlass.embedded.passwords import sync_folder

_DRAFT_PREFIX = "cluster-draft-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresInstallation:
    """Where one PostgreSQL lives and who runs it."""

    home: Path
    bin_dir: Path
    log_path: Path
    account: Account | None  # None: we run it as ourselves

    @property
    def cluster(self) -> Path:
        return self.home / "cluster"

    def order(
        self, program: str, cluster: Path, *arguments: str, mode: str = "", stdin: bytes = b""
    ) -> Order:
        """`mode` is an option that has to be the first."""
        modes = (mode,) if mode else ()
        return Order(
            argv=(str(self.bin_dir / program), *modes, "-D", self._spelled(cluster), *arguments),
            cwd=cluster,
            log_path=self.log_path,
            account=self.account,
            # Fast shutdown: a clean end costs one checkpoint, an unclean one a recovery.
            death_signal=signal.SIGINT if program == "postgres" else signal.SIGKILL,
            stdin=stdin,
        )

    def _spelled(self, cluster: Path) -> str:
        """A path by which the account finds the cluster.

        PostgreSQL turns -D into an absolute path and walks it, which fails below a folder that the
        account may not enter, say root's home. But it always works from inside the cluster, where
        we put it before dropping privileges; and the kernel follows /proc/self/cwd to there without
        asking about the folders above.
        """
        return str(cluster) if can_enter(self.account, cluster) else "/proc/self/cwd"


def refuse_other_major(cluster: Path, major: str) -> None:
    """PostgreSQL opens no cluster of another major version, and says so at length."""
    try:
        made_by = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return  # there is none yet, or the server has more to say of it
    if made_by != major:
        raise DataNotUsable(
            cluster,
            f"was made by PostgreSQL {made_by}, and this Windlass brings PostgreSQL {major}",
            "start it with the Windlass that made it and move it by a dump (docs/operations.md, "
            "Backup), or give another folder with --data",
        )


async def ensure_cluster(
    installation: PostgresInstallation, *, superuser: str, verifier: str, durable: bool
) -> None:
    """Make the cluster unless it is there, with a superuser who has to show a password.

    Not durable: a power cut may spoil it (for tests).
    """
    discard_drafts(installation.home)
    discard_drafts(installation.home.parent)
    if not installation.cluster.exists():
        maker = maker_of(installation.account)
        is_own = maker == installation.account
        # Who is not to enter the home works beside it: initdb of PostgreSQL 15 has to find back.
        beside = installation.home if is_own else installation.home.parent
        draft = beside / f"{_DRAFT_PREFIX}{os.urandom(16).hex()}"
        make_folder(draft, maker)
        made_by = replace(installation, account=maker)
        await _initdb(made_by, draft, superuser, verifier, sync=durable and is_own)
        if maker is not None and installation.account is not None and not is_own:
            await asyncio.to_thread(hand_over, draft, maker, installation.account, durable=durable)
        draft.rename(installation.cluster)
        if durable:
            sync_folder(installation.home)
            sync_folder(beside)


async def _initdb(
    installation: PostgresInstallation, folder: Path, superuser: str, verifier: str, *, sync: bool
) -> None:
    options = ["--username", superuser, "--auth=scram-sha-256", "--pwfile=/proc/self/fd/0"]
    options += ["--encoding=UTF8", "--no-locale", *([] if sync else ["--no-sync"])]
    order = installation.order("initdb", folder, *options, stdin=f"{verifier}\n".encode())
    await run_to_end(order, "make its cluster", INITDB_SECONDS_MAX)


async def run_to_end(order: Order, purpose: str, seconds: float) -> None:
    """Run a program of PostgreSQL's that ends by itself, or raise with what it said."""
    begin = log_size(order.log_path)
    child = Child.start(order)
    try:
        is_over = await child.ends_within(seconds)
    finally:
        await child.kill()
    if child.exit_code != 0:
        what = f"could not {purpose}" if is_over else f"took too long to {purpose}"
        raise ServerFailed(
            "PostgreSQL", what, order.log_path, log_tail(order.log_path, since=begin)
        )


def discard_drafts(home: Path) -> None:
    """What an interrupted making of a cluster left there."""
    for draft in home.glob(f"{_DRAFT_PREFIX}*"):
        # A dying initdb may still write there for a moment; the next start finds what remains.
        shutil.rmtree(draft, ignore_errors=True)
