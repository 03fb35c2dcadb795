"""Recording what code enqueues, without running it.

The jobs are made as always, through the real door: what would be refused is refused, and a unique
key holds. Nothing runs while a capture lasts, and what it recorded is cancelled when it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from windlass import ids
from windlass.engine.jobs.cancel import cancel
from windlass.testing import local_seen
from windlass.testing.local_seen import SeenJob
from windlass.testing.local_stage import Stage


class Capture(Sequence[SeenJob]):
    """The jobs enqueued since it began, oldest first: so far, or all when it has ended."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._before: set[str] = set()
        self._all: list[SeenJob] | None = None  # None: it has not ended

    @property
    def jobs(self) -> list[SeenJob]:
        return self._stage.run(self._found()) if self._all is None else self._all

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[SeenJob]:
        return iter(self.jobs)

    @overload
    def __getitem__(self, index: int) -> SeenJob: ...

    @overload
    def __getitem__(self, index: slice) -> list[SeenJob]: ...

    def __getitem__(self, index: int | slice) -> SeenJob | list[SeenJob]:
        return self.jobs[index]

    # -- on the stage's loop ---------------------------------------------------------------------

    async def begin(self) -> None:
        self._stage.gate.lock()
        self._before = {job.id for job in await local_seen.jobs(self._stage.running.database)}

    async def end(self) -> None:
        self._all = await self._found()
        running = self._stage.running
        taken = [ids.parse("job", job.id) for job in self._all]
        running.follower.follow(await cancel(running.database, taken))
        self._stage.gate.unlock()

    async def _found(self) -> list[SeenJob]:
        found = await local_seen.jobs(self._stage.running.database)
        return [job for job in found if job.id not in self._before]
