"""The shards that are this node's, as of the last heartbeat."""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

import structlog

from windlass.model.workflow.refresh import owner_of, shards_of

log = structlog.get_logger()


class Shards:
    """Two nodes may think for a heartbeat that a shard is theirs, or neither may: a refresh done
    twice does no harm, and whoever gets a shard looks into it.
    """

    def __init__(self, on_change: Callable[[frozenset[int], int], None]) -> None:
        self._living: frozenset[UUID] = frozenset()
        self.own: frozenset[int] = frozenset()
        # Hears the shards to look into, and how many of them are those of a node that is gone.
        self._on_change = on_change

    def members(self, node_id: UUID, living: Collection[UUID]) -> None:
        """These nodes live; `node_id` is ours, and may not be among them: it leaves."""
        before, now = self._living, frozenset(living)
        if now == before:
            return
        own = shards_of(node_id, now)
        gained, is_somebody_gone = own - self.own, bool(before - now)
        taken_over = sum(owner_of(shard, before) not in now for shard in gained) if before else 0
        self._living, self.own = now, own
        log.debug("shards_changed", own=len(own), gained=len(gained), taken_over=taken_over)
        # Whoever is gone may have claimed from a shard that was ours already, and not known it.
        if look := own if is_somebody_gone else gained:
            self._on_change(look, taken_over)

    def lose(self) -> None:
        """The node's lease is gone: others have them now."""
        self._living, self.own = frozenset(), frozenset()
