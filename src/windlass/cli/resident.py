"""The user's App as it lives in a node: its way to the API, and what it publishes at the start.

Owns: the API application of this process, made when somebody first needs it: a node that serves
nobody and whose App asks nothing never builds it.
Promises: an App with `connect` reaches this node's API without an address or a key before its first
task runs; one that cannot publish leaves the node running and says why.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import structlog

from windlass.api.parts import ApiParts
from windlass.sdk.across import AsgiApp
from windlass.sdk.in_process import InProcessTransport

log = structlog.get_logger()

PUBLISH_SECONDS_MAX: Final = 60.0


class Resident:
    def __init__(self, app: Any, parts: ApiParts) -> None:
        self._app = app  # None: this node has no App
        self._parts = parts
        self._api: AsgiApp | None = None

    def api(self) -> AsgiApp:
        """The API, one for the whole process."""
        if self._api is None:
            # Here: it is a second of imports that a worker may never need.
            from windlass.api.app import build_app

            self._api = build_app(self._parts)
        return self._api

    def transport(self) -> InProcessTransport:
        """A way to the API, for any thread of this process."""
        return InProcessTransport(self._ask, asyncio.get_running_loop(), self._owner())

    def enter(self) -> None:
        if hasattr(self._app, "connect"):
            self._app.connect(self.transport())

    def leave(self) -> None:
        if hasattr(self._app, "connect"):
            self._app.connect(None)

    async def publish(self) -> None:
        if not hasattr(self._app, "publish"):
            return
        try:
            async with asyncio.timeout(PUBLISH_SECONDS_MAX):
                await self._app.publish()
        except Exception as trouble:  # a mistake in a workflow must not stop the tasks
            reason = f"{type(trouble).__name__}: {trouble}"
            log.error("app_not_published", app=self._name(), reason=reason)  # noqa: TRY400

    async def _ask(self, scope: Any, receive: Any, send: Any) -> None:
        await self.api()(scope, receive, send)

    def _owner(self) -> str:
        """The same on every node, so that an Idempotency-Key holds wherever a task is retried."""
        return f"app:{self._name()}"

    def _name(self) -> str:
        return str(getattr(self._app, "name", "anonymous"))
