"""The moment a node is ready: its key is kept, its address recorded, and what it does is said.

Promises: the line `ready: …` is the last one, when all of this is done; a folder that takes no more
files keeps no node from working.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from windlass import __version__
from windlass.compose.terminal import (
    Off,
    banner,
    room,
    say,
    shown_path,
    shown_server,
    some_of,
)
from windlass.engine.identity.first import FIRST_USER
from windlass.engine.jobs.queues import misspelt_queues
from windlass.sdk.http.async_client import DEFAULT_URL
from windlass.sdk.http.local_key import KEY_FILE
from windlass.strategies.http.net.egress import Egress

if TYPE_CHECKING:
    from windlass.compose.more_nodes import NodeOrder
    from windlass.compose.start import Windlass
    from windlass.config import Settings

log = structlog.get_logger()

LOOPBACK_REFUSED: Final = (
    "webhooks to this machine and to private networks are refused; "
    "WINDLASS_EGRESS_ALLOW=127.0.0.0/8 lets them reach loopback"
)


@contextlib.asynccontextmanager
async def ready(running: Windlass, order: NodeOrder) -> AsyncIterator[None]:
    """While inside, the node can be found."""
    settings, folder, is_kept = running.settings, order.folder, False
    with contextlib.ExitStack() as records:
        if folder is not None and running.serving is not None:
            from windlass.compose.admin_key import keep_key, recorded

            # The process that holds the socket is the one to be found: ours, or that above us.
            holder = os.getpid() if order.listener is None else os.getppid()
            try:
                is_kept = await keep_key(running.database, folder, running.first.key)
                records.enter_context(recorded(folder, _bound(settings), settings.port, holder))
            except OSError as trouble:
                log.warning("key_not_kept", folder=str(folder), reason=trouble.strerror)
        if settings.log_format == "json" and _is_loopback_refused(settings):
            log.warning("loopback_refused", note=LOOPBACK_REFUSED)
        for name, near in (await misspelt_queues(running.database, running.queues.names)).items():
            log.warning("queue_unknown", queue=name, near=near)
        if not order.is_quiet:
            _say_ready(running, order, is_kept)
        yield


def _bound(settings: Settings) -> str:
    """The address that a name such as localhost was bound by."""
    host = settings.host
    return host if ":" in host else socket.gethostbyname(host)


def _say_ready(running: Windlass, order: NodeOrder, is_kept: bool) -> None:
    if order.round > 1:
        count = len(running.kinds.tasks)
        say(f"reloaded: {count} task{'s' * (count != 1)}")
        return
    say(banner(__version__, _rows(running, order, is_kept), _off(running)))
    if running.first.key is not None:
        say(f"admin key: {running.first.key}")
        say(f"           {_advice(order.folder if is_kept else None)}")
    if running.first.password is not None:
        say(f"admin login: user {FIRST_USER}, one-time password {running.first.password}")
        say("             it is shown only now; choose your own with")
        say(f"             windlass login --user {FIRST_USER}{_at(running.url)}")
        if running.first.key is None:
            say("             there was no user here yet; the keys of before stay good")
    say(f"ready: {running.url or 'node ' + str(running.node.node_id)}")


def _at(url: str | None) -> str:
    return "" if url in (None, DEFAULT_URL) else f" --url {url}"


def _advice(folder: Path | None) -> str:
    if folder is None:
        return "it is shown only now; use it as WINDLASS_TOKEN or --token"
    return f"kept in {shown_path(folder / KEY_FILE)}, where commands on this machine find it"


def _rows(running: Windlass, order: NodeOrder, is_kept: bool) -> list[tuple[str, str]]:
    settings = running.settings
    rows = [("url", f"{running.url}   API reference at /docs")] if running.url else []
    named = ((app.name, app.path) for app in running.apps)
    rows += [("app", path if name is None else f"{name} ({path})") for name, path in named]
    rows.append(("tasks", _tasks(running)))
    if "worker" in settings.roles:
        rows.append(("queues", str(running.queues)))
        slots = f"{settings.workers}" if settings.workers else "none: jobs run one at a time"
        rows.append(
            ("slots", f"{slots} in each of {order.nodes} nodes" if order.nodes > 1 else slots)
        )
    else:
        rows.append(("roles", ", ".join(settings.roles)))
    return [*rows, *_servers(settings, order.folder), *_sign_in(running, order.folder, is_kept)]


def _tasks(running: Windlass) -> str:
    names = sorted(running.kinds.tasks)
    if not names:
        return "none"
    count = f"{len(names)}: "
    return count + some_of(names, room() - len(count))


def _servers(settings: Settings, folder: Path | None) -> list[tuple[str, str]]:
    if folder is not None:
        return [("data", f"{shown_path(folder)}   PostgreSQL and Valkey of its own")]
    rows = [("database", shown_server(settings.database_url or ""))]
    return [*rows, ("redis", shown_server(settings.redis_url))] if settings.redis_url else rows


def _sign_in(running: Windlass, folder: Path | None, is_kept: bool) -> list[tuple[str, str]]:
    if running.serving is None:
        return []
    if running.settings.auth == "off":
        return [("auth", "OFF: whoever reaches this address may do everything, without a key")]
    if folder is not None and is_kept:
        return [("key", f"{shown_path(folder / KEY_FILE)}   found by commands on this machine")]
    if running.first.key is not None:
        return [("key", "the one below, as WINDLASS_TOKEN or --token")]
    reset = "windlass key reset"
    reset += f" --data {shown_path(folder)}" if folder is not None else ""
    return [("key", f"the one of the first start; a new one: {reset}")]


def _off(running: Windlass) -> list[Off]:
    """What a newcomer would miss, and how to have it."""
    settings = running.settings
    found = [
        (not running.kinds.tasks, "Python tasks", "--app module:attr"),
        (settings.auth == "off", "authentication (the lock of the API)", "WINDLASS_AUTH=on"),
        (settings.redis_url is None, "Redis (nodes poll)", "WINDLASS_REDIS_URL=redis://…"),
        (
            settings.secret_key is None,
            "secrets and signed webhooks",
            "WINDLASS_SECRET_KEY=file:PATH",
        ),
        (settings.sign_webhooks == "off", "signatures", "WINDLASS_SIGN_WEBHOOKS=on"),
        (
            _is_loopback_refused(settings),
            "webhooks to this machine",
            "WINDLASS_EGRESS_ALLOW=127.0.0.0/8",
        ),
    ]
    return [Off(what=what, how=how) for is_off, what, how in found if is_off]


def _is_loopback_refused(settings: Settings) -> bool:
    """Who tries Windlass out has a receiver on this very machine, and should not have to guess."""
    return Egress(settings.egress_allow).refusal("localhost", "127.0.0.1") is not None
