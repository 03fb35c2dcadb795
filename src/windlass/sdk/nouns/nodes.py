"""Nodes: who runs, how large each is, and changing that."""

from __future__ import annotations

import builtins
from typing import ClassVar

from windlass.sdk.http.paging import Thing
from windlass.sdk.nouns.noun import Duration, Noun, given


class Nodes(Noun):
    path: ClassVar[str] = "/v1/nodes"

    async def get(self, node_id: str) -> Thing:
        return await self._read(self._one(node_id))

    async def list(self) -> builtins.list[Thing]:
        return await self._all(self.path)

    async def resize(
        self,
        node_id: str | None,
        workers: int,
        *,
        drain_timeout: Duration | None = None,
        dry_run: bool = False,
        if_match: str | None = None,  # of one node
    ) -> Thing:
        """The operation that does it. No node: all of them."""
        body = {"workers": workers, **given(drain_timeout=drain_timeout)}
        if dry_run:
            body["dry_run"] = True
        path = "/v1/cluster" if node_id is None else self._one(node_id)
        operation: Thing = await self._exchange.patch(path, body, if_match=if_match)
        return operation

    async def pause(self, node_id: str) -> Thing:
        return await self._verb(node_id, "pause")

    async def resume(self, node_id: str) -> Thing:
        return await self._verb(node_id, "resume")

    async def drain(self, node_id: str) -> Thing:
        """It finishes its work and leaves."""
        return await self._verb(node_id, "drain")

    async def leader(self) -> Thing:
        return await self._read("/v1/leader")

    async def shards(self) -> Thing:
        return await self._read("/v1/shards")
