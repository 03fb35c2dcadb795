"""The installation: health, counters, caches, clean-up."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import ClassVar

from windlass.sdk.nouns.noun import Duration, Noun, given
from windlass.sdk.objects.cluster import (
    Cache,
    Health,
    Invalidated,
    Refresh,
    Signalled,
    Stats,
    Strategy,
    Swept,
)


class System(Noun):
    """The installation as a whole."""

    path: ClassVar[str] = "/v1/system"

    async def health(self) -> Health:
        """Read how the node that answers is."""
        return await self._read(Health, "/health")

    async def stats(self) -> Stats:
        """Read how many jobs there are, by state and queue."""
        return await self._read(Stats, "/v1/stats")

    async def strategies(self) -> builtins.list[Strategy]:
        """Read which kinds of jobs there are, and the tasks with what each takes."""
        return [Strategy(one) for one in await self._exchange.get("/v1/strategies")]

    async def signal(
        self,
        name: str,
        payload: object = None,
        *,
        targets: Sequence[str] | None = None,  # None: all
        wait: Duration | None = None,
    ) -> Signalled:
        """Tell coordinators something: who acknowledged it, and who did not."""
        body = {"name": name, **given(payload=payload, targets=targets, wait=wait)}
        return Signalled(await self._exchange.post("/v1/signals", body))

    async def sweep(
        self,
        *,
        stale_after: Duration | None = None,
        dry_run: bool = False,
        scan: bool = False,
    ) -> Swept:
        """Remove from Redis what dead coordinators left there."""
        body = {**given(stale_after=stale_after), "dry_run": dry_run, "scan": scan}
        return Swept(await self._exchange.post(f"{self.path}/sweep", body))

    async def caches(self) -> builtins.list[Cache]:
        """Read how often each cache knew the answer."""
        return [Cache(one) for one in await self._exchange.get(f"{self.path}/cache")]

    async def invalidate(self, cache: str, keys: Sequence[str] | None = None) -> Invalidated:
        """Make all nodes drop what they keep of these keys. None: of all keys."""
        body = {"cache": cache, **given(keys=keys)}
        return Invalidated(await self._exchange.post(f"{self.path}/cache/invalidate", body))

    async def refresh(self) -> Refresh:
        """Read how the refreshing of executions goes."""
        return await self._read(Refresh, f"{self.path}/refresh")
