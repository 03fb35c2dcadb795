"""Assemble an incarnation of a node: register it under a fresh id, wire its parts, start it.

Owns: how worker, lease, coordinator, operations, leadership and duties are tied together. What
lives as long as the process is made by the composition root (compose.start), and comes in as
NodeParts.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ParamSpec
from uuid import UUID, uuid4

from windlass import __version__
from windlass.clock import monotonic
from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.cache.registry import Caches
from windlass.engine.executions.facts import ExecutionFacts
from windlass.engine.follow import Follower
from windlass.engine.jobs.admission import QueueDefaults
from windlass.engine.jobs.tasks import describe_tasks
from windlass.engine.schedules.decide import Fired, FireOptions
from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.signals import Signals
from windlass.model.cluster.operation import Operation
from windlass.model.cluster.served import ServedQueues
from windlass.runtime.cluster.coordinator import Coordinator
from windlass.runtime.cluster.leader_duties import LeaderDuties, leader_duty_table
from windlass.runtime.cluster.leadership import Leadership
from windlass.runtime.cluster.lease import Lease, LeaseCalls
from windlass.runtime.cluster.operations import PAUSE, Operations
from windlass.runtime.cluster.resize import Resizer
from windlass.runtime.cluster.signal_handlers import SignalHandlers
from windlass.runtime.duties import Duties
from windlass.runtime.firing import FiringRounds
from windlass.runtime.incarnation import Incarnation
from windlass.runtime.refresh.refresher import Refresher
from windlass.runtime.worker.finisher import Finisher
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.target_gate import TargetGate
from windlass.runtime.worker.worker import Worker
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from windlass.engine.cluster.sweep import SweepReport

P = ParamSpec("P")


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
    queues: ServedQueues
    targets: TargetGate
    refresher: Refresher
    coordinators: Coordinators
    signals: Signals
    # Removes what dead coordinators left in Redis. None: there is no Redis.
    sweep: Callable[[], Awaitable[SweepReport]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncarnationContext:
    """What the process hands to each of its incarnations."""

    workers: int  # what operations have made of it
    is_paused: bool
    handlers: SignalHandlers
    on_lost: Callable[[], None]  # the lease is gone
    on_done: Callable[[Operation], None]  # an operation is
    on_leave: Callable[[], None]  # an operation asks for it


async def start_incarnation(parts: NodeParts, context: IncarnationContext) -> Incarnation:
    """Register under a fresh id, and begin. Raises Unavailable, and then has begun nothing."""
    node_id = uuid4()
    started_at = monotonic()
    await _register(parts, node_id, context.workers)
    # What a lease tells is told on the loop; it begins when all that it speaks to is there.
    calls = LeaseCalls(
        in_flight=lambda: worker.held,
        on_lost=_on_loop(context.on_lost),
        on_leader=parts.metrics.leader_seen,
        on_members=_on_loop(partial(parts.refresher.shards.members, node_id)),
        # For a sender that Redis has left while it has not left us: nobody pokes then.
        on_signal=_on_loop(lambda: coordinator.look(is_stored=True)),
    )
    lease = Lease(
        parts.database_url,
        node_id,
        calls,
        lease_seconds=parts.settings.lease_seconds,
        heartbeat_seconds=parts.settings.heartbeat_seconds,
    )
    lease.granted(started_at)
    finisher = Finisher(parts.database, parts.follower, parts.facts, parts.metrics, node_id)
    worker: Worker = Worker(
        database=parts.database,
        finisher=finisher,
        lease=lease,
        metrics=parts.metrics,
        kinds=parts.kinds,
        targets=parts.targets,
        node_id=node_id,
        workers=context.workers,
        queues=parts.queues,
        is_hinted=lambda: parts.announcer.is_heard,
        on_returned=parts.announcer.rows,
        on_steps=partial(parts.announcer.marks, is_urgent=False),
    )
    operations = await _operations(parts, context, worker)
    coordinator: Coordinator = _coordinator(parts, context.handlers, worker)
    duties = Duties(
        database=parts.database,
        follower=parts.follower,
        worker=worker,
        metrics=parts.metrics,
        retention_days=parts.settings.retention_days,
    )
    incarnation = Incarnation(
        node_id=node_id,
        database=parts.database,
        lease=lease,
        finisher=finisher,
        worker=worker,
        coordinator=coordinator,
        operations=operations,
        leading=_leading(parts, worker),
        loops=duties.loops(),
    )
    try:
        incarnation.start(is_worker="worker" in parts.settings.roles)
    except BaseException:  # no thread is to be had: nothing of it may go on
        incarnation.lose()
        lease.stop()
        raise
    return incarnation


async def _register(parts: NodeParts, node_id: UUID, workers: int) -> None:
    host = socket.gethostname()
    await parts.database.run(
        "node_register",
        node_id,
        parts.settings.node_name or host,
        host,
        os.getpid(),
        __version__,
        list(parts.settings.roles),
        workers,
        float(parts.settings.lease_seconds),
        parts.queues.asked,
        list(parts.queues.excluded),
    )
    await parts.database.run(
        "node_set_kinds", node_id, parts.kinds.names, sorted(parts.kinds.tasks)
    )
    if "worker" in parts.settings.roles:
        await describe_tasks(parts.database, parts.kinds.described_tasks())
    if "api" in parts.settings.roles:
        # The door's limits hold for those who come by SQL as well.
        known = parts.settings
        told = known.queue_max_jobs, known.queue_max_bytes, known.retry_max_attempts
        await parts.database.run("installation_tell", *told)


async def _operations(parts: NodeParts, context: IncarnationContext, worker: Worker) -> Operations:
    if context.is_paused:
        worker.pause_claiming(PAUSE)
        await parts.database.run("node_set_paused", worker.node_id)
    resizer = Resizer(worker=worker, kinds=parts.kinds, targets=parts.targets)
    resizer.apply(context.workers)
    return Operations(
        database=parts.database,
        announcer=parts.announcer,
        worker=worker,
        resizer=resizer,
        node_id=worker.node_id,
        on_done=context.on_done,
        on_leave=context.on_leave,
    )


def _coordinator(parts: NodeParts, handlers: SignalHandlers, worker: Worker) -> Coordinator:
    return Coordinator(
        node_id=worker.node_id,
        database=parts.database,
        coordinators=parts.coordinators,
        signals=parts.signals,
        handlers=handlers,
        beat_seconds=parts.settings.heartbeat_seconds,
        activity=lambda: {"in_flight": worker.held, "workers": worker.workers},
    )


def _leading(parts: NodeParts, worker: Worker) -> LeaderDuties | None:
    if "leader" not in parts.settings.roles:
        return None
    leadership = Leadership(
        parts.database_url, worker.node_id, lease_seconds=parts.settings.leader_lease_seconds
    )
    return LeaderDuties(
        database=parts.database,
        leadership=leadership,
        metrics=parts.metrics,
        table=[
            *leader_duty_table(
                parts.database,
                parts.sweep,
                parts.follower.follow,
                parts.follower.backoff,
                audit_days=parts.settings.audit_retention_days,
            ),
            _firing(parts, worker).duty,
        ],
    )


def _firing(parts: NodeParts, worker: Worker) -> FiringRounds:
    settings = parts.settings

    def tell(fired: Fired) -> None:
        parts.metrics.fired(fired.late_seconds)
        parts.follower.follow(fired.effects)

    return FiringRounds(
        database=parts.database,
        options=FireOptions(
            queue_defaults=QueueDefaults(
                max_jobs=settings.queue_max_jobs, max_bytes=settings.queue_max_bytes
            ),
            max_attempts=settings.retry_max_attempts,
        ),
        on_fired=tell,
        is_heard=lambda: parts.announcer.is_heard,
        on_behind=worker.spare,
    )


def _on_loop(call: Callable[P, None]) -> Callable[P, None]:
    loop = asyncio.get_running_loop()

    def from_any_thread(*args: P.args, **kwargs: P.kwargs) -> None:
        loop.call_soon_threadsafe(partial(call, *args, **kwargs))

    return from_any_thread
