"""The user's Apps as they live in a node: their way to the API, what they publish at the start.

Owns: the API application of this process, made when somebody first needs it: a node that serves
nobody and whose Apps ask nothing never builds it.
Promises: an App with `connect` reaches this node's API without an address or a key before its first
task runs; one that cannot publish leaves the node running and says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import structlog

from windlass.api.parts import ApiParts
from windlass.engine.identity.passwords import Passwords
from windlass.engine.schedules.schedule import ScheduleFilter
from windlass.engine.schedules.schedules import list_schedules
from windlass.sdk.http.in_process import InProcessTransport

if TYPE_CHECKING:
    from windlass.api.app import Api

log = structlog.get_logger()


PUBLISH_SECONDS_MAX: Final = 60.0


class AppInNode:
    def __init__(self, apps: Sequence[Any], parts: ApiParts) -> None:
        self._apps = apps
        self._parts = parts
        self._api: Api | None = None  # None: nobody has needed it yet
        self._with_news: list[Any] = []  # those that may have something to publish

    @property
    def passwords(self) -> Passwords:
        return self._parts.passwords

    def api(self) -> Api:
        """The API, one for the whole process."""
        if self._api is None:
            # Here: these are imports that a worker may never need.
            from windlass.api.app import build_app

            self._api = build_app(self._parts)
        return self._api

    async def import_api(self) -> None:
        """In a thread: jobs and heartbeats go on meanwhile."""
        if self._api is None:
            await asyncio.to_thread(import_module, "windlass.api.app")

    async def prepare(self) -> None:
        """What would keep the node's loop busy, before anything depends on that."""
        for app in self._apps:
            if hasattr(app, "publish") and await self._may_have_news(app):
                self._with_news.append(app)
        if self._with_news:
            await self.import_api()

    def transport(self, app: Any = None) -> InProcessTransport:
        """A way to the API, for any thread of this process."""
        # The same on every node, so that an Idempotency-Key holds wherever a task is retried.
        owner = f"app:{_name_of(app)}"
        return InProcessTransport(self._ask, asyncio.get_running_loop(), owner)

    def enter(self) -> None:
        for app in self._apps:
            if hasattr(app, "connect"):
                app.connect(self.transport(app))

    def leave(self) -> None:
        for app in self._apps:
            if hasattr(app, "connect"):
                app.connect(None)

    async def close(self) -> None:
        """The API, before its server and its database go."""
        if self._api is not None:
            await self._api.close()

    async def _may_have_news(self, app: Any) -> bool:
        """It has something, or had schedules once, which may have gone from the code."""
        # Another object than our App has its own idea of what there is.
        if any(getattr(app, what, True) for what in ("workflows", "durables", "schedules")):
            return True
        its = ScheduleFilter(source="app", tags=(f"app:{_name_of(app)}",))
        return bool(await list_schedules(self._parts.database, 1, where=its))

    async def publish(self) -> None:
        for app in self._with_news:
            await self._publish(app)

    async def _publish(self, app: Any) -> None:
        try:
            async with asyncio.timeout(PUBLISH_SECONDS_MAX):
                await app.publish()
        except Exception as trouble:  # a mistake in a workflow must not stop the tasks
            reason = f"{type(trouble).__name__}: {trouble}"
            log.error("app_not_published", app=_name_of(app), reason=reason)  # noqa: TRY400

    async def _ask(self, scope: Any, receive: Any, send: Any) -> None:
        await self.import_api()
        await self.api()(scope, receive, send)


def _name_of(app: Any) -> str:
    return str(getattr(app, "name", "anonymous"))
