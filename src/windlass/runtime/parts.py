"""What a node is put together from; the composition root makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.cache.registry import Caches
from windlass.engine.executions.facts import ExecutionFacts
from windlass.engine.follow import Follower
from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.signals import Signals
from windlass.runtime.refresh.refresher import Refresher
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.target_gate import Targets
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeParts:
    """All of it lives as long as the process."""

    settings: Settings
    database: Database
    database_url: str  # for leases, which have connections of their own
    announcer: Announcer
    follower: Follower
    facts: ExecutionFacts
    caches: Caches
    metrics: Metrics
    kinds: Kinds
    targets: Targets
    refresher: Refresher
    coordinators: Coordinators
    signals: Signals
    # Removes what dead coordinators left in Redis. None: there is no Redis.
    sweep: Callable[[], Awaitable[object]] | None = None
