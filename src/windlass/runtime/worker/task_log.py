"""Log lines and progress of running tasks, written many at a time.

Notes come from any thread and wait in the node; about once a second, and when an attempt ends, all
of them are written by one statement of each sort. They are told to people and decide nothing: while
PostgreSQL is away they wait, and when there are too many the newest are left out and counted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from uuid import UUID

import structlog

from windlass.clock import monotonic
from windlass.engine.jobs.task_log import AttemptLine, AttemptProgress, put_lines, put_progress
from windlass.errors import Unavailable, WindlassError
from windlass.limits import (
    NOTES_BATCH_MAX,
    NOTES_REST_SECONDS,
    NOTES_WAIT_SECONDS,
    NOTES_WAITING_MAX,
)
from windlass.model.job.attempt import Attempt
from windlass.model.job.task_log import Line, Progress
from windlass.store.database import Database
from windlass.supervise import supervisor

log = structlog.get_logger()


class TaskLogWriter:
    """Belongs to the loop that makes it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._loop = asyncio.get_running_loop()
        self._lines: deque[AttemptLine] = deque()
        self._progress: dict[UUID, AttemptProgress] = {}
        self._left_out = 0
        self._is_told = False  # the loop knows that there is something
        self._task: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []

    # -- from any thread -------------------------------------------------------------------------

    def note_line(self, attempt: Attempt, line: Line) -> None:
        if len(self._lines) >= NOTES_WAITING_MAX:
            self._left_out += 1
            return
        self._lines.append((attempt, line))
        self._tell()

    def note_progress(self, attempt: Attempt, progress: Progress) -> None:
        if len(self._progress) < NOTES_WAITING_MAX or attempt.job_id in self._progress:
            self._progress[attempt.job_id] = (attempt, progress)
            self._tell()

    def _tell(self) -> None:
        # In this order: who finds that the loop was told has left its note before the loop looks.
        if not self._is_told:
            self._is_told = True
            with contextlib.suppress(RuntimeError):  # the node's loop is closed
                self._loop.call_soon_threadsafe(self._hear)

    # -- on the node's loop ----------------------------------------------------------------------

    def _hear(self) -> None:
        self._is_told = False
        if self._task is None:
            self._task = supervisor().spawn(self._write_all(), name="notes")

    async def written(self) -> None:
        """Wait a while for the notes that were made before."""
        self._hear()
        done = self._loop.create_future()
        self._waiters.append(done)
        self._asked.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(NOTES_WAIT_SECONDS):
                await done

    async def _write_all(self) -> None:
        try:
            while self._lines or self._progress or self._waiters:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(NOTES_REST_SECONDS):
                        await self._asked.wait()
                self._asked.clear()
                await self._write()
        finally:
            self._task = None

    async def _write(self) -> None:
        waiters, self._waiters = self._waiters, []
        progress, self._progress = self._progress, {}
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        try:
            held = await self._put(list(progress.values()), lines)
            self._progress = {one: progress[one] for one in held} | self._progress
        except Unavailable as trouble:
            log.warning("notes_wait", lines=len(lines), reason=str(trouble))
            self._lines.extendleft(reversed(lines))
            self._progress = progress | self._progress
        except WindlassError as trouble:
            log.error("notes_refused", lines=len(lines), reason=str(trouble))  # noqa: TRY400
        finally:
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
        if self._left_out:
            log.warning("notes_left_out", lines=self._left_out)
            self._left_out = 0

    async def _put(
        self, progress: Sequence[AttemptProgress], lines: Sequence[AttemptLine]
    ) -> set[UUID]:
        """Returns the jobs whose progress could not be put yet."""
        now = monotonic()
        for start in range(0, len(lines), NOTES_BATCH_MAX):
            await put_lines(self._database, lines[start : start + NOTES_BATCH_MAX], now)
        return await put_progress(self._database, progress, now) if progress else set()
