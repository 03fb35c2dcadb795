"""Nodes: who runs, how large each is, and changing that."""

from __future__ import annotations

import builtins
from typing import ClassVar

from windlass.sdk.nouns.noun import Duration, Noun, given
from windlass.sdk.objects.cluster import (
    ClusterOperation,
    Estimate,
    Estimates,
    Leader,
    Node,
    Operation,
    Shards,
)


class Nodes(Noun):
    """The processes of the cluster."""

    path: ClassVar[str] = "/v1/nodes"

    async def get(self, node_id: str) -> Node:
        """Read one node."""
        return await self._read(Node, self._one(node_id))

    async def list(self) -> builtins.list[Node]:
        """Read all nodes that are known."""
        return await self._all(Node, self.path)

    async def resize(
        self,
        node_id: str | None,
        workers: int,
        *,
        drain_timeout: Duration | None = None,
        dry_run: bool = False,
        if_match: str | None = None,  # of one node
    ) -> Operation | ClusterOperation | Estimate | Estimates:
        """Change its workers: the operation that does it, or what it would mean. No node: all."""
        body = {"workers": workers, **given(drain_timeout=drain_timeout)}
        if dry_run:
            body["dry_run"] = True
        path = "/v1/cluster" if node_id is None else self._one(node_id)
        answer = await self._exchange.patch(path, body, if_match=if_match)
        if dry_run:
            return Estimates(answer) if node_id is None else Estimate(answer)
        return ClusterOperation(answer) if node_id is None else Operation(answer)

    async def pause(self, node_id: str) -> Operation:
        """Pause it: it takes no further jobs."""
        return await self._verb(Operation, node_id, "pause")

    async def resume(self, node_id: str) -> Operation:
        """Let it take jobs again."""
        return await self._verb(Operation, node_id, "resume")

    async def drain(self, node_id: str) -> Operation:
        """Have it finish its work and leave."""
        return await self._verb(Operation, node_id, "drain")

    async def leader(self) -> Leader:
        """Read which node leads."""
        return await self._read(Leader, "/v1/leader")

    async def shards(self) -> Shards:
        """Read which node refreshes which share of the executions."""
        return await self._read(Shards, "/v1/shards")
