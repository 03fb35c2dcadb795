"""The user's App in a node: connected before its first task, published, and let go at the end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from windlass.compose import start as compose
from windlass.config import Settings
from windlass.sdk.http.transport import Request, Transport
from windlass.testing.servers import PrivateServers


@dataclass
class Theirs:
    """Anything with these names is an App to a node."""

    name: str = "theirs"
    tasks: dict[str, Any] = field(default_factory=dict)
    transports: list[Transport | None] = field(default_factory=list)
    published: list[int] = field(default_factory=list)
    trouble: Exception | None = None

    def connect(self, transport: Transport | None) -> None:
        self.transports.append(transport)

    async def publish(self) -> None:
        if self.trouble is not None:
            raise self.trouble
        transport = self.transports[-1]
        assert transport is not None
        answer = await transport.send(
            Request(method="GET", path="/v1/queues", body=None, headers={}, timeout_seconds=20)
        )
        self.published.append(answer.status)


async def running(app: Any, servers: PrivateServers, database_url: str) -> compose.Windlass:
    settings = replace(Settings(), workers=1, roles=("worker",))
    return await compose.start(
        settings,
        database_url=database_url,
        redis_url=servers.redis_of(database_url),
        serving=None,
        app=app,
    )


async def test_an_app_is_connected_published_and_let_go(
    servers: PrivateServers, database_url: str
) -> None:
    app = Theirs()
    node = await running(app, servers, database_url)
    assert app.published == [200], "a node that serves nobody answers its own App"
    await node.drain()
    assert app.transports[-1] is None
    assert len(app.transports) == 2


async def test_an_app_that_cannot_publish_leaves_the_node_running(
    servers: PrivateServers, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    node = await running(Theirs(trouble=ValueError("a circle")), servers, database_url)
    try:
        transport = node.app_in_node.transport()
        answer = await transport.send(
            Request(
                method="POST",
                path="/v1/jobs",
                body=json.dumps({"kind": "noop"}).encode(),
                headers={"content-type": "application/json"},
                timeout_seconds=20,
            )
        )
        assert answer.status == 201
    finally:
        await node.drain()
    said = "".join(capsys.readouterr())  # whichever of the two the log goes to in this process
    assert "app_not_published" in said
    assert "ValueError: a circle" in said


async def test_a_plain_object_of_functions_needs_none_of_it(
    servers: PrivateServers, database_url: str
) -> None:
    node = await running({"double": lambda number: 2 * number}, servers, database_url)
    await node.drain()
