"""What a node is put together from; the composition root makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.caches import Caches
from windlass.engine.execution_facts import ExecutionFacts
from windlass.engine.follow import Follower
from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.signals import Signals
from windlass.runtime.kinds import Kinds
from windlass.runtime.refresh import Refresher
from windlass.runtime.targets import Targets
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
