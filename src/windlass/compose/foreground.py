"""`windlass up` and `windlass node`: from settings to `ready`, and from SIGTERM to the end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
import uvloop

from windlass.api.http.connections import ask_for_descriptors
from windlass.compose.store import open_store
from windlass.config import Loaded, Settings, load_settings
from windlass.errors import WindlassError
from windlass.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from windlass.api.http.serve import Serving
    from windlass.compose.start import Windlass
    from windlass.embedded.servers import EmbeddedServers

log = structlog.get_logger()

DATA: Final = Path(".windlass")


class MissingSetting(WindlassError):
    """A setting that is needed was not given."""

    code = "invalid_settings"


class PortBusy(WindlassError):
    """Another program has the port that this node was to serve."""

    code = "port_busy"


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
    configure_logs(loaded.settings.log_format, loaded.settings.log_level)
    _log_unknown(loaded)
    ask_for_descriptors()
    return loaded.settings


def _log_unknown(loaded: Loaded) -> None:
    """Without the value, which may be a secret."""
    for strange in loaded.unknown:
        log.warning("variable_ignored", variable=strange.source, expected=strange.allowed)


def on_embedded(settings: Settings, servers: EmbeddedServers) -> Settings:
    """With a key; and without a replica, which would be one of some other database."""
    from windlass.compose.embedded import with_secret_key

    return with_secret_key(replace(settings, read_database_url=None), servers.data)


async def _up(settings: Settings, nodes: int) -> int:
    from windlass.compose.embedded import keep_alive
    from windlass.compose.more_nodes import more_nodes
    from windlass.embedded.servers import EmbeddedServers

    # First of all: a busy port must be said before anything is started.
    serving = await _answer_callers(listen(settings.host, settings.port))
    stop = Stop()
    importing = asyncio.create_task(_import_parts())
    async with EmbeddedServers(settings.data or DATA) as servers:
        await importing
        from windlass.compose import start as compose

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
    listener = listen(settings.host, settings.port) if "api" in settings.roles else None
    stop = Stop()
    opening = asyncio.create_task(open_store(settings, database_url))
    serving = await _answer_callers(listener) if listener is not None else None
    await _import_parts()
    from windlass.compose import start as compose

    running = await compose.start(
        settings,
        database_url=database_url,
        redis_url=settings.redis_url,
        serving=serving,
        opening=opening,
    )
    compose.tune_collector()
    _say_ready(running)
    code = await _asked_to_stop(running, stop)
    log.info("draining", seconds=settings.drain_timeout_seconds)
    await _drain_or_stop(running, stop)
    return code


async def _answer_callers(listener: socket.socket) -> Serving:
    await asyncio.to_thread(import_module, "windlass.api.http.serve")
    return open_door(listener)


async def _import_parts() -> None:
    """What a node is made of, in a thread: servers are started or reached meanwhile.

    All of it stays for ever: `tune_collector` need not look through it for garbage.
    """
    await asyncio.to_thread(import_module, "windlass.compose.start")
    gc.freeze()


def listen(host: str, port: int) -> socket.socket:
    """The API's socket, bound before anything else starts: a busy port is said at once.

    From here on callers wait to be heard: let `open_door` follow.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: asyncio sets TCP_NODELAY only then, and without it each answer waits for the
    # caller's delayed acknowledgement of its head.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as trouble:
        listener.close()
        raise PortBusy(
            f"cannot listen on {host}:{port}: {trouble.strerror}; "
            "stop what uses it or choose another with --port"
        ) from trouble
    listener.listen(2048)
    listener.setblocking(False)
    return listener


def open_door(listener: socket.socket) -> Serving:
    """Answer there, that the node is starting."""
    from windlass.api.http.serve import Serving

    return Serving(listener)


def _warn_of_loopback(settings: Settings) -> None:
    """Who tries Windlass out has a receiver on this very machine, and should not have to guess."""
    from windlass.strategies.http.net.egress import Egress

    if Egress(settings.egress_allow).refusal("localhost", "127.0.0.1") is not None:
        said = (
            "webhooks to this machine and to private networks are refused; "
            "WINDLASS_EGRESS_ALLOW=127.0.0.0/8 lets them reach loopback"
        )
        if settings.log_format == "json":
            log.warning("loopback_refused", note=said)
        else:
            print(f"note: {said}", file=sys.stderr)


def _say_ready(running: Windlass) -> None:
    if running.admin_key is not None:
        print(f"admin key: {running.admin_key}")
        print("           it is shown only now; use it as WINDLASS_TOKEN or --token")
    print(f"ready: {running.url or 'node ' + str(running.node.node_id)}", flush=True)


async def _asked_to_stop(running: Windlass, stop: Stop) -> int:
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


async def _drain_or_stop(running: Windlass, stop: Stop) -> None:
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
