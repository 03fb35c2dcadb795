"""The embedded Valkey alone."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.embedded.owners import PATIENCE_SECONDS, spawned
from tests.until import until
from windlass.embedded.errors import ServerFailed
from windlass.embedded.valkey import EmbeddedValkey


@pytest.fixture
def data(data: Path) -> Path:
    data.mkdir()
    return data


def user_of(pid: int | None) -> int | None:
    return Path(f"/proc/{pid}").stat().st_uid if pid else None


def mute_program(folder: Path) -> Path:
    """Something that runs and never answers."""
    program = folder / "mute"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    return program


async def test_it_keeps_nothing_on_disk(data: Path) -> None:
    server = EmbeddedValkey(data)
    async with Redis.from_url(await server.start()) as client:
        await client.set("key", "value")
    await server.stop()
    assert list(server.home.iterdir()) == []
    async with Redis.from_url(await server.start()) as client:
        assert await client.dbsize() == 0
    await server.stop()


async def test_when_memory_is_full_only_keys_with_a_lifetime_are_evicted(data: Path) -> None:
    server = EmbeddedValkey(data, settings={"maxmemory": "4mb"})
    async with Redis.from_url(await server.start()) as client:
        await client.set("mark", "kept")
        for number in range(1_000):
            await client.set(f"cache:{number}", "x" * 10_000, ex=600)
        assert await client.get("mark") == b"kept"
        assert 0 < await client.dbsize() < 1_000
    await server.stop()


async def test_settings_are_laid_over_the_defaults(data: Path) -> None:
    limit = "normal 1mb 512kb 10"
    server = EmbeddedValkey(data, settings={"client-output-buffer-limit": limit})
    async with Redis.from_url(await server.start()) as client:
        found = await client.config_get("client-output-buffer-limit", "maxmemory", "save")
    await server.stop()
    assert "normal 1048576 524288 10" in str(found["client-output-buffer-limit"])
    assert found["maxmemory"] == str(256 * 1024 * 1024)
    assert found["save"] == ""


async def test_a_valkey_that_outlived_its_owner_is_ended_first_even_when_frozen(
    data: Path,
) -> None:
    server = EmbeddedValkey(data)
    with spawned(await server.prepare()) as orphan:
        while not await server.answers():
            assert orphan.poll() is None
        orphan.send_signal(signal.SIGSTOP)
        async with Redis.from_url(await server.start()) as client:
            assert (await client.info("server"))["process_id"] == server.pid
        assert orphan.wait(PATIENCE_SECONDS) == 0
    await server.stop()


async def test_it_listens_on_tcp_when_asked_to(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = EmbeddedValkey(data, listen=address)
    url = await server.start()
    assert url == f"redis://:{server.password.known()}@{address}"
    async with Redis.from_url(url) as client:
        assert await client.ping()
    await server.stop()


async def test_a_busy_port_is_a_clear_error(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        with pytest.raises(ServerFailed, match="Address already in use"):
            await EmbeddedValkey(data, listen=address).start()


async def test_an_address_that_is_none_is_refused(data: Path) -> None:
    for text in ("6379", "localhost:", "localhost:http", "localhost:70000"):
        with pytest.raises(ValueError, match="write it as host:port"):
            EmbeddedValkey(data, listen=text)


class Impatient(EmbeddedValkey):
    START_SECONDS_MAX = 0.2


async def test_a_server_that_never_answers_is_given_up(data: Path) -> None:
    server = Impatient(data, program=mute_program(data))
    with pytest.raises(ServerFailed, match=r"Valkey did not answer within 0\.2 s"):
        await server.start()
    assert server.pid is None


async def test_a_cancelled_start_leaves_no_process(data: Path) -> None:
    server = EmbeddedValkey(data, program=mute_program(data))
    start = asyncio.create_task(server.start())
    await until(lambda: server.pid is not None)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert server.pid is None


async def test_it_does_not_run_as_root(data: Path) -> None:
    server = EmbeddedValkey(data)
    await server.start()
    assert server.pid is not None
    assert user_of(server.pid) not in {None, 0}
    await server.stop()
