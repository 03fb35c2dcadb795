"""Queues: limits, pause, resume."""

from __future__ import annotations

from typing import ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Noun


class QueueLimits(TypedDict, total=False):
    """What is absent or None is no limit."""

    max_jobs: int | None
    max_bytes: int | None
    max_running: int | None
    rate: float | None  # begun a second


class Queues(Noun):
    path: ClassVar[str] = "/v1/queues"

    async def get(self, name: str) -> Thing:
        return await self._read(self._one(name))

    def list(self, *, limit: int | None = None) -> Pages:
        """By name."""
        return self._pages({"limit": limit})

    async def put(
        self, name: str, *, if_match: str | None = None, **limits: Unpack[QueueLimits]
    ) -> Thing:
        """Its limits, all of them: those that are not given are lifted."""
        kept: Thing = await self._exchange.put(self._one(name), limits, if_match=if_match)
        return kept

    async def pause(self, name: str) -> Thing:
        return await self._verb(name, "pause")

    async def resume(self, name: str) -> Thing:
        return await self._verb(name, "resume")
