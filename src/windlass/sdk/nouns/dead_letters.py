"""Dead letters: jobs that were given up; look, replay, discard."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Instant, Many, Noun
from windlass.sdk.objects.jobs import DeadGroup, DeadLettersDiscarded, DeadLettersReplayed, Job


class DeadFilter(TypedDict, total=False):
    """Which dead letters are meant."""

    queue: str
    kind: str
    task: str
    tag: Many
    target: str
    cause: str
    finished_after: Instant
    finished_before: Instant


class DeadListFilter(DeadFilter, total=False):
    """Which dead letters are wanted, and how many."""

    limit: int


class DeadLetters(Noun):
    """Jobs that were given up."""

    path: ClassVar[str] = "/v1/dead-letters"

    def list(self, **filters: Unpack[DeadListFilter]) -> Pages[Job]:
        """List them, newest first."""
        return self._pages(Job, filters)

    async def groups(self) -> builtins.list[DeadGroup]:
        """Count them by queue, kind and cause."""
        return await self._all(DeadGroup, f"{self.path}/groups")

    async def replay(
        self, ids: Sequence[str] | None = None, **filters: Unpack[DeadFilter]
    ) -> DeadLettersReplayed:
        """Queue these again: by id, or else by filter. `more` says that some are left."""
        return DeadLettersReplayed(await self._do("replay", ids, filters))

    async def discard(
        self, ids: Sequence[str] | None = None, **filters: Unpack[DeadFilter]
    ) -> DeadLettersDiscarded:
        """Forget these: by id, or else by filter. `more` says that some are left."""
        return DeadLettersDiscarded(await self._do("discard", ids, filters))

    async def _do(self, verb: str, ids: Sequence[str] | None, filters: DeadFilter) -> Thing:
        if ids is not None and filters:
            raise ValueError("say which by ids or by a filter, not by both")
        which: Thing = {"filter": filters} if ids is None else {"ids": ids}
        done: Thing = await self._exchange.post(f"{self.path}/{verb}", which)
        return done
