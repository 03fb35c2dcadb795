"""The API composed as a node composes it, on a free loopback port, with a client that has a key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import aiohttp

from tests.until import until
from windlass import ids
from windlass.api.app import build_app
from windlass.api.http.serve import Serving
from windlass.api.parts import ApiParts
from windlass.compose import foreground
from windlass.compose.parts import api_parts, engine_parts
from windlass.config import Settings
from windlass.engine.executions.refresh import Tally
from windlass.engine.identity.first import ensure_admin_key
from windlass.engine.upcalls import Upcalls
from windlass.fastlane.lane import FastLane
from windlass.store.database import Database
from windlass.strategies.builtin import INPUT_CHECKS
from windlass.telemetry.metrics import Metrics

KEY: Final = "0f" * 32


@dataclass(slots=True)
class Facts:
    """What a node with no workers knows of itself."""

    node_id: UUID = field(default_factory=ids.uuid7)
    workers: int = 0
    executing: int = 0
    last_execution_at: datetime | None = None
    is_draining: bool = False


@dataclass(slots=True, kw_only=True)
class Served:
    url: str
    key: str
    client: aiohttp.ClientSession
    parts: ApiParts
    facts: Facts
    serving: Serving

    @property
    def database(self) -> Database:
        return self.parts.database

    async def get(self, path: str, status: int = 200, **given: Any) -> Any:
        return await self.call("GET", path, status, **given)

    async def post(self, path: str, json: Any = None, status: int = 200, **given: Any) -> Any:
        return await self.call("POST", path, status, json=json, **given)

    async def call(self, method: str, path: str, status: int, **given: Any) -> Any:
        """The answer's JSON, provided that it has the expected status."""
        async with self.client.request(method, self.url + path, **given) as answer:
            text = await answer.text()
            assert answer.status == status, f"{method} {path}: {answer.status} {text}"
            return await answer.json(content_type=None) if text else None

    async def submit(self, **job: Any) -> dict[str, Any]:
        made: dict[str, Any] = await self.post("/v1/jobs", {"kind": "noop", **job}, 201)
        return made


@asynccontextmanager
async def insist(
    ask: Callable[[], AbstractAsyncContextManager[aiohttp.ClientResponse]], tries: int = 1_000
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer, asked for again while it is 503, as a client does: somebody holds what it needs
    for longer than it waits, and nothing was changed.
    """
    while True:
        tries -= 1
        async with ask() as answer:
            is_held = answer.status == 503 and (await answer.json())["code"] == "unavailable"
            if not (is_held and tries):
                yield answer
                return
        await asyncio.sleep(0.02)


@asynccontextmanager
async def serve(
    database_url: str,
    redis_url: str,
    settings: Settings,
    *,
    is_keyless: bool = False,
    opened: Database | None = None,
) -> AsyncIterator[Served]:
    """With a key for secrets, unless the test is about having none; on a database of its own,
    unless one is `opened` for it.
    """
    if settings.secret_key is None and not is_keyless:
        settings = replace(settings, secret_key=KEY)
    database = opened or Database(database_url, application="windlass test api")
    lane = FastLane(redis_url)
    if opened is None:
        await database.open()
    facts = Facts()
    engine = await engine_parts(
        settings,
        database=database,
        lane=lane,
        redis_url=redis_url,
        metrics=Metrics(),
        upcalls=Upcalls(node_id=lambda: facts.node_id, may_begin=lambda: False),
    )
    await lane.open()
    parts = api_parts(
        engine, node=facts, starter=None, kinds=INPUT_CHECKS, strategies=list, tally=Tally()
    )
    key = await ensure_admin_key(database) or ""
    taken = foreground.listen("127.0.0.1", 0)
    host, port = taken.getsockname()
    app = build_app(parts)
    serving = foreground.open_door(taken, settings)
    serving.open(app, on_refused=engine.metrics.turned_away)
    await until(lambda: serving.server.started or serving.task.done(), within_seconds=10)
    headers = {"Authorization": f"Bearer {key}"} if settings.auth == "on" else {}
    try:
        async with aiohttp.ClientSession(headers=headers) as client:
            yield Served(
                url=f"http://{host}:{port}",
                key=key,
                client=client,
                parts=parts,
                facts=facts,
                serving=serving,
            )
    finally:
        await app.close()
        await serving.stop()
        await parts.readers.close()
        await parts.stopper.close()
        await engine.caches.close()
        await lane.close()
        if opened is None:
            await database.close()
