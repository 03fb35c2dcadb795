"""Dead letters: jobs that were given up; look, replay, discard."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import ClassVar, Literal, TypedDict, Unpack, overload

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.nouns.noun import Instant, Many, Noun, given
from windlass.sdk.objects.jobs import (
    BulkOperation,
    BulkPreview,
    DeadGroup,
    DeadLettersDiscarded,
    DeadLettersReplayed,
    Job,
)


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

    @overload
    async def replay(
        self, ids: Sequence[str] | None = None, **filters: Unpack[DeadFilter]
    ) -> DeadLettersReplayed: ...

    @overload
    async def replay(
        self, ids: Sequence[str] | None = None, *, rate: float, **filters: Unpack[DeadFilter]
    ) -> BulkOperation: ...

    @overload
    async def replay(
        self,
        ids: Sequence[str] | None = None,
        *,
        dry_run: Literal[True],
        rate: float | None = None,
        **filters: Unpack[DeadFilter],
    ) -> BulkPreview: ...

    async def replay(
        self,
        ids: Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        rate: float | None = None,  # jobs a second; None: within this call
        **filters: Unpack[DeadFilter],
    ) -> DeadLettersReplayed | BulkOperation | BulkPreview:
        """Queue these again: by id, or else by filter. `more` says that some are left. With a rate
        it is an operation that goes on by itself; a dry run only counts them.
        """
        answer = await self._do("replay", ids, filters, dry_run=dry_run, rate=rate)
        if dry_run:
            return BulkPreview(answer)
        return DeadLettersReplayed(answer) if rate is None else BulkOperation(answer)

    @overload
    async def discard(
        self, ids: Sequence[str] | None = None, **filters: Unpack[DeadFilter]
    ) -> DeadLettersDiscarded: ...

    @overload
    async def discard(
        self, ids: Sequence[str] | None = None, *, rate: float, **filters: Unpack[DeadFilter]
    ) -> BulkOperation: ...

    @overload
    async def discard(
        self,
        ids: Sequence[str] | None = None,
        *,
        dry_run: Literal[True],
        rate: float | None = None,
        **filters: Unpack[DeadFilter],
    ) -> BulkPreview: ...

    async def discard(
        self,
        ids: Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        rate: float | None = None,  # jobs a second; None: within this call
        **filters: Unpack[DeadFilter],
    ) -> DeadLettersDiscarded | BulkOperation | BulkPreview:
        """Forget these: by id, or else by filter. `more` says that some are left. With a rate it is
        an operation that goes on by itself; a dry run only counts them.
        """
        answer = await self._do("discard", ids, filters, dry_run=dry_run, rate=rate)
        if dry_run:
            return BulkPreview(answer)
        return DeadLettersDiscarded(answer) if rate is None else BulkOperation(answer)

    async def _do(
        self,
        verb: str,
        ids: Sequence[str] | None,
        filters: DeadFilter,
        *,
        dry_run: bool,
        rate: float | None,
    ) -> Thing:
        if ids is not None and filters:
            raise ValueError("say which by ids or by a filter, not by both")
        body: Thing = {"filter": filters} if ids is None else {"ids": ids}
        body |= given(rate=rate, dry_run=dry_run or None)
        done: Thing = await self._exchange.post(f"{self.path}/{verb}", body)
        return done
