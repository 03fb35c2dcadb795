"""Services of this node for its tasks: log lines, progress, own transactions, checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from windlass.errors import Unavailable
from windlass.limits import UNKNOWN_TASK_RESTS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.checkpoint import Checkpoints as Kept
from windlass.model.job.running import OwnSession
from windlass.runtime.worker.checkpoints import Checkpoints
from windlass.runtime.worker.own_transaction import OwnTransaction
from windlass.runtime.worker.task_log import TaskLogWriter
from windlass.store.database import Database


class NodeTaskServices:
    """Belongs to the loop that makes it."""

    def __init__(
        self,
        database: Database,
        may_begin: Callable[[], bool] = lambda: True,  # asks the lease (engine.upcalls)
    ) -> None:
        self._database = database
        self._loop = asyncio.get_running_loop()
        self._checkpoints = Checkpoints(database)
        notes = TaskLogWriter(database)
        self.note_line, self.note_progress = notes.note_line, notes.note_progress
        self.written = notes.written
        self.may_begin = may_begin

    def open(self, attempt: Attempt) -> OwnSession:
        return OwnTransaction(self._database, self._loop)

    def checkpoints(self, attempt: Attempt) -> Kept:
        return self._checkpoints.of(attempt)

    async def unknown_rests(self, attempt: Attempt) -> int:
        try:
            (row,) = await self._database.read(
                "attempt_unknown_rests", attempt.job_id, attempt.number, UNKNOWN_TASK_RESTS_MAX
            )
        except Unavailable:
            return 0  # one short rest, and it is asked again
        rests: int = row["rests"]
        return rests
