"""The embedded PostgreSQL alone: what it finds on disk, and what it may be asked for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.embedded.owners import PATIENCE_SECONDS, are_gone, spawned
from windlass.embedded import processes
from windlass.embedded.binaries import postgres_bin_dir
from windlass.embedded.errors import DataNotUsable, ServerFailed
from windlass.embedded.postgres import EmbeddedPostgres

HASTY = {"fsync": "off"}


@pytest.fixture
def data(data: Path) -> Path:
    data.mkdir()
    return data


@contextmanager
def stranger(home: Path) -> Iterator[int]:
    """The number of a living process that has nothing to do with us.

    It runs as the server's account: PostgreSQL ignores the numbers of other users' processes.
    """
    with subprocess.Popen(["sleep", "600"], user=home.stat().st_uid) as process:
        try:
            yield process.pid
        finally:
            process.kill()


async def fetch(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_pid_files_that_name_a_stranger_are_forgotten(data: Path) -> None:
    server = EmbeddedPostgres(data, settings=HASTY)
    await server.start()
    pid_file, socket_lock = (
        server.home / "cluster" / "postmaster.pid",
        server.home / ".s.PGSQL.5432.lock",
    )
    stale = [path.read_text() for path in (pid_file, socket_lock)]
    old_pid = str(server.pid)
    await server.stop()
    with stranger(server.home) as other:
        for path, text in zip((pid_file, socket_lock), stale, strict=True):
            path.write_text(text.replace(old_pid, str(other), 1))
        try:
            assert await fetch(await server.start(), "SELECT 1") == 1
            assert not are_gone([other]), "a stranger is left alone"
        finally:
            await server.stop()


@pytest.mark.parametrize("text", ["", "not a number\n"])
async def test_a_pid_file_that_says_nothing_is_forgotten(data: Path, text: str) -> None:
    server = EmbeddedPostgres(data, settings=HASTY)
    await server.start()
    await server.stop()
    (server.home / "cluster" / "postmaster.pid").write_text(text)
    await server.start()
    await server.stop()


async def test_a_postgres_that_outlived_its_owner_is_ended_first(data: Path) -> None:
    server = EmbeddedPostgres(data, settings=HASTY)
    await fetch(await server.start(), "CREATE TABLE kept AS SELECT 42 AS answer")
    await server.stop()
    with spawned(await server.prepare()) as orphan:
        while not await server.answers():
            assert orphan.poll() is None
        try:
            assert await fetch(await server.start(), "SELECT answer FROM kept") == 42
            orphan.wait(PATIENCE_SECONDS)
            assert "not properly shut down" not in server.log_path.read_text()
        finally:
            await server.stop()


async def test_backends_of_a_killed_postmaster_are_ended_first(data: Path) -> None:
    server = EmbeddedPostgres(data, settings=HASTY)
    url = await server.start()
    busy = await asyncpg.connect(url)
    backend = processes.find(busy.get_server_pid())
    assert backend is not None
    backend.send(signal.SIGSTOP)  # it cannot notice that its parent has gone
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    await server.wait()
    try:
        assert await fetch(await server.start(), "SELECT 1") == 1
        assert not backend.is_alive()
    finally:
        backend.send(signal.SIGKILL)
        busy.terminate()
        await server.stop()


async def test_what_was_committed_survives_a_crash_of_the_server(data: Path) -> None:
    server = EmbeddedPostgres(data)
    await fetch(await server.start(), "CREATE TABLE kept AS SELECT 42 AS answer")
    await server.kill()
    assert server.pid is None
    try:
        assert await fetch(await server.start(), "SELECT answer FROM kept") == 42
    finally:
        await server.stop()


async def test_a_frozen_server_can_be_stopped(data: Path) -> None:
    server = EmbeddedPostgres(data, settings=HASTY)
    await server.start()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    await server.stop()
    assert server.pid is None


async def test_settings_are_laid_over_the_defaults(data: Path) -> None:
    server = EmbeddedPostgres(data, settings={**HASTY, "work_mem": "7MB", "max_connections": "17"})
    url = await server.start()
    try:
        assert await fetch(url, "SHOW work_mem") == "7MB"
        assert await fetch(url, "SHOW max_connections") == "17"
        assert await fetch(url, "SHOW autovacuum_naptime") == "5s"
    finally:
        await server.stop()


async def test_another_postgres_can_be_used(data: Path) -> None:
    sixteen = postgres_bin_dir().parents[1] / "pginstall" / "bin"
    server = EmbeddedPostgres(data, settings=HASTY, bin_dir=sixteen)
    try:
        assert str(await fetch(await server.start(), "SHOW server_version")).startswith("16.")
    finally:
        await server.stop()
    again = EmbeddedPostgres(data, settings=HASTY, bin_dir=sixteen)
    await again.start()
    await again.stop()
    with pytest.raises(DataNotUsable, match="was made by PostgreSQL 16"):
        await EmbeddedPostgres(data, settings=HASTY).start()


async def test_it_listens_on_tcp_when_asked_to(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = EmbeddedPostgres(data, settings=HASTY, listen=address)
    url = await server.start()
    try:
        assert url == f"postgresql://windlass:{server.password.known()}@{address}/windlass"
        assert await fetch(url, "SELECT host(inet_server_addr())") == "127.0.0.1"
    finally:
        await server.stop()


async def test_a_busy_port_is_a_clear_error(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        with pytest.raises(ServerFailed, match="Address already in use"):
            await EmbeddedPostgres(data, settings=HASTY, listen=address).start()


async def test_variables_meant_for_other_servers_do_no_harm(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGHOST", "db.example.org")
    server = EmbeddedPostgres(data, settings=HASTY)
    try:
        assert await fetch(await server.start(), "SELECT 1") == 1
    finally:
        await server.stop()
