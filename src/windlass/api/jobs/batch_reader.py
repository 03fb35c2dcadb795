"""Large bodies of jobs are parsed by processes beside the node (see batch_process): a process pool.

Promises: whatever a body holds, the node's loop is not kept for longer than a bite of a quarter of
a megabyte, and takes no more memory than the drafts that come of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from windlass.api.http.body_budget import BodiesFull
from windlass.api.http.spool import Spool
from windlass.api.jobs.batch_process import DRAFTS, END, LENGTH, MALFORMED, Question
from windlass.engine.evaluate.environment import plain_environment
from windlass.errors import FieldProblem, InvalidInput, MalformedBody, Unavailable
from windlass.limits import (
    BATCH_READ_SECONDS,
    BATCH_READER_WAIT_SECONDS,
    BATCH_READERS_MAX,
)
from windlass.model.job.draft import Draft
from windlass.model.job.submission import InputCheck

_DRAFTS: Final = msgspec.msgpack.Decoder(list[Draft])
_PROBLEMS: Final = msgspec.msgpack.Decoder(list[FieldProblem])

Process = asyncio.subprocess.Process


class BatchReaders:
    """The processes: started when they are needed, and kept for the next one for a while."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(BATCH_READERS_MAX)
        self._idle: list[Process] = []

    async def read(self, question: Question, spool: Spool) -> list[Draft]:
        """The drafts in a body, which is let go piece by piece.

        Raises what the caller did wrong, BodiesFull, or Unavailable.
        """
        try:
            async with asyncio.timeout(BATCH_READER_WAIT_SECONDS):
                await self._room.acquire()
        except TimeoutError:
            raise BodiesFull from None
        try:
            return await self._read(question, spool)
        finally:
            self._room.release()

    async def _read(self, question: Question, spool: Spool) -> list[Draft]:
        process = await self._take()
        try:
            await _send(process, msgspec.msgpack.encode(question))
            async with asyncio.timeout(BATCH_READ_SECONDS):
                while piece := spool.take():
                    await _send(process, piece)
                await _send(process, b"")
                drafts, trouble = await _answer(process)
        except (OSError, EOFError) as broken:
            await _end(process)
            raise Unavailable("the body could not be read; send less at a time") from broken
        except TimeoutError:
            await _end(process)
            raise Unavailable("the body took too long to read; send less at a time") from None
        except BaseException:
            await _end(process)
            raise
        self._idle.append(process)
        if trouble is not None:
            raise trouble
        return drafts

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for process in idle:
            await _end(process)

    async def _take(self) -> Process:
        while self._idle:
            process = self._idle.pop()
            # One that left shows its end of file before its exit code.
            if process.returncode is None and process.stdout and not process.stdout.at_eof():
                return process
            await _end(process)
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "windlass.api.jobs.batch_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=plain_environment(),
            start_new_session=True,  # a Ctrl-C at the node's terminal is the node's to handle
        )


async def check_kinds(
    drafts: list[Draft], kinds: Mapping[str, InputCheck], *, is_batch: bool
) -> None:
    """Let kinds that only this process knows look at their inputs. Raises InvalidInput."""
    for place, draft in enumerate(drafts):
        check = kinds.get(draft.kind)
        if check is None:
            continue
        found = check(msgspec.json.decode(draft.input))
        if found:
            at = f"/jobs/{place}/input" if is_batch else "/input"
            raise InvalidInput(*(FieldProblem(pointer=at + p, detail=d) for p, d in found))
        await asyncio.sleep(0)


async def _send(process: Process, piece: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(LENGTH.pack(len(piece)))
    process.stdin.write(piece)
    await process.stdin.drain()


async def _answer(process: Process) -> tuple[list[Draft], InvalidInput | None]:
    assert process.stdout is not None
    drafts: list[Draft] = []
    while True:
        head = await process.stdout.readexactly(1 + LENGTH.size)
        letter, (length,) = head[:1], LENGTH.unpack(head[1:])
        payload = await process.stdout.readexactly(length)
        if letter == DRAFTS:
            drafts += _DRAFTS.decode(payload)
        elif letter == END:
            return drafts, None
        else:
            problems = _PROBLEMS.decode(payload)
            kind = MalformedBody if letter == MALFORMED else InvalidInput
            return [], kind(*problems)


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    await process.wait()
