"""`windlass up` and `windlass node`: from settings to `ready`, and from SIGTERM to the end."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import socket
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog
import uvloop

from windlass.api.http.connections import ask_for_descriptors
from windlass.compose.more_nodes import RELOAD, NodeOrder, from_line, more_nodes
from windlass.compose.store import open_store
from windlass.compose.terminal import say, shown_path
from windlass.config import Loaded, Settings, load_settings
from windlass.config.parsers import is_loopback
from windlass.errors import AppNotLoaded, WindlassError
from windlass.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from windlass.api.http.serve import Serving
    from windlass.api.http.tls import Certificate, CertificateFiles
    from windlass.compose.reload import Watch
    from windlass.compose.start import Windlass
    from windlass.embedded.servers import EmbeddedServers
    from windlass.store.database import Database
    from windlass.strategies.python.apps import LoadedApp

log = structlog.get_logger()

DATA: Final = Path(".windlass")
# How long, and how much, whoever has our port is listened to.
WHO_SECONDS_MAX: Final = 1.0
WHO_BYTES_MAX: Final = 64 * 1024


class MissingSetting(WindlassError):
    """A setting that is needed was not given."""

    code = "invalid_settings"


class PortBusy(WindlassError):
    """Another program has the port that this node was to serve."""

    code = "port_busy"


class OpenToOthers(WindlassError):
    """Authentication is off, and the address that would be listened at can be reached by others."""

    code = "invalid_settings"

    def __init__(self, host: str, bound: str) -> None:
        super().__init__(
            f"WINDLASS_AUTH=off is for this machine alone, and {host} is {bound} here, which "
            "others may reach: say --host 127.0.0.1, or WINDLASS_AUTH=on"
        )


class NothingToReload(WindlassError):
    """`--reload` without an App whose files could change."""

    code = "invalid_settings"


def run_up(flags: Mapping[str, object], nodes: int, *, is_reloading: bool = False) -> int:
    settings = _settings(flags)
    _check_reload(settings, is_reloading)
    return uvloop.run(_up(settings, nodes, is_reloading))


def run_node(flags: Mapping[str, object], *, is_reloading: bool = False) -> int:
    settings = _settings(flags)
    if settings.database_url is None:
        raise MissingSetting(
            "a node needs PostgreSQL: give --database-url or WINDLASS_DATABASE_URL; "
            "'windlass up' brings its own"
        )
    _check_reload(settings, is_reloading)
    return uvloop.run(_reloading(settings) if is_reloading else _node(settings, NodeOrder()))


def run_child(line: bytes) -> int:
    """A node that another process of ours has begun (see more_nodes)."""
    settings, order = from_line(line)
    configure_logs(settings.log_format)
    ask_for_descriptors()
    return uvloop.run(_node(settings, order))


def _check_reload(settings: Settings, is_reloading: bool) -> None:
    if is_reloading and settings.app is None:
        raise NothingToReload("--reload watches the files of your App: say which with --app")


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
    """Theirs, with a key; and without a replica, which would be one of some other database."""
    from windlass.compose.embedded import with_secret_key

    theirs = replace(
        settings,
        database_url=servers.database_url,
        redis_url=servers.redis_url,
        read_database_url=None,
    )
    return with_secret_key(theirs, servers.data)


async def _up(settings: Settings, nodes: int, is_reloading: bool) -> int:
    from windlass.compose.embedded import keep_alive
    from windlass.embedded.servers import EmbeddedServers

    # First of all: a busy port must be said before anything is started.
    listener = listen(settings.host, settings.port)
    order = NodeOrder(data=str(settings.data or DATA), nodes=nodes, is_reloading=is_reloading)
    stop = Stop()
    serving = None if is_reloading else await _answer_callers(listener, settings)
    importing = None if is_reloading else asyncio.create_task(_import_parts())
    async with EmbeddedServers(settings.data or DATA) as servers, keep_alive(servers):
        settings = on_embedded(settings, servers)
        if serving is None or importing is None:
            code = await _parent(settings, order, listener, stop)
        else:
            await importing
            code = await _with_more_nodes(settings, order, serving, stop)
    say(f"stopped; data is kept in {shown_path(servers.data)}")
    return code


async def _with_more_nodes(
    settings: Settings, order: NodeOrder, serving: Serving, stop: Stop
) -> int:
    """This process is a node; further ones, if there are any, are its children."""
    from windlass.compose import start as compose
    from windlass.compose.ready import ready

    running = await compose.start(
        settings,
        **_servers_of(settings),
        serving=serving,
        opening=_opening(settings, order),
    )
    compose.tune_collector()
    async with (
        ready(running, order),
        more_nodes(settings, order.nodes - 1, order) as children,
    ):
        code, _ = await _asked_to_stop(running, stop)
        _say_stopping(running, order)
        await asyncio.gather(_drain_or_stop(running, stop), children.end(stop.second))
    return code


async def _parent(
    settings: Settings, order: NodeOrder, listener: socket.socket | None, stop: Stop
) -> int:
    """All nodes are children, which end when their code has changed."""
    fd = listener.fileno() if listener is not None else None
    main = replace(order, listener=fd)
    async with more_nodes(settings, order.nodes - 1, order, main) as children:
        left = asyncio.create_task(children.first_left())
        asked = asyncio.create_task(stop.first.wait())
        await asyncio.wait({left, asked}, return_when=asyncio.FIRST_COMPLETED)
        code = left.result() if left.done() else 0
        left.cancel()
        asked.cancel()
        await children.end(stop.second)
        return code


async def _reloading(settings: Settings) -> int:
    listener = listen(settings.host, settings.port) if "api" in settings.roles else None
    code = await _parent(settings, NodeOrder(is_reloading=True), listener, Stop())
    say("stopped")
    return code


async def _node(settings: Settings, order: NodeOrder) -> int:
    listener = _listener(settings, order)
    stop = Stop()
    opening = None if order.is_reloading else asyncio.create_task(_opening(settings, order))
    serving = await _answer_callers(listener, settings) if listener is not None else None
    apps: Sequence[LoadedApp] | None = None
    watch: Watch | None = None
    if order.is_reloading:
        assert settings.app is not None
        from windlass.compose.reload import Watch

        watch = Watch(settings.app)
        apps = await _load_or_wait(watch, order, stop)
        if apps is None:
            if serving is not None:
                await serving.stop()
            return 0 if stop.first.is_set() else RELOAD
    await _import_parts()
    from windlass.compose import start as compose
    from windlass.compose.ready import ready

    running = await compose.start(
        settings,
        **_servers_of(settings),
        serving=serving,
        apps=apps,
        opening=opening or _opening(settings, order),
    )
    compose.tune_collector()
    async with ready(running, order):
        code, why = await _asked_to_stop(running, stop, watch)
        _say_stopping(running, order, why)
        await _drain_or_stop(running, stop)
    if not order.is_quiet and not order.is_reloading:
        say("stopped")
    return code


def _servers_of(settings: Settings) -> dict[str, Any]:
    assert settings.database_url is not None
    return {"database_url": settings.database_url, "redis_url": settings.redis_url}


def _opening(settings: Settings, order: NodeOrder) -> Coroutine[Any, Any, Database]:
    """A folder of embedded servers is nobody else's: who finds newer tables there is too old.
    Elsewhere nodes of two releases work side by side while one follows the other.
    """
    assert settings.database_url is not None
    return open_store(settings, settings.database_url, may_be_newer=order.data is None)


async def _load_or_wait(watch: Watch, order: NodeOrder, stop: Stop) -> Sequence[LoadedApp] | None:
    """None: it could not be loaded, and something has changed since, or we were asked to stop."""
    try:
        return watch.load()
    except AppNotLoaded as trouble:
        if not order.is_quiet:
            say(f"error: {trouble}")
            say("       it is tried again when a file changes")
    changed = asyncio.create_task(watch.changed())
    asked = asyncio.create_task(stop.first.wait())
    await asyncio.wait({changed, asked}, return_when=asyncio.FIRST_COMPLETED)
    changed.cancel()
    asked.cancel()
    return None


def _listener(settings: Settings, order: NodeOrder) -> socket.socket | None:
    if order.listener is not None:
        return socket.socket(fileno=order.listener)
    is_bound_here = "api" in settings.roles and order.data is None
    return listen(settings.host, settings.port) if is_bound_here else None


async def _answer_callers(listener: socket.socket, settings: Settings) -> Serving:
    await asyncio.to_thread(import_module, "windlass.api.http.serve")
    return open_door(listener, settings)


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
        who = "; another Windlass answers there" if _is_windlass(host, port, trouble) else ""
        raise PortBusy(
            f"cannot listen on {host}:{port}: {trouble.strerror}{who}; "
            "stop what uses it or choose another with --port"
        ) from trouble
    listener.listen(2048)
    listener.setblocking(False)
    return listener


def _is_windlass(host: str, port: int, trouble: OSError) -> bool:
    """Who has the port? Asked of those that it could be, for a moment, and told nothing."""
    if trouble.errno != errno.EADDRINUSE:
        return False
    import ssl
    from http.client import HTTPConnection, HTTPSConnection

    to = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    anybody = ssl._create_unverified_context()  # noqa: S323
    return any(
        _says_windlass(connection)
        for connection in (
            HTTPConnection(to, port, timeout=WHO_SECONDS_MAX),
            HTTPSConnection(to, port, timeout=WHO_SECONDS_MAX, context=anybody),
        )
    )


def _says_windlass(connection: HTTPConnection) -> bool:
    from http.client import HTTPException

    try:
        connection.request("GET", "/health")
        answer = connection.getresponse().read(WHO_BYTES_MAX)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return b"jobs_executing" in answer or b"this node is starting" in answer


def open_door(listener: socket.socket, settings: Settings) -> Serving:
    """Answer there, that the node is starting. Raises OpenToOthers, UnusableCertificate."""
    from windlass.api.http.proxies import TrustedProxies
    from windlass.api.http.serve import ServedAs, Serving

    is_auth_off = settings.auth == "off"
    # A name such as localhost is what somebody's /etc/hosts makes of it.
    bound = listener.getsockname()[0]
    if is_auth_off and not is_loopback(bound):
        raise OpenToOthers(settings.host, bound)
    served_as = ServedAs(
        certificate=certificate_of(settings),
        proxies=TrustedProxies(settings.trusted_proxies),
        is_auth_off=is_auth_off,
    )
    return Serving(listener, served_as=served_as)


def certificate_of(settings: Settings) -> Certificate | None:
    """None: the API speaks http. Raises UnusableCertificate."""
    files = certificate_files(settings)
    if files is None:
        return None
    from windlass.api.http.tls import Certificate

    return Certificate(files)


def certificate_files(settings: Settings) -> CertificateFiles | None:
    """None: the API speaks http."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    from windlass.api.http.tls import CertificateFiles

    return CertificateFiles(
        cert=settings.tls_cert, key=settings.tls_key, password=settings.tls_key_password_file
    )


