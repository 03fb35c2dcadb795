"""The installation: health, counters, caches, clean-up."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import ClassVar

from windlass.sdk.http.paging import Thing
from windlass.sdk.nouns.noun import Duration, Noun, given


class System(Noun):
    path: ClassVar[str] = "/v1/system"

    async def health(self) -> Thing:
        return await self._read("/health")

    async def stats(self) -> Thing:
        return await self._read("/v1/stats")

    async def strategies(self) -> builtins.list[Thing]:
        """The kinds there are, and the tasks with what each takes."""
        found: builtins.list[Thing] = await self._exchange.get("/v1/strategies")
        return found

    async def signal(
        self,
        name: str,
        payload: object = None,
        *,
        targets: Sequence[str] | None = None,  # None: all
        wait: Duration | None = None,
    ) -> Thing:
        """Tell coordinators something: who acknowledged it, and who did not."""
        body = {"name": name, **given(payload=payload, targets=targets, wait=wait)}
        told: Thing = await self._exchange.post("/v1/signals", body)
        return told

    async def sweep(
        self,
        *,
        stale_after: Duration | None = None,
        dry_run: bool = False,
        scan: bool = False,
    ) -> Thing:
        """Remove from Redis what dead coordinators left there."""
        body = {**given(stale_after=stale_after), "dry_run": dry_run, "scan": scan}
        report: Thing = await self._exchange.post(f"{self.path}/sweep", body)
        return report

    async def caches(self) -> builtins.list[Thing]:
        found: builtins.list[Thing] = await self._exchange.get(f"{self.path}/cache")
        return found

    async def invalidate(self, cache: str, keys: Sequence[str] | None = None) -> Thing:
        """Make all nodes drop what they keep of these keys. None: of all keys."""
        body = {"cache": cache, **given(keys=keys)}
        done: Thing = await self._exchange.post(f"{self.path}/cache/invalidate", body)
        return done

    async def refresh(self) -> Thing:
        return await self._read(f"{self.path}/refresh")
