"""From a database to a file, while everything goes on working.

Our own transaction counts, and pg_dump looks through its snapshot: what the file says of itself is
true of the dump. Nothing waits for it: it locks no more than a reader does.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from windlass import __version__
from windlass.clock import monotonic
from windlass.compose.backup.archive import Manifest, ProgramFailed, digest, seal
from windlass.compose.backup.contents import Contents, contents_of
from windlass.compose.backup.draft import CannotWrite, draft_of, said_of
from windlass.compose.data import Source
from windlass.embedded.client import ClientOrder, Login, client_program, running
from windlass.errors import WindlassError
from windlass.store.address import Address

# For a table that a migration changes just now.
LOCK_WAIT_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.5
_OPTIONS: Final = (
    "--format=custom",
    "--schema=windlass",
    "--no-unlogged-table-data",  # notes of open transactions, of which a snapshot sees none
    f"--lock-wait-timeout={LOCK_WAIT_SECONDS}s",
    "--no-password",
)


class Pooled(WindlassError):
    """A pooler of connections keeps no session, and pg_dump needs one."""

    code = "pooled_address"

    def __init__(self) -> None:
        super().__init__(
            "this address leads to PgBouncer, which pg_dump and pg_restore cannot go through; give "
            "the address of PostgreSQL itself with --database-url"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was written."""

    path: Path
    bytes: int
    seconds: float
    contents: Contents


async def take_backup(
    source: Source, path: Path, *, may_replace: bool, tell: Callable[[str], None]
) -> Taken:
    """`tell` hears what is being done."""
    begun = monotonic()
    # Before a stopped PostgreSQL is started for nothing.
    with draft_of(path, may_replace=may_replace) as file:
        try:
            async with source.opened() as url:
                manifest = await _dump(Login.of(url, is_ours=source.is_ours), url, file, tell)
        except _Full as trouble:
            raise CannotWrite(path, str(trouble)) from None
        with said_of(path):
            seal(file, manifest)
        size = os.fstat(file.fileno()).st_size
    return Taken(path=path, bytes=size, seconds=monotonic() - begun, contents=manifest.contents)


async def _dump(login: Login, url: str, file: IO[bytes], tell: Callable[[str], None]) -> Manifest:
    address = Address(url)
    if address.is_pooled:
        raise Pooled
    connection = await address.connect()
    try:
        server = connection.get_server_version()
        shown = await connection.fetchval("SHOW server_version")
        program = await client_program("pg_dump", server_major=server.major)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            # Nothing is asked here while pg_dump works.
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT_SECONDS}s'")
            tell("counting")
            contents = await contents_of(connection)
            snapshot = await connection.fetchval("SELECT pg_export_snapshot()", timeout=None)
            order = ClientOrder(
                program=program,
                arguments=(*_OPTIONS, f"--snapshot={snapshot}"),
                login=login,
                stdout=file,
            )
            await _write(order, file, tell)
    finally:
        await connection.close()
    length = os.fstat(file.fileno()).st_size
    tell("checking")
    found = await asyncio.to_thread(digest, file, length, lambda _: None)
    return Manifest(
        windlass=__version__,
        server=shown.split()[0],
        program_major=program.major,
        dump_bytes=length,
        sha256=found,
        contents=contents,
    )


async def _write(order: ClientOrder, file: IO[bytes], tell: Callable[[str], None]) -> None:
    async with running(order) as dumping:
        ending = asyncio.create_task(dumping.wait())
        while not ending.done():
            tell(f"written {megabytes(os.fstat(file.fileno()).st_size)}")
            await asyncio.wait([ending], timeout=_LOOK_SECONDS)
        if code := ending.result():
            if code == -signal.SIGXFSZ:
                raise _Full(os.strerror(errno.EFBIG))
            if (full := os.strerror(errno.ENOSPC)) in dumping.said:
                raise _Full(full)
            raise ProgramFailed(dumping.name, code, dumping.said)


class _Full(Exception):
    """The file found no more room."""


def megabytes(count: int) -> str:
    """As people read it: 12.3 MB, or 45 kB."""
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.0f} kB"
