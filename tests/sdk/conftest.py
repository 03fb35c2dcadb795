"""A real node with an API and the sample App, in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.peer import Peer, running_peer
from tests.faults.nodes import Nodes
from tests.ports import free_port
from tests.sdk import sample_app
from windlass.engine.identity.first import ensure_admin_key
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.client import Client
from windlass.sdk.http.http_transport import HttpTransport
from windlass.sdk.tasks.app import App
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    token: str
    database_url: str


@pytest.fixture(scope="session")
async def server(
    servers: PrivateServers, template_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Server]:
    """One for all tests that leave each other's jobs alone; its App is tests.sdk.sample_app."""
    database_url = await servers.create_database(template_url)
    token = await admin_key(database_url)
    folder: Path = tmp_path_factory.mktemp("sdk")
    async with Nodes(folder, witness_path=folder / "witness") as nodes:
        node = await nodes.start(
            database_url,
            servers.redis_of(database_url),
            roles="api,worker,leader",
            app="tests.sdk.sample_app:app",
            settings={"WINDLASS_PORT": str(free_port())},
        )
        yield Server(url=node.url, token=token, database_url=database_url)


async def admin_key(database_url: str) -> str:
    """Made before the node starts, which then has nothing to tell."""
    database = Database(database_url, application="windlass test")
    await database.open()
    try:
        made = await ensure_admin_key(database)
    finally:
        await database.close()
    assert made is not None
    return made


@pytest.fixture
async def async_client(server: Server) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(server.url, server.token) as client:
        yield client


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, server.token) as opened:
        yield opened


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A server that answers what a test tells it to."""
    with running_peer() as found:
        yield found


@pytest.fixture
async def sample(server: Server) -> AsyncIterator[App]:
    """The sample App as its users have it: in this process, over HTTP."""
    sample_app.app.connect(HttpTransport(server.url, server.token))
    yield sample_app.app
    await sample_app.app.client.close()
    sample_app.app.blocking.close()
    sample_app.app.connect(None)
