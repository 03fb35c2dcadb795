"""What the routes of the API work with (dependency injection); the composition root makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from prometheus_client import CollectorRegistry

from windlass.api.jobs.batch_reader import BatchReaders
from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.audit.refused import RefusedRecorder
from windlass.engine.cache.registry import Caches
from windlass.engine.cluster.node_signals import Signaller
from windlass.engine.executions.definitions import Definitions
from windlass.engine.executions.refresh import Tally
from windlass.engine.executions.start_batch import ExecutionStarter
from windlass.engine.follow import Follower
from windlass.engine.identity.passwords import Passwords
from windlass.engine.identity.request_limits import RequestLimits
from windlass.engine.identity.tokens import Tokens
from windlass.engine.jobs.cancel import Stopper
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.engine.secrets.seal import Sealer
from windlass.engine.waiters import Waiters
from windlass.fastlane.lane import FastLane
from windlass.fastlane.marks import Marks
from windlass.model.job.submission import InputCheck
from windlass.store.database import Database
from windlass.strategies.plugins.description import Description

if TYPE_CHECKING:
    from windlass.engine.cluster.sweep import SweepReport
    from windlass.engine.identity.sign_on import SignOn


class NodeFacts(Protocol):
    """What the process that serves the API knows of itself."""

    @property
    def node_id(self) -> UUID: ...
    @property
    def workers(self) -> int: ...
    @property
    def executing(self) -> int: ...
    @property
    def last_execution_at(self) -> datetime | None: ...
    @property
    def is_draining(self) -> bool: ...


class Sweeping(Protocol):
    """engine.cluster.sweep.Sweeper, or who makes one when it is asked."""

    async def sweep(
        self,
        stale_seconds: float | None = None,
        *,
        is_dry_run: bool = False,
        is_scan: bool = False,
    ) -> SweepReport: ...


def _uncounted(_queue: str, _reason: str) -> None:
    """For whoever keeps no count of refusals."""


def _unheard(_noun: str) -> None:
    """The same of requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    database: Database
    enqueuer: Enqueuer
    starts: ExecutionStarter
    announcer: Announcer
    follower: Follower
    caches: Caches
    definitions: Definitions
    waiters: Waiters
    lane: FastLane
    settings: Settings
    kinds: Mapping[str, InputCheck]  # what nodes perform; plugins come and go in it
    strategies: Callable[[], Sequence[Description]]
    node: NodeFacts
    registry: CollectorRegistry
    signaller: Signaller
    stopper: Stopper
    marks: Marks
    # What this node has done about executions that were out of date.
    tally: Tally
    # Who shows a token; whoever logs in.
    tokens: Tokens
    # How often those who have a quota may call.
    request_limits: RequestLimits
    # What strangers and those who lack a right do, for the audit log.
    refusals: RefusedRecorder = field(default_factory=RefusedRecorder)
    passwords: Passwords = field(default_factory=Passwords)
    # Logs in through an identity provider; None: there is none.
    sign_on: SignOn | None = None
    # Reads large bodies; whoever made the parts closes it.
    readers: BatchReaders = field(default_factory=BatchReaders)
    # Encrypts secrets; None: there is no key, and none can be stored.
    sealer: Sealer | None = None
    # None: there is no Redis to sweep.
    sweeper: Sweeping | None = None
    # Hears of each submission refused by a limit: the queue and the reason.
    on_rejected: Callable[[str, str], None] = _uncounted
    # Hears of each request refused by a quota, whether it was a user's or a key's.
    on_limited: Callable[[str], None] = _unheard

    @property
    def can_sign(self) -> bool:
        """Whether webhooks that this node takes can leave as they should: signed, or unsigned
        because its owner wants it so.
        """
        return self.sealer is not None or self.settings.sign_webhooks == "off"
