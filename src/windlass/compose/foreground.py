"""`windlass up` and `windlass node`: from settings to `ready`, and from SIGTERM to the end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import structlog
import uvloop

from windlass.api.http.connections import ask_for_descriptors
from windlass.compose import start as compose
from windlass.compose.embedded import keep_alive, with_secret_key
from windlass.compose.more_nodes import more_nodes
from windlass.config import Loaded, Settings, load_settings
from windlass.embedded.servers import EmbeddedServers
from windlass.errors import WindlassError
from windlass.strategies.http.net.egress import Egress
from windlass.telemetry.logs import configure_logs

log = structlog.get_logger()

DATA: Final = Path(".windlass")


class MissingSetting(WindlassError):
    """A setting that is needed was not given."""

    code = "invalid_settings"


def run_up(flags: Mapping[str, object], nodes: int) -> int:
    settings = _settings(flags)
    return uvloop.run(_up(settings, nodes))


def run_node(flags: Mapping[str, object]) -> int:
    settings = _settings(flags)
    if settings.database_url is None:
        raise MissingSetting(
            "a node needs PostgreSQL: give --database-url or WINDLASS_DATABASE_URL; "
            "'windlass up' brings its own"
        )
    return uvloop.run(_node(settings, settings.database_url))


def _settings(flags: Mapping[str, object]) -> Settings:
    loaded = load_settings(flags, os.environ, Path.cwd())
    configure_logs(loaded.settings.log_format)
    _log_unknown(loaded)
    ask_for_descriptors()
    return loaded.settings


def _log_unknown(loaded: Loaded) -> None:
    """Without the value, which may be a secret."""
    for strange in loaded.unknown:
        log.warning("variable_ignored", variable=strange.source, expected=strange.allowed)


def on_embedded(settings: Settings, servers: EmbeddedServers) -> Settings:
    """With a key; and without a replica, which would be one of some other database."""
    return with_secret_key(replace(settings, read_database_url=None), servers.data)


async def _up(settings: Settings, nodes: int) -> int:
    # First of all: a busy port must be said before anything is started.
    serving = compose.open_door(compose.listen(settings.host, settings.port))
    stop = Stop()
    async with EmbeddedServers(settings.data or DATA) as servers:
        settings = on_embedded(settings, servers)
        running = await compose.start(
            settings,
            database_url=servers.database_url,
            redis_url=servers.redis_url,
            serving=serving,
        )
        compose.tune_collector()
        async with keep_alive(servers), more_nodes(settings, servers, nodes - 1):
            _warn_of_loopback(settings)
            _say_ready(running)
            code = await _asked_to_stop(running, stop)
            log.info("draining", seconds=settings.drain_timeout_seconds)
            await _drain_or_stop(running, stop)
    return code


async def _node(settings: Settings, database_url: str) -> int:
    serving = None
    if "api" in settings.roles:
        serving = compose.open_door(compose.listen(settings.host, settings.port))
    stop = Stop()
    running = await compose.start(
        settings, database_url=database_url, redis_url=settings.redis_url, serving=serving
    )
    compose.tune_collector()
    _say_ready(running)
    code = await _asked_to_stop(running, stop)
    log.info("draining", seconds=settings.drain_timeout_seconds)
    await _drain_or_stop(running, stop)
    return code


def _warn_of_loopback(settings: Settings) -> None:
    """Who tries Windlass out has a receiver on this very machine, and should not have to guess."""
    if Egress(settings.egress_allow).refusal("localhost", "127.0.0.1") is not None:
        said = (
            "webhooks to this machine and to private networks are refused; "
            "WINDLASS_EGRESS_ALLOW=127.0.0.0/8 lets them reach loopback"
        )
        if settings.log_format == "json":
            log.warning("loopback_refused", note=said)
        else:
            print(f"note: {said}", file=sys.stderr)


def _say_ready(running: compose.Windlass) -> None:
    if running.admin_key is not None:
        print(f"admin key: {running.admin_key}")
        print("           it is shown only now; use it as WINDLASS_TOKEN or --token")
    print(f"ready: {running.url or 'node ' + str(running.node.node_id)}", flush=True)


async def _asked_to_stop(running: compose.Windlass, stop: Stop) -> int:
    """By a signal, or by an operation that drains this node. Returns the code to exit with.

    An API that ended by itself is a failure (1): whoever keeps the node running starts it again.
    """
    waits = [asyncio.create_task(e.wait()) for e in (stop.first, running.node.leave_asked)]
    serving = [running.serving.task] if running.serving is not None else []
    await asyncio.wait([*waits, *serving], return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    for served in serving:
        if served.done():
            trouble = None if served.cancelled() else served.exception()
            log.critical("api_ended", exc_info=trouble)
            return 1
    return 0


async def _drain_or_stop(running: compose.Windlass, stop: Stop) -> None:
    """The first signal drains; a second one ends it at once."""
    draining = asyncio.create_task(running.drain())
    second = asyncio.create_task(stop.second.wait())
    await asyncio.wait({draining, second}, return_when=asyncio.FIRST_COMPLETED)
    second.cancel()
    if draining.done():
        if left := draining.result():
            log.warning("drain_timed_out", handed_back=left)
        return
    log.warning("stopping_at_once")
    draining.cancel()
    await running.stop_now()


class Stop:
    """SIGTERM and SIGINT, counted."""

    def __init__(self) -> None:
        self.first, self.second = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)

    def _signalled(self) -> None:
        (self.second if self.first.is_set() else self.first).set()
