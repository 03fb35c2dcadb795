"""Queues: limits, pause, resume."""

from __future__ import annotations

from typing import ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages
from windlass.sdk.nouns.noun import Noun
from windlass.sdk.objects.resources import Queue


class QueueLimits(TypedDict, total=False):
    """The limits of a queue: what is absent or None is no limit."""

    max_jobs: int | None
    max_bytes: int | None
    max_running: int | None
    rate: float | None  # begun a second
    submit_rate: float | None  # taken a second


class Queues(Noun):
    """Queues and their limits."""

    path: ClassVar[str] = "/v1/queues"

    async def get(self, name: str) -> Queue:
        """Read its limits and counts."""
        return await self._read(Queue, self._one(name))

    def list(self, *, limit: int | None = None) -> Pages[Queue]:
        """List queues by name."""
        return self._pages(Queue, {"limit": limit})

    async def put(
        self, name: str, *, if_match: str | None = None, **limits: Unpack[QueueLimits]
    ) -> Queue:
        """Set its limits, all of them: those that are not given are lifted."""
        return Queue(await self._exchange.put(self._one(name), limits, if_match=if_match))

    async def pause(self, name: str) -> Queue:
        """Pause it: none of its jobs starts."""
        return await self._verb(Queue, name, "pause")

    async def resume(self, name: str) -> Queue:
        """Let its jobs start again."""
        return await self._verb(Queue, name, "resume")
