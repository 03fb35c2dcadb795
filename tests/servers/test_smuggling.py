"""Behind a proxy that keeps its connections, a stranger touches nobody else's request."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.api.http.raw import SURE_SECONDS, exchange, statuses
from tests.api.served import Served, serve
from tests.ports import free_port
from windlass.config import Settings
from windlass.testing.servers import PrivateServers

# Debian keeps them where a normal user's PATH does not look.
_PATH = os.pathsep.join((os.environ["PATH"], "/usr/sbin"))
# One connection to the node for everybody, as websockets need it: Upgrade is passed on.
NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream node {{ server {node}; keepalive 1; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://node; proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection;
    }}
  }}
}}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    http-reuse always
frontend door
    bind 127.0.0.1:{port}
    default_backend node
backend node
    server one {node} maxconn 1
"""


@asynccontextmanager
async def proxy(name: str, node_url: str, folder: Path) -> AsyncIterator[str]:
    program = shutil.which(name, path=_PATH)
    assert program is not None, f"install {name}: requirements/setup.sh says how"
    port, config = free_port(), folder / "proxy.conf"
    written = (NGINX if name == "nginx" else HAPROXY).format(
        folder=folder, port=port, node=urlsplit(node_url).netloc
    )
    config.write_text(written)
    options = ["-c", str(config)] if name == "nginx" else ["-db", "-f", str(config)]
    process = await asyncio.create_subprocess_exec(
        program, *options, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await _listens(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _listens(port: int) -> None:
    async with asyncio.timeout(SURE_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return


@pytest.fixture
async def api(servers: PrivateServers, database_url: str) -> AsyncIterator[Served]:
    async with serve(database_url, servers.redis_of(database_url), Settings()) as served:
        yield served


def _hidden(ending: bytes) -> bytes:
    """A request without a key, whose last line swallows the first one of whoever comes next."""
    return (
        b"POST /v1/queues/default/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
        + ending
    )


def _upgrade(hidden: bytes) -> bytes:
    # Empty lines are skipped before a request: so much that it cannot come in one piece, and a
    # path whose answer takes long enough for the proxy to have sent it all.
    body = b"\r\n" * 200_000 + hidden
    return (
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nUpgrade: x\r\nConnection: Upgrade\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )


def _chunked_too(hidden: bytes) -> bytes:
    return (
        b"POST /health/live HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Length: %d\r\n\r\n0\r\n\r\n%s" % (len(hidden) + 5, hidden)
    )


def _other_coding(hidden: bytes) -> bytes:
    return (
        b"POST /health/live HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(hidden), hidden)
    )


@pytest.mark.parametrize("name", ["nginx", "haproxy"])
@pytest.mark.parametrize("wrap", [_upgrade, _chunked_too, _other_coding])
async def test_a_victims_key_does_nothing_that_the_victim_did_not_ask_for(
    api: Served, tmp_path: Path, name: str, wrap: Callable[[bytes], bytes]
) -> None:
    await api.submit()
    async with proxy(name, api.url, tmp_path) as url:
        for _ in range(5):
            stranger = asyncio.create_task(exchange(url, wrap(_hidden(b"X: "))))
            await _settled(stranger)
            said = await exchange(
                url,
                b"GET /v1/queues/default HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                b"Authorization: Bearer " + api.key.encode() + b"\r\n\r\n",
            )
            assert statuses(said) == [200], said
            assert b'"is_paused":false' in said.replace(b" ", b"")
            stranger.cancel()
            await asyncio.gather(stranger, return_exceptions=True)
    assert (await api.get("/v1/queues/default"))["is_paused"] is False


async def _settled(stranger: Awaitable[bytes]) -> None:
    """Its answer has come, or it waits for what no one will send."""
    await asyncio.wait([asyncio.ensure_future(stranger)], timeout=0.3)
