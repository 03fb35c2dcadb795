"""Dependency wiring of a node: from settings and server URLs to `ready`, and back by a drain.

    database, fast lane -> announcer -> enqueuer, waiters -> node (worker, duties) and API

The stages are drawn in the contract of this room (compose). What the layers below ask of the node
is given to them here (engine.upcalls).
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from windlass.api.jobs.batch_reader import BatchReaders
from windlass.compose.app_in_node import AppInNode
from windlass.compose.parts import api_parts, engine_parts
from windlass.compose.store import open_store
from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.cache.registry import Caches
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.facts import ExecutionFacts
from windlass.engine.follow import Follower
from windlass.engine.identity.first import FirstLogin
from windlass.engine.jobs.cancel import Stopper
from windlass.engine.secrets.seal import sealer_of
from windlass.engine.secrets.secrets import ensure_default_secret
from windlass.engine.secrets.store import SecretStore
from windlass.engine.upcalls import Upcalls
from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.keys import SWEPT
from windlass.fastlane.lane import FastLane
from windlass.fastlane.target_failures import TargetFailures
from windlass.fastlane.target_rate import TargetRateLimit
from windlass.model.cluster.served import ServedQueues, read_served_queues
from windlass.runtime.assemble import NodeParts
from windlass.runtime.node import Node
from windlass.runtime.refresh.refresher import Refresher
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.target_gate import TargetGate
from windlass.runtime.worker.task_services import NodeTaskServices
from windlass.store.database import Database
from windlass.strategies.builtin import INPUT_CHECKS, Noop
from windlass.strategies.http.auth.secrets import CANNOT_SIGN, Vault
from windlass.strategies.http.http import Http
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.plugins.load import load_plugins
from windlass.strategies.python.apps import LoadedApp, load_apps, merged_tasks
from windlass.strategies.python.python import Python
from windlass.strategies.python.services import TaskServices
from windlass.strategies.python.task import Task, tasks_of
from windlass.strategies.wait import Wait
from windlass.supervise import supervisor
from windlass.telemetry.logs import hear_app
from windlass.telemetry.metrics import Metrics

if TYPE_CHECKING:
    # Imports that a worker never needs.
    from windlass.api.http.serve import Serving

log = structlog.get_logger()

UNSIGNED: Final = "WINDLASS_SIGN_WEBHOOKS is off"


@dataclass(slots=True, kw_only=True)
class Windlass:
    """A running node with its API."""

    settings: Settings
    database: Database
    lane: FastLane
    announcer: Announcer
    follower: Follower
    caches: Caches
    kinds: Kinds
    queues: ServedQueues
    targets: TargetGate
    node: Node
    stopper: Stopper
    app_in_node: AppInNode
    apps: Sequence[LoadedApp]  # those that the settings lead to
    readers: BatchReaders
    serving: Serving | None  # None: the API is served to nobody outside
    first: FirstLogin  # what was made by this start
    url: str | None

    async def drain(self) -> int:
        """Stop in order: finish the work, then the API, then the connections."""
        left = await self.node.drain(self.settings.drain_timeout_seconds)
        await self._close()
        return left

    async def stop_now(self) -> None:
        await self.node.stop_now()
        await self._close()

    async def _close(self) -> None:
        await self.app_in_node.close()
        if self.serving is not None:
            await self.serving.stop()
        self.app_in_node.leave()
        await self.readers.close()
        await self.stopper.close()
        await self.caches.close()
        await self.lane.close()
        await self.database.close()


def build_kinds(
    settings: Settings,
    tasks: Mapping[str, Task],
    vault: Vault,
    services: TaskServices | None = None,
) -> Kinds:
    return Kinds(
        instant={"noop": Noop()},
        slotted={
            "wait": Wait(),
            "http": Http(
                egress=Egress(settings.egress_allow),
                vault=vault,
                is_signing=settings.sign_webhooks == "on",
            ),
            "python": Python(tasks, settings.app, services),
        },
        # A wait decides itself how long it takes.
        timeout_seconds={"http": settings.http_timeout_seconds, "wait": 3600.0},
        default_timeout_seconds=settings.job_timeout_seconds,
        checks=dict(INPUT_CHECKS),
        load=load_plugins,
        tasks=tasks,
    )


async def start(
    settings: Settings,
    *,
    database_url: str,
    redis_url: str | None,
    serving: Serving | None,
    app: Any = None,
    apps: Sequence[LoadedApp] | None = None,
    tasks: Mapping[str, Task] | None = None,
    opening: Awaitable[Database] | None = None,
) -> Windlass:
    """Everything up to `ready`. `serving` says until then that the node is starting, and serves the
    API from then on; None: it is served to nobody outside.

    `app` is the object that holds the tasks; None: `apps`, or, if these are None too, those that
    the settings lead to.
    `tasks` stands instead of those that it holds, and may change within (windlass.testing).
    `opening` is `open_store`, which somebody has begun; None: it is begun here.

    A start that fails closes what it was given and what it has made, last things first.
    """
    async with AsyncExitStack() as undo:
        if serving is not None:
            undo.push_async_callback(serving.stop)
        database = await (opening or open_store(settings, database_url))
        undo.push_async_callback(database.close)
        running = await _start(
            undo,
            settings,
            database=database,
            database_url=database_url,
            redis_url=redis_url,
            serving=serving,
            app=app,
            apps=apps,
            tasks=tasks,
        )
        undo.pop_all()
        return running


async def _start(
    undo: AsyncExitStack,
    settings: Settings,
    *,
    database: Database,
    database_url: str,
    redis_url: str | None,
    serving: Serving | None,
    app: Any,
    apps: Sequence[LoadedApp] | None,
    tasks: Mapping[str, Task] | None,
) -> Windlass:
    if app is not None:
        found, tasks = [app], tasks_of(app) if tasks is None else tasks
    else:
        apps = load_apps(settings.app) if apps is None and settings.app else apps or ()
        found, tasks = [each.found for each in apps], merged_tasks(apps) if tasks is None else tasks
    hear_app()
    sealer = sealer_of(settings.secret_key)
    if settings.sign_webhooks == "off":
        log.warning("webhooks_unsigned", reason=UNSIGNED)
    elif sealer is None:
        log.warning("webhooks_refused", reason=CANNOT_SIGN)
    lane = FastLane(redis_url)
    undo.push_async_callback(lane.close)
    metrics = Metrics()
    # The node comes last of all; until then nobody asks.
    upcalls = Upcalls(node_id=lambda: node.node_id, may_begin=lambda: node.is_trusted)
    engine = await engine_parts(
        settings,
        database=database,
        lane=lane,
        redis_url=redis_url,
        metrics=metrics,
        upcalls=upcalls,
    )
    undo.push_async_callback(engine.caches.close)
    undo.push_async_callback(engine.stopper.close)
    await ensure_default_secret(database, sealer)
    supervisor().on_failure = metrics.background_failed
    lane.on_change(metrics.lane_changed)
    lane.on_message(SWEPT, lambda _: metrics.sweep_heard())
    announcer, follower, caches = engine.announcer, engine.follower, engine.caches
    vault = SecretStore(database, sealer, announcer)
    services = NodeTaskServices(database, upcalls.may_begin)
    kinds = build_kinds(settings, tasks, vault, services)
    undo.push_async_callback(kinds.close)
    await kinds.load_plugins(is_again=False)
    node_parts = NodeParts(
        settings=settings,
        database=database,
        database_url=database_url,
        announcer=announcer,
        follower=follower,
        facts=ExecutionFacts(database, caches, engine.definitions),
        caches=caches,
        metrics=metrics,
        kinds=kinds,
        queues=read_served_queues(settings.queues, settings.queues_except, settings.queue_order),
        targets=TargetGate(
            database=database,
            announcer=announcer,
            rate_limit=TargetRateLimit(lane),
            failures=TargetFailures(lane),
            metrics=metrics,
            slots=max(1, settings.workers),
            follow=follower.follow,
        ),
        refresher=Refresher(
            database=database,
            announcer=announcer,
            marks=engine.marks,
            metrics=metrics,
            interval_seconds=settings.refresh_interval_seconds,
            lease_seconds=settings.lease_seconds,
            conclude=partial(conclude, is_patient=False),
            follow=follower.follow,
        ),
        coordinators=Coordinators(lane, engine.scope),
        signals=engine.signals,
        sweep=engine.sweeper.sweep if engine.sweeper is not None else None,
    )
    node = Node(node_parts)
    parts = api_parts(
        engine,
        node=node,
        starter=node,
        kinds=kinds.checks,
        strategies=kinds.described,
        tally=node_parts.refresher.tally,
    )
    undo.push_async_callback(parts.readers.close)
    undo.callback(parts.passwords.close)
    app_in_node = AppInNode(found, parts)
    await app_in_node.prepare()
    # Before the first job runs: a task may submit others from its first line on.
    app_in_node.enter()
    undo.callback(app_in_node.leave)
    await node.start()
    undo.push_async_callback(app_in_node.close)
    undo.push_async_callback(node.stop_now)
    await node.first_look()
    await lane.open()
    first = FirstLogin()
    if serving is not None:
        await app_in_node.import_api()
        from windlass.engine.identity.first import ensure_first_login

        first = await ensure_first_login(database, parts.passwords, has_users=settings.auth == "on")
        serving.open(app_in_node.api(), on_refused=metrics.turned_away)
    await app_in_node.publish()
    return Windlass(
        settings=settings,
        database=database,
        lane=lane,
        announcer=announcer,
        follower=follower,
        caches=caches,
        kinds=kinds,
        queues=node_parts.queues,
        targets=node_parts.targets,
        node=node,
        stopper=engine.stopper,
        app_in_node=app_in_node,
        apps=apps or (),
        readers=parts.readers,
        serving=serving,
        first=first,
        url=_url(settings) if serving is not None else None,
    )


def _url(settings: Settings) -> str:
    scheme = "http" if settings.tls_cert is None else "https"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"


def tune_collector() -> None:
    """What was made while starting stays for ever; do not look through it again and again.

    For a process that is a node and nothing else: another program's collector is its own affair.
    A batch of ten thousand jobs allocates a hundred thousand objects that all go by themselves:
    with the usual thresholds the collector walks the whole heap several times meanwhile.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
