"""Who refreshes which executions, and how often: rendezvous hashing of shards, and a throttle.

Every node gives every shard a weight that only the two of them decide; the heaviest living one has
the shard. Everybody who knows who lives comes to the same answer, without a coordinator. A node
that comes takes its part from all the others and from nobody more; one that goes leaves its own.

Counting a hundred thousand jobs every second, because each second some of them end, would be most
of what a database does. So a refresh is followed by a rest that grows with what it has counted:
executions with very many jobs are refreshed more rarely while they go on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from hashlib import blake2b
from typing import Final
from uuid import UUID

from windlass.limits import REFRESH_GATHER_SECONDS, REFRESH_JOBS_PER_SECOND, REFRESH_RESTS_MAX

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


class RefreshThrottle:
    """When each execution may be refreshed again. Seconds are those of any steady clock."""

    def __init__(self) -> None:
        self._until: OrderedDict[UUID, float] = OrderedDict()

    def refreshed(self, execution_id: UUID, jobs: int, now: float) -> None:
        seconds = jobs / REFRESH_JOBS_PER_SECOND
        self._until.pop(execution_id, None)
        # Shorter rests are nothing but what marks gather for.
        if seconds > REFRESH_GATHER_SECONDS:
            self._until[execution_id] = now + seconds
        if len(self._until) > REFRESH_RESTS_MAX:
            self._until.popitem(last=False)

    def seconds_left(self, execution_id: UUID, now: float) -> float:
        """Until it may be refreshed again; 0: at once."""
        return max(0.0, self._until.get(execution_id, now) - now) if self._until else 0.0
