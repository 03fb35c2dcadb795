"""A node with an API, and what an operator asks through it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import aiohttp

from tests.faults.nodes import APP, NodeProcess
from tests.faults.real_cluster import Cluster
from tests.ports import free_port
from tests.until import until
from windlass import ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    node: NodeProcess
    node_id: UUID
    session: aiohttp.ClientSession

    async def call(self, method: str, path: str, status: int, body: Any = None) -> Any:
        async with self.session.request(method, self.node.url + path, json=body) as answer:
            text = await answer.text()
            assert answer.status == status, f"{method} {path}: {answer.status} {text}"
            return await answer.json(content_type=None)

    async def resize(self, node_id: UUID, workers: int, **body: Any) -> dict[str, Any]:
        path = f"/v1/nodes/{ids.show('node', node_id)}"
        found: dict[str, Any] = await self.call("PATCH", path, 202, {"workers": workers, **body})
        return found

    async def verb(self, node_id: UUID, verb: str) -> dict[str, Any]:
        path = f"/v1/nodes/{ids.show('node', node_id)}/{verb}"
        found: dict[str, Any] = await self.call("POST", path, 202)
        return found

    async def shown(self, node: NodeProcess) -> dict[str, Any]:
        """A node as the API shows it."""
        path = f"/v1/nodes/{ids.show('node', node.node_id)}"
        found: dict[str, Any] = await self.call("GET", path, 200)
        return found

    async def read(self, operation: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = await self.call("GET", f"/v1/operations/{operation['id']}", 200)
        return found

    async def until_phase(
        self, operation: dict[str, Any], *phases: str, within_seconds: float = 20
    ) -> dict[str, Any]:
        """The operation once it is in one of these phases."""
        found = operation

        async def is_there() -> bool:
            nonlocal found
            found = await self.read(operation)
            return found["phase"] in phases

        await until(is_there, what=f"{operation} is {phases}", within_seconds=within_seconds)
        return found

    async def until_ended(self, operation: dict[str, Any]) -> dict[str, Any]:
        return await self.until_phase(operation, "done", "rolled_back")


@asynccontextmanager
async def open_door(
    cluster: Cluster, *, roles: str = "api", workers: int = 8, app: str = APP, **settings: str
) -> AsyncIterator[Door]:
    """With the role `worker` it runs jobs too."""
    node = await cluster.nodes.start(
        cluster.database.url,
        cluster.redis_url,
        workers=workers,
        roles=roles,
        app=app,
        settings={"WINDLASS_AUTH": "off", "WINDLASS_PORT": str(free_port()), **settings},
    )
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{node.url}/health") as answer:
            node_id = ids.parse("node", (await answer.json())["node_id"])
        yield Door(node=node, node_id=node_id, session=session)
