"""Programs we start, and end.

A measurement runs in a process of its own, so that no figure depends on what ran before it in
the same interpreter: one JSON request on standard input, one JSON answer as the last line of
standard output.

Promises: whatever happens, a child has ended before these functions return. A child leads a
process group of its own, so that one which must be stopped is stopped with what it started. A
server ends by itself when we are gone without a word (`end_with_parent`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import uvloop

from benchmarks.limits import (
    CHILD_SECONDS_MAX,
    COMPLAINT_CHARS_MAX,
    READY_SECONDS_MAX,
    STOP_SECONDS_MAX,
)
from windlass.telemetry.logs import configure_logs

ROOT = Path(__file__).parent.parent
READY = "ready: "

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A program that said it was ready."""

    address: str  # what followed `ready: `
    pid: int
    said: tuple[str, ...]  # the lines before that one


class ChildFailed(Exception):
    """A program ended badly, too late, or without an answer."""


def python(module: str, home: Path = ROOT) -> list[str]:
    """The command that runs one of our modules: with this very interpreter, or, of another
    checkout, with the one that `make setup` has made there.
    """
    interpreter = sys.executable if home == ROOT else str(home / ".venv" / "bin" / "python")
    return [interpreter, "-m", module]


def path_of(home: Path) -> dict[str, str]:
    """What another checkout's modules are found by: none of ours may be taken for its own."""
    paths = os.pathsep.join((str(home / "src"), str(home)))
    return {} if home == ROOT else {"PYTHONPATH": paths}


async def call(
    command: Sequence[str],
    request: object,
    answer: type[Answer],
    *,
    seconds_max: float = CHILD_SECONDS_MAX,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> Answer:
    """Run `command` on one request and decode its answer."""
    output = await run(
        command,
        msgspec.json.encode(request),
        seconds_max=seconds_max,
        cwd=cwd,
        environment=environment,
    )
    lines = output.splitlines()
    if not lines:
        raise ChildFailed(f"{_named(command)} ended without an answer")
    return msgspec.json.decode(lines[-1], type=answer)


async def run(
    command: Sequence[str],
    stdin: bytes = b"",
    *,
    seconds_max: float,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """Run `command` to its end and return what it printed; raise `ChildFailed` when it fails."""
    process = await _start(command, cwd, environment)
    try:
        async with asyncio.timeout(seconds_max):
            output, complaint = await process.communicate(stdin)
    except TimeoutError:
        raise ChildFailed(f"{_named(command)} did not end within {seconds_max:g} s") from None
    finally:
        await _end(process)
    if process.returncode != 0:
        shown = complaint.decode(errors="replace")[-COMPLAINT_CHARS_MAX:]
        raise ChildFailed(f"{_named(command)} ended with {process.returncode}:\n{shown}")
    return output


@asynccontextmanager
async def serving(
    command: Sequence[str],
    *,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    hush: bytes | None = None,  # what marks a line of its standard error that nobody need see
) -> AsyncIterator[Server]:
    """Run a server, yield it once it printed `ready: `, and stop it on leaving."""
    process = await _start(command, cwd, environment)
    # A pipe that nobody reads would stop the server once it is full.
    readers = [asyncio.create_task(_pass_on(process, hush))]
    try:
        assert process.stdout is not None
        try:
            async with asyncio.timeout(READY_SECONDS_MAX):
                server = await _ready(process)
        except TimeoutError:
            raise ChildFailed(
                f"{_named(command)} was not ready in {READY_SECONDS_MAX:g} s"
            ) from None
        if server is None:
            raise ChildFailed(f"{_named(command)} ended before it was ready")
        readers.append(asyncio.create_task(_discard(process.stdout)))
        yield server
    finally:
        await _end(process)
        await asyncio.gather(*readers)


def answer(request: type[Request], handle: Callable[[Request], Awaitable[object]]) -> None:
    """The child's side of `call`: read the request, handle it on uvloop, print the answer."""
    configure_logs("console")  # to standard error: the answer has the other for itself
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=request)

    async def handled() -> object:
        return await handle(given)

    result = uvloop.run(handled())
    sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")


def end_with_parent() -> None:
    """The child's side of `serving`: stop when the parent's end of standard input is closed."""

    def wait() -> None:
        # Not through sys.stdin: its lock, held here, would be asked for when the interpreter ends.
        while os.read(0, 65_536):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


async def _start(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None
) -> Process:
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )


async def _end(process: Process) -> None:
    """Ask the child's group to stop, insist after a while, and collect the child."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS_MAX):
                await process.wait()
        except TimeoutError:
            _signal_group(process.pid, signal.SIGKILL)
            await process.wait()


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass  # it ended by itself in the meantime


async def _ready(process: Process) -> Server | None:
    assert process.stdout is not None
    said: list[str] = []
    async for line in process.stdout:
        text = line.decode(errors="replace").strip()
        if text.startswith(READY):
            address = text.removeprefix(READY)
            return Server(address=address, pid=process.pid, said=tuple(said))
        said.append(text)
    return None


async def _pass_on(process: Process, hush: bytes | None) -> None:
    assert process.stderr is not None
    async for line in process.stderr:
        if hush is None or hush not in line:
            sys.stderr.buffer.write(line)
            sys.stderr.flush()


async def _discard(stdout: asyncio.StreamReader) -> None:
    while await stdout.read(65_536):
        pass


def _named(command: Sequence[str]) -> str:
    """The command without the folder of its program."""
    return " ".join([Path(command[0]).name, *command[1:]])
