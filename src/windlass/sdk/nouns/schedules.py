"""Schedules: put, read, pause, fire by hand, look ahead and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages
from windlass.sdk.http.wire import path_with
from windlass.sdk.nouns.noun import Instant, Many, Noun, given
from windlass.sdk.objects.schedules import (
    Backfill,
    Firing,
    Schedule,
    SchedulesChanged,
    ScheduleTimes,
)


class ScheduleFilter(TypedDict, total=False):
    """Which schedules are wanted, and how many."""

    prefix: str
    tag: Many
    source: str
    paused: bool
    workflow: str
    queue: str
    limit: int


class Schedules(Noun):
    """Schedules; each is known by its name, or by its id."""

    path: ClassVar[str] = "/v1/schedules"

    async def put(
        self,
        name: str,
        body: Mapping[str, Any],
        *,
        edition: int | None = None,
        if_match: str | None = None,
    ) -> Schedule:
        """Make it, or make it so. `edition`: only if it is still that one."""
        path = path_with(self._one(name), {"edition": edition})
        return Schedule(await self._exchange.put(path, body, if_match=if_match))

    async def create(self, body: Mapping[str, Any], *, key: str | None = None) -> Schedule:
        """Make it, only if there is none of its name."""
        return Schedule(await self._exchange.post(self.path, body, key=key))

    async def change(
        self,
        name: str,
        body: Mapping[str, Any],
        *,
        edition: int | None = None,
        if_match: str | None = None,
    ) -> Schedule:
        """Change these fields; the others stay."""
        path = path_with(self._one(name), {"edition": edition})
        return Schedule(await self._exchange.patch(path, body, if_match=if_match))

    async def get(self, name: str) -> Schedule:
        """Read one as it is."""
        return await self._read(Schedule, self._one(name))

    def list(self, **filters: Unpack[ScheduleFilter]) -> Pages[Schedule]:
        """List schedules by name."""
        return self._pages(Schedule, filters)

    async def delete(self, name: str) -> None:
        """Delete it; what it made stays."""
        await self._exchange.delete(self._one(name))

    async def pause(self, name: str, note: str | None = None) -> Schedule:
        """Pause it: it fires no more; `note` says why."""
        return await self._verb(Schedule, name, "pause", given(note=note))

    async def resume(self, name: str) -> Schedule:
        """Let it fire again."""
        return await self._verb(Schedule, name, "resume")

    async def pause_many(
        self, which: Mapping[str, Any], note: str | None = None
    ) -> SchedulesChanged:
        """Pause those of a filter; `{}` is all of them."""
        body = {"filter": which, **given(note=note)}
        return SchedulesChanged(await self._exchange.post(f"{self.path}/pause", body))

    async def resume_many(self, which: Mapping[str, Any]) -> SchedulesChanged:
        """Resume those of a filter; `{}` is all of them."""
        body = {"filter": which}
        return SchedulesChanged(await self._exchange.post(f"{self.path}/resume", body))

    async def trigger(self, name: str, *, key: str | None = None) -> Firing:
        """Fire now, whatever its rule says."""
        return Firing(await self._exchange.post(self._one(name, "trigger"), key=key))

    async def backfill(
        self, name: str, since: Instant, until: Instant, *, dry_run: bool = False
    ) -> Backfill:
        """Fire the instants of a stretch of the past that have made nothing."""
        body = {"from": since, "to": until, "dry_run": dry_run}
        return await self._verb(Backfill, name, "backfill", body)

    async def next(
        self, name: str, n: int | None = None, after: Instant | None = None
    ) -> ScheduleTimes:
        """Say when it will fire next, `n` times."""
        return await self._read(ScheduleTimes, self._one(name, "next"), {"n": n, "after": after})

    def firings(
        self, name: str, *, state: Many | None = None, limit: int | None = None
    ) -> Pages[Firing]:
        """List when it fired, and what came of it."""
        filters = {"state": state, "limit": limit}
        return self._pages(Firing, filters, path=self._one(name, "firings"))

    async def preview(self, rule: Mapping[str, Any]) -> ScheduleTimes:
        """Say when such a rule would fire, and the rule in words."""
        return ScheduleTimes(await self._exchange.post(f"{self.path}/preview", rule))
