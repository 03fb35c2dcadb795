"""The ASGI application: every route of every noun behind one door."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

from starlette.types import ASGIApp

from windlass.api import audit, events, id_matches, openapi, queues, secrets, targets
from windlass.api.cluster import (
    cache,
    health,
    metrics,
    nodes,
    operations,
    refresh,
    signals,
    system,
)
from windlass.api.executions import approvals, executions
from windlass.api.executions import start as execution_start
from windlass.api.executions import verbs as execution_verbs
from windlass.api.http import docs_page
from windlass.api.http import problem_pages as problems
from windlass.api.http import shapes as schemas
from windlass.api.http.auth import Authenticator
from windlass.api.http.authorize import Confinement
from windlass.api.http.conditional import refuse_unsupported
from windlass.api.http.door import Door
from windlass.api.http.idempotency import idempotent
from windlass.api.http.proxies import TrustedProxies
from windlass.api.http.reply import JSON, Reply, encode
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.router import Router
from windlass.api.http.stream import EventStreams
from windlass.api.identity import keys, session, sessions, sign_on, users
from windlass.api.jobs import (
    bulk,
    complete,
    dead_letters,
    history,
    jobs,
    submit,
    tasks,
    webhook_status,
)
from windlass.api.locks import locks
from windlass.api.parts import ApiParts
from windlass.api.schedules import on_demand as schedule_on_demand
from windlass.api.schedules import schedules
from windlass.api.schedules import times as schedule_times
from windlass.api.schedules import verbs as schedule_verbs
from windlass.api.workflows import draft as workflow_draft
from windlass.api.workflows import versions as workflow_versions
from windlass.api.workflows import workflows
from windlass.engine.jobs.stats import Counters
from windlass.model.identity.rights import NOBODY


class Api(Door):
    """The API of a node, entered by its door: whoever stops serving it closes it."""

    def __init__(self, routes: list[Route], parts: ApiParts, streams: EventStreams) -> None:
        # The door before the router: what finds no route passes it too.
        is_on = parts.settings.auth == "on"
        super().__init__(
            Router(routes, Confinement(parts.database)),
            Authenticator(parts.tokens) if is_on else None,
            routes,
            proxies=TrustedProxies(parts.settings.trusted_proxies),
            public_url=parts.settings.public_url,
            node_id=lambda: parts.node.node_id,
            limits=parts.request_limits,
            on_limited=parts.on_limited,
        )
        self._parts = parts
        self._streams = streams

    async def close(self) -> None:
        """End the event streams; what else was asked is still answered."""
        await self._streams.close()
        await self._parts.tokens.close()
        self._parts.passwords.close()
        if self._parts.sign_on is not None:
            await self._parts.sign_on.close()


def build_app(parts: ApiParts) -> Api:
    counters, streams = Counters(parts.database), EventStreams(parts)
    routes = [
        *submit.routes(parts),
        *jobs.routes(parts),
        *bulk.routes(parts),
        *complete.routes(parts),
        *history.routes(parts),
        *webhook_status.routes(parts),
        *dead_letters.routes(parts),
        *tasks.routes(parts),
        *queues.routes(parts),
        *targets.routes(parts),
        *locks.routes(parts),
        *secrets.routes(parts),
        *workflows.routes(parts),
        *workflow_versions.routes(parts),
        *workflow_draft.routes(parts),
        *execution_start.routes(parts),
        *executions.routes(parts),
        *execution_verbs.routes(parts),
        *approvals.routes(parts),
        *schedules.routes(parts),
        *schedule_verbs.routes(parts),
        *schedule_on_demand.routes(parts),
        *schedule_times.routes(parts),
        *events.routes(parts, streams),
        *session.routes(parts),
        *sign_on.routes(parts),
        *sessions.routes(parts),
        *users.routes(parts),
        *keys.routes(parts),
        *audit.routes(parts),
        *id_matches.routes(parts),
        *nodes.routes(parts),
        *operations.routes(parts),
        *signals.routes(parts),
        *system.routes(parts),
        *refresh.routes(parts),
        *cache.routes(parts),
        *metrics.routes(parts, counters),
        *health.routes(parts, counters),
        *problems.routes(),
    ]
    routes = [refuse_unsupported(idempotent(route, parts.database)) for route in routes]
    routes += _documentation(routes, parts)
    return Api(routes, parts, streams)


def _documentation(routes: list[Route], parts: ApiParts) -> list[Route]:
    """The routes that describe the others, and themselves.

    The document and its page are made for whoever first asks for one, on a thread: together they
    take a tenth of a second, which a start does not wait for and no other caller either.
    """

    @functools.cache
    def described() -> dict[str, Any]:
        return openapi.document([*routes, *added], parts.kinds)

    @functools.cache
    def as_json() -> Reply:
        return Reply(encode(described()), 200, [JSON])

    @functools.cache
    def as_page() -> Reply:
        return docs_page.reply(described(), is_auth_off=parts.settings.auth == "off")

    async def document(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await asyncio.to_thread(as_json)

    async def page(_request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await asyncio.to_thread(as_page)

    added = [
        Route(
            method="GET",
            path="/openapi.json",
            needs=NOBODY,
            handle=document,
            summary="This document",
            tag="System",
            answers={200: Answer(description="OpenAPI 3.1", schema=schemas.ANY_OBJECT)},
        ),
        Route(
            method="GET",
            path="/docs",
            needs=NOBODY,
            handle=page,
            summary="This document, to read",
            tag="System",
            answers={
                200: Answer(description="A page", schema=schemas.TEXT, media_type="text/html")
            },
        ),
    ]
    return added
