"""A Windlass that is up before a page is read, in a database of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.docs.follow import Reader, follow
from tests.docs.newcomer import Newcomer
from tests.docs.pages import steps
from tests.docs.readers import NOT_RUN
from tests.faults.nodes import SECRET_KEY, Nodes
from tests.ports import free_port
from tests.sdk.conftest import admin_key
from windlass.testing.servers import PrivateServers

Follow = Callable[[Reader], Awaitable[None]]


@pytest.fixture
async def followed(servers: PrivateServers, template_url: str, tmp_path: Path) -> Follow:
    """Follow a page."""

    async def with_node(reader: Reader) -> None:
        database_url = await servers.create_database(template_url)
        environ = {
            "WINDLASS_TOKEN": await admin_key(database_url),
            "WINDLASS_DATABASE_URL": database_url,
            "WINDLASS_REDIS_URL": servers.redis_of(database_url),
            "WINDLASS_SECRET_KEY": SECRET_KEY,
            "WINDLASS_EGRESS_ALLOW": "127.0.0.0/8",
            "DATABASE_URL": database_url,
            "SERVER_URL": servers.postgres.admin_url(),
        }
        async with Nodes(tmp_path, witness_path=tmp_path / "witness") as nodes:
            for name, text in files(reader).items():
                path = tmp_path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            node = await nodes.start(
                database_url,
                environ["WINDLASS_REDIS_URL"],
                roles="api,worker,leader",
                app=reader.app or "tests.faults.app:app",
                settings={
                    "WINDLASS_PORT": str(free_port()),
                    "PYTHONPATH": str(tmp_path),
                    "WINDLASS_NODE_NAME": "vm",
                    **reader.settings,
                },
            )
            environ |= {"WINDLASS_URL": node.url, "NODE_LOG": str(node.log_path)}
            await asyncio.to_thread(reads, reader, environ)
        await servers.drop_database(database_url)

    def reads(reader: Reader, environ: dict[str, str]) -> None:
        with Newcomer(tmp_path, environ) as newcomer:
            for name, text in reader.files.items():
                newcomer.write(name, text)
            follow(reader, newcomer, NOT_RUN.get(reader.page, {}))

    async def whichever(reader: Reader) -> None:
        if reader.node:
            await with_node(reader)
        else:
            await asyncio.to_thread(reads, reader, {})

    return whichever


def files(reader: Reader) -> dict[str, str]:
    """All that the page's reader will have saved: a node loads its App at its start."""
    saved = {step.file: step.text for step in steps(reader.page) if step.file is not None}
    return {**reader.files, **saved}
