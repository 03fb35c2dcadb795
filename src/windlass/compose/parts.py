"""Two stages that a node and the tests of the API have in common: the engine's parts, the API's.

    store, fast lane -> engine_parts -> (a node, or who stands for one) -> api_parts

Owns: what of the engine lives as long as the process, and what of it the API is given. What the
engine asks of the node comes in as `Upcalls` and `Starter` (engine.upcalls).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass import ids
from windlass.api.parts import ApiParts, NodeFacts, Sweeping
from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.cache.registry import Caches, scope_of
from windlass.engine.cluster.node_signals import Signaller
from windlass.engine.executions.definitions import Definitions
from windlass.engine.executions.refresh import Tally
from windlass.engine.executions.start_batch import ExecutionStarter
from windlass.engine.follow import Follower
from windlass.engine.identity.request_limits import RequestLimits
from windlass.engine.identity.tokens import Tokens
from windlass.engine.jobs.admission import QueueDefaults
from windlass.engine.jobs.cancel import Stopper
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.engine.secrets.seal import Sealer, sealer_of
from windlass.engine.upcalls import Starter, Upcalls
from windlass.engine.waiters import Waiters
from windlass.fastlane.lane import FastLane
from windlass.fastlane.marks import Marks
from windlass.fastlane.signals import Signals
from windlass.model.identity.quota import Quota
from windlass.model.job.submission import InputCheck
from windlass.store.database import Database
from windlass.strategies.plugins.description import Description
from windlass.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from windlass.engine.cluster.sweep import SweepReport
    from windlass.engine.identity.sign_on import SignOn


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineParts:
    settings: Settings
    database: Database
    lane: FastLane
    metrics: Metrics
    scope: bytes  # what values in Redis carry: those of another database are not believed
    announcer: Announcer
    follower: Follower
    caches: Caches
    definitions: Definitions
    signals: Signals
    signaller: Signaller
    stopper: Stopper
    marks: Marks
    sealer: Sealer | None  # None: there is no key, and no secret can be stored
    sweeper: Sweeping | None  # None: there is no Redis to sweep


async def engine_parts(
    settings: Settings,
    *,
    database: Database,
    lane: FastLane,
    redis_url: str | None,
    metrics: Metrics,
    upcalls: Upcalls,
) -> EngineParts:
    """The database is open; the lane may connect later."""
    announcer, signals = Announcer(lane), Signals(lane)
    signaller = Signaller(database, signals, lambda: ids.show("node", upcalls.node_id()))
    stopper = Stopper(signaller, announcer, upcalls.node_id)
    scope = await scope_of(database)
    caches = Caches(lane, announcer, scope, metrics.cached)
    return EngineParts(
        settings=settings,
        database=database,
        lane=lane,
        metrics=metrics,
        scope=scope,
        announcer=announcer,
        follower=Follower(
            database,
            announcer,
            stop=stopper.stop,
            on_failed=metrics.tending_failed,
            tree_max=settings.execution_tree_max,
        ),
        caches=caches,
        definitions=Definitions(database, caches),
        signals=signals,
        signaller=signaller,
        stopper=stopper,
        marks=Marks(lane),
        sealer=sealer_of(settings.secret_key),
        sweeper=None if redis_url is None else SweeperWhenAsked(settings, redis_url, metrics),
    )


def api_parts(
    engine: EngineParts,
    *,
    node: NodeFacts,
    starter: Starter | None,  # None: this process runs nothing
    kinds: Mapping[str, InputCheck],
    strategies: Callable[[], Sequence[Description]],
    tally: Tally,
) -> ApiParts:
    settings, database, follow = engine.settings, engine.database, engine.follower.follow
    queue_defaults = QueueDefaults(
        max_jobs=settings.queue_max_jobs, max_bytes=settings.queue_max_bytes
    )
    tokens = Tokens(
        *(database, engine.lane, engine.announcer, engine.scope),
        Quota(
            requests_per_second=settings.quota_requests_per_second,
            requests_burst=settings.quota_requests_burst,
            jobs_per_day=settings.quota_jobs_per_day,
            bytes_waiting=settings.quota_bytes_waiting,
        ),
    )
    return ApiParts(
        database=database,
        enqueuer=Enqueuer(database, queue_defaults=queue_defaults, follow=follow, starter=starter),
        starts=ExecutionStarter(database, follow, starter),
        announcer=engine.announcer,
        follower=engine.follower,
        caches=engine.caches,
        definitions=engine.definitions,
        waiters=Waiters(database, engine.announcer),
        lane=engine.lane,
        settings=settings,
        tokens=tokens,
        request_limits=RequestLimits(database, engine.lane),
        sign_on=_sign_on(settings, database, tokens),
        kinds=kinds,
        strategies=strategies,
        node=node,
        registry=engine.metrics.registry,
        on_rejected=engine.metrics.rejected,
        on_limited=engine.metrics.limited,
        sealer=engine.sealer,
        sweeper=engine.sweeper,
        signaller=engine.signaller,
        stopper=engine.stopper,
        marks=engine.marks,
        tally=tally,
    )


def _sign_on(settings: Settings, database: Database, tokens: Tokens) -> SignOn | None:
    """None: nobody logs in elsewhere, or not here, and nobody imports the libraries for it."""
    if settings.oidc_issuer is None or "api" not in settings.roles:
        return None
    from windlass.api.identity.sign_on import CALLBACK_PATH
    from windlass.engine.identity.sign_on import sign_on_of

    return sign_on_of(settings, database, tokens, CALLBACK_PATH)


class SweeperWhenAsked:
    """A sweep is asked for every few minutes, and never of most nodes: until then nobody imports
    the library of Redis for it.
    """

    def __init__(self, settings: Settings, redis_url: str, metrics: Metrics) -> None:
        self._settings, self._redis_url, self._metrics = settings, redis_url, metrics

    async def sweep(
        self,
        stale_seconds: float | None = None,
        *,
        is_dry_run: bool = False,
        is_scan: bool = False,
    ) -> SweepReport:
        from windlass.engine.cluster.sweep import Sweeper

        sweeper = Sweeper(
            self._redis_url,
            stale_seconds=self._settings.stale_coordinator_seconds,
            heartbeat_seconds=self._settings.heartbeat_seconds,
            observe=lambda report: self._metrics.swept(report.ms / 1000, report.removed_keys),
        )
        return await sweeper.sweep(stale_seconds, is_dry_run=is_dry_run, is_scan=is_scan)