def _say_stopping(running: Windlass, order: NodeOrder, why: str | None = None) -> None:
    """`why` is the file that has changed; None: somebody asked."""
    seconds, count = running.settings.drain_timeout_seconds, running.node.executing
    log.info("draining", seconds=seconds, running=count)
    if order.is_quiet:
        return
    jobs = "1 running job" if count == 1 else f"{count} running jobs"
    others = order.nodes - 1 if not order.is_reloading else 0
    if others:
        jobs += f" and those of {others} more node{'s' * (others > 1)}"
    what = f"reloading: {why} has changed" if why is not None else "stopping"
    if not count and not others:
        say(what if why is not None else "stopping: nothing is running")
        return
    again = "" if why is not None else "; Ctrl-C again stops at once"
    say(f"{what}{',' if why is not None else ':'} waiting up to {seconds:g} s for {jobs}{again}")


async def _asked_to_stop(
    running: Windlass, stop: Stop, watch: Watch | None = None
) -> tuple[int, str | None]:
    """By a signal, by an operation that drains this node, or by a file that has changed, which is
    returned after the code to exit with.

    An API that ended by itself is a failure (1): whoever keeps the node running starts it again.
    """
    waits = [asyncio.create_task(e.wait()) for e in (stop.first, running.node.leave_asked)]
    changed = asyncio.create_task(watch.changed()) if watch is not None else None
    watching = [changed] if changed is not None else []
    serving = [running.serving.task] if running.serving is not None else []
    await asyncio.wait([*waits, *watching, *serving], return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    for served in serving:
        if served.done():
            trouble = None if served.cancelled() else served.exception()
            log.critical("api_ended", exc_info=trouble)
            return 1, None
    if changed is not None and changed.done() and not stop.first.is_set():
        return RELOAD, changed.result()
    if changed is not None:
        changed.cancel()
    return 0, None


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
