"""Isolated tasks in processes that can be killed.

Each process runs one task at a time, so when it dies we know whose fault it was. Arguments and
results cross a pipe as JSON lines, never as pickles.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any, Final

from windlass.limits import INPUT_BYTES_MAX, RESULT_BYTES_MAX

LINE_BYTES_MAX: Final = 4 * max(INPUT_BYTES_MAX, RESULT_BYTES_MAX)


class ProcessDied(Exception):
    """The process ended in the middle of a task."""


class TaskRaised(Exception):
    def __init__(self, cause: str, message: str, traceback: str) -> None:
        self.cause, self.message, self.traceback = cause, message, traceback
        super().__init__(message)


class Processes:
    def __init__(self, app: str | None) -> None:
        self._app = app
        self._idle: list[asyncio.subprocess.Process] = []

    async def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        process = await self._take()
        try:
            answer = await self._ask(process, {"task": name, "args": args, "kwargs": kwargs})
        except BaseException:
            # Timed out, cancelled or dead: whatever it was doing, it does it no longer.
            await _kill(process)
            raise
        self._idle.append(process)
        if "error" in answer:
            error = answer["error"]
            raise TaskRaised(error["cause"], error["message"], error["traceback"])
        return answer["result"]

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(_kill(process) for process in idle))

    async def _take(self) -> asyncio.subprocess.Process:
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "windlass.strategies.process_worker",
            self._app or "",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_BYTES_MAX,
            start_new_session=True,  # a Ctrl-C at the node's terminal is the node's to handle
        )

    async def _ask(
        self, process: asyncio.subprocess.Process, question: dict[str, Any]
    ) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        except (OSError, ValueError) as trouble:
            raise ProcessDied(f"the task's process broke off: {trouble}") from trouble
        if not line.endswith(b"\n"):
            code = await process.wait()
            raise ProcessDied(f"the task's process died with exit code {code}")
        answer: dict[str, Any] = json.loads(line)
        return answer


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
