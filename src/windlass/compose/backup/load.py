"""The dump into a database, in one transaction: all of it is there, or nothing.

    pg_restore --file=-  --->  we: BEGIN, a line less, COMMIT  --->  psql

pg_restore could do it alone, but not on a server that is older than it is: it sets a parameter that
those do not know. And whoever dies on the way, us included, leaves a transaction without COMMIT.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import Final

import asyncpg

from windlass.compose.backup.archive import Archive, NotABackup, ProgramFailed
from windlass.embedded.client import ClientOrder, ClientProgram, Login, client_program, running

_CHUNK_BYTES: Final = 256 * 1024
_HEAD_BYTES: Final = 4096
# Since PostgreSQL 17; the client programs of later ones set it always.
_UNKNOWN_BEFORE: Final = (17, b"\nSET transaction_timeout = 0;\n")
_GRANTEE: Final = re.compile(r' TO ("(?:[^"]|"")+"|[^ ;]+)')


async def load(
    archive: Archive,
    login: Login,
    *,
    server_major: int,
    with_grants: bool,
    on_bytes: Callable[[int], None],
) -> None:
    """Raises NotABackup, ProgramFailed, and then has changed nothing."""
    options = ["--file=-", "--no-owner", *([] if with_grants else ["--no-privileges"])]
    options += ["--schema=windlass"] if archive.is_mixed else []
    reading = ClientOrder(
        program=archive.program,
        arguments=(*options, str(archive.path)),
        stdout=asyncio.subprocess.PIPE,
    )
    writing = ClientOrder(
        program=await client_program("psql"),
        arguments=("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1"),
        login=login,
        stdin=asyncio.subprocess.PIPE,
    )
    async with running(writing) as psql, running(reading) as restoring:
        # Who broke off says why on standard error.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # A schema is no part of what is in it.
            psql.stdin.write(b"BEGIN;\n" + b"CREATE SCHEMA windlass;\n" * archive.is_mixed)
            await _pass_on(restoring, psql, server_major, on_bytes)
            if await restoring.wait():
                raise NotABackup(archive.path, f"is cut off or damaged:\n{restoring.said}")
            psql.stdin.write(b"\nCOMMIT;\n")
            await psql.stdin.drain()
            psql.stdin.close()
        if code := await psql.wait():
            raise ProgramFailed(psql.name, code, psql.said)


async def _pass_on(
    restoring: ClientProgram,
    psql: ClientProgram,
    server_major: int,
    on_bytes: Callable[[int], None],
) -> None:
    head = b""
    while len(head) < _HEAD_BYTES and (chunk := await restoring.stdout.read(_CHUNK_BYTES)):
        head += chunk
    since, line = _UNKNOWN_BEFORE
    psql.stdin.write(head.replace(line, b"\n", 1) if server_major < since else head)
    done = len(head)
    while chunk := await restoring.stdout.read(_CHUNK_BYTES):
        psql.stdin.write(chunk)
        await psql.stdin.drain()
        done += len(chunk)
        on_bytes(done)


async def unknown_roles(connection: asyncpg.Connection[asyncpg.Record], grants: str) -> list[str]:
    """Roles that the dump gives rights to and that this server does not have."""
    named = {
        role.strip('"').replace('""', '"')
        for line in grants.splitlines()
        for role in _GRANTEE.findall(line)
    } - {"PUBLIC"}
    known = await connection.fetch("SELECT rolname FROM pg_roles WHERE rolname = ANY ($1)", named)
    return sorted(named - {row["rolname"] for row in known})
