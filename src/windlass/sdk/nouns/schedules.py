"""Schedules: put, read, pause, fire by hand, look ahead and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict, Unpack

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.http.wire import path_with
from windlass.sdk.nouns.noun import Instant, Many, Noun, given


class ScheduleFilter(TypedDict, total=False):
    prefix: str
    tag: Many
    source: str
    paused: bool
    workflow: str
    queue: str
    limit: int


class Schedules(Noun):
    """Each is known by its name, or by its id."""

    path: ClassVar[str] = "/v1/schedules"

    async def put(
        self,
        name: str,
        body: Mapping[str, Any],
        *,
        edition: int | None = None,
        if_match: str | None = None,
    ) -> Thing:
        """Make it, or make it so. `edition`: only if it is still that one."""
        path = path_with(self._one(name), {"edition": edition})
        kept: Thing = await self._exchange.put(path, body, if_match=if_match)
        return kept

    async def create(self, body: Mapping[str, Any], *, key: str | None = None) -> Thing:
        """Only if there is none of its name."""
        made: Thing = await self._exchange.post(self.path, body, key=key)
        return made

    async def change(
        self,
        name: str,
        body: Mapping[str, Any],
        *,
        edition: int | None = None,
        if_match: str | None = None,
    ) -> Thing:
        """These fields; the others stay."""
        path = path_with(self._one(name), {"edition": edition})
        changed: Thing = await self._exchange.patch(path, body, if_match=if_match)
        return changed

    async def get(self, name: str) -> Thing:
        return await self._read(self._one(name))

    def list(self, **filters: Unpack[ScheduleFilter]) -> Pages:
        """By name."""
        return self._pages(filters)

    async def delete(self, name: str) -> None:
        await self._exchange.delete(self._one(name))

    async def pause(self, name: str, note: str | None = None) -> Thing:
        return await self._verb(name, "pause", given(note=note))

    async def resume(self, name: str) -> Thing:
        return await self._verb(name, "resume")

    async def pause_many(self, which: Mapping[str, Any], note: str | None = None) -> Thing:
        """`{}` is all of them."""
        body = {"filter": which, **given(note=note)}
        changed: Thing = await self._exchange.post(f"{self.path}/pause", body)
        return changed

    async def resume_many(self, which: Mapping[str, Any]) -> Thing:
        """`{}` is all of them."""
        changed: Thing = await self._exchange.post(f"{self.path}/resume", {"filter": which})
        return changed

    async def trigger(self, name: str, *, key: str | None = None) -> Thing:
        """Fire now, whatever its rule says."""
        firing: Thing = await self._exchange.post(self._one(name, "trigger"), key=key)
        return firing

    async def backfill(
        self, name: str, since: Instant, until: Instant, *, dry_run: bool = False
    ) -> Thing:
        """Fire the instants of a stretch of the past that have made nothing."""
        return await self._verb(name, "backfill", {"from": since, "to": until, "dry_run": dry_run})

    async def next(self, name: str, n: int | None = None, after: Instant | None = None) -> Thing:
        return await self._read(self._one(name, "next"), {"n": n, "after": after})

    def firings(self, name: str, *, state: Many | None = None, limit: int | None = None) -> Pages:
        return self._pages({"state": state, "limit": limit}, path=self._one(name, "firings"))

    async def preview(self, rule: Mapping[str, Any]) -> Thing:
        """When such a rule would fire, and the rule in words."""
        seen: Thing = await self._exchange.post(f"{self.path}/preview", rule)
        return seen
