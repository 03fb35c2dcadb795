"""PostgreSQL's client programs (pg_dump, pg_restore, psql), run as children that end with us.

Promises: no password is part of a command line; the kernel ends a program when we die, and
`running` ends it when its block is left; the terminal's Ctrl-C reaches us and not the program; of
what it says on standard error the end is kept, however much there is.
Which one: the bundled PostgreSQL's, unless the server is newer; then the one on the PATH.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit, urlunsplit

from windlass.embedded import launch
from windlass.embedded.binaries import POSTGRES_MAJOR, postgres_bin_dir
from windlass.embedded.errors import ClientTooOld, NotOnThisSystem, ProgramsMissing
from windlass.embedded.limits import CLIENT_STDERR_BYTES_MAX, CLIENT_STOP_SECONDS

_VERSION: Final = re.compile(rb"\(PostgreSQL\) (\d+)")
_CHUNK_BYTES: Final = 64 * 1024
_PIPE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How a client program reaches a database."""

    url: str  # without a password
    environment: dict[str, str]  # with it

    @classmethod
    def of(cls, url: str, *, is_ours: bool) -> Login:
        """`is_ours`: an embedded one, to which what the user has set for others does not apply."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("WINDLASS_") and not (is_ours and name.startswith("PG"))
        }
        parts = urlsplit(url)
        user, at, hosts = parts.netloc.rpartition("@")
        name, colon, password = user.partition(":")
        words = parse_qs(parts.query, keep_blank_values=True)
        spoken = words.pop("password", None)
        if colon or spoken:
            kept["PGPASSWORD"] = spoken[-1] if spoken else unquote(password)
        query = urlencode(words, doseq=True, quote_via=quote, safe="/")
        bare = urlunsplit(parts._replace(netloc=f"{name}{at}{hosts}", query=query))
        return cls(url=bare, environment={**kept, "LC_ALL": "C"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Where one of them is, and of which PostgreSQL."""

    path: Path
    major: int


async def client_program(name: str, *, server_major: int = 0) -> Program:
    """One that is as new as the server. Raises ClientTooOld when there is none."""
    if sys.platform != "linux":  # see `running`
        raise NotOnThisSystem(sys.platform)
    with contextlib.suppress(ProgramsMissing):
        bundled = postgres_bin_dir() / name
        if int(POSTGRES_MAJOR) >= server_major and bundled.is_file():
            return Program(path=bundled, major=int(POSTGRES_MAJOR))
    found = shutil.which(name)
    major = await _major_of(Path(found)) if found is not None else 0
    if found is None or major < server_major:
        raise ClientTooOld(name, max(int(POSTGRES_MAJOR), major), server_major)
    return Program(path=Path(found), major=major)


async def _major_of(program: Path) -> int:
    asked = await asyncio.create_subprocess_exec(
        program, "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    said, _ = await asked.communicate()
    version = _VERSION.search(said)
    return int(version[1]) if version else 0


class ClientProgram:
    """One at work. Made by `running`."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self.name = name
        self._process = process
        self._said = b""
        self._listening = asyncio.create_task(self._listen())

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def said(self) -> str:
        """The end of what it said on standard error."""
        return self._said.decode(errors="replace").strip()

    async def wait(self) -> int:
        """Its exit code; minus the number of the signal that ended it."""
        code = await self._process.wait()
        await self._listening
        return code

    async def stop(self) -> None:
        """At once; harmless when it has ended."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self._process.wait(), CLIENT_STOP_SECONDS)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()
        await self._listening

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while more := await self._process.stderr.read(_CHUNK_BYTES):
            self._said = (self._said + more)[-CLIENT_STDERR_BYTES_MAX:]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOrder:
    """What to run, and on what."""

    program: Program
    arguments: tuple[str, ...]
    login: Login | None = None  # None: it needs no database
    stdin: int | IO[bytes] = asyncio.subprocess.DEVNULL
    stdout: int | IO[bytes] = asyncio.subprocess.DEVNULL


@contextlib.asynccontextmanager
async def running(order: ClientOrder) -> AsyncIterator[ClientProgram]:
    """Call it from the main thread: the kernel ties the program's life to the thread it is from."""
    database = ("--dbname", order.login.url) if order.login else ()
    ticket = {
        "argv": [str(order.program.path), *order.arguments, *database],
        "uid": None,
        "gid": None,
        "umask": 0o077,
        "death_signal": signal.SIGKILL,
        "parent": os.getpid(),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", launch.__file__, json.dumps(ticket)),
        stdin=order.stdin,
        stdout=order.stdout,
        stderr=asyncio.subprocess.PIPE,
        env=order.login.environment if order.login else {"LC_ALL": "C"},
        start_new_session=True,
        limit=_PIPE_BYTES,
    )
    client = ClientProgram(process, order.program.path.name)
    try:
        yield client
    finally:
        await client.stop()
