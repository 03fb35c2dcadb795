"""Which node looks after which shard of the executions: rendezvous hashing, without a coordinator.

Every node gives every shard a weight that only the two of them decide; the heaviest living one has
the shard. Everybody who knows who lives comes to the same answer. A node that comes takes its part
from all the others and from nobody more; one that goes leaves only its own.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from typing import Final
from uuid import UUID

# 0006_workflow.sql has the same bound. The number is for ever: it is written in every execution.
SHARDS: Final = 64


def shard_of(execution_id: UUID) -> int:
    """The last six bits, which are random; in SQL: get_byte(uuid_send(id), 15) % 64."""
    return execution_id.int % SHARDS


def owner_of(shard: int, nodes: Collection[UUID]) -> UUID | None:
    """None: nobody lives."""
    return max(nodes, key=lambda node: _weight(shard, node), default=None)


def shards_of(node: UUID, nodes: Collection[UUID]) -> frozenset[int]:
    """What is `node`'s among `nodes`."""
    return frozenset(shard for shard in range(SHARDS) if owner_of(shard, nodes) == node)


def _weight(shard: int, node: UUID) -> bytes:
    # The node's id at the end: should two weights ever be the same, it decides.
    return blake2b(node.bytes, digest_size=8, salt=shard.to_bytes(2, "big")).digest() + node.bytes
