"""Locks for the length of a block, on a real node."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from uuid import uuid4

import pytest

import windlass
from tests.sdk.conftest import Server
from tests.sdk.http.cutting import cutting
from tests.until import until
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.client import Client


@pytest.fixture
def name() -> str:
    return f"deploy-{uuid4().hex[:8]}"


def test_a_lock_is_held_in_the_block_and_free_after_it(client: Client, name: str) -> None:
    lock = client.lock(name)
    assert lock.is_held is False
    with lock as same:
        assert same is lock
        lock.check()
        assert not lock.lost.is_set()
        [holder] = client.locks.get(name).holders
        assert holder.token == lock.token
        assert repr(lock) == f"<Lock {name} held token {lock.token}>"
    assert not lock.is_held
    assert not lock.lost.is_set()
    assert client.locks.get(name).holders == []
    first = lock.token
    with lock:  # it may be used again, and its token grows
        assert lock.token > first


async def test_asynchronous_code_has_the_same(async_client: AsyncClient, name: str) -> None:
    async with async_client.lock(name, ttl="10s") as lock:
        lock.check()
        [holder] = (await async_client.locks.get(name)).holders
        assert (holder.token, lock.is_held, lock.lost.is_set()) == (lock.token, True, False)
    assert (await async_client.locks.get(name)).held == 0
    with pytest.raises(windlass.LockLost):
        lock.check()


def test_an_exception_passes_and_the_lock_is_free(client: Client, name: str) -> None:
    with pytest.raises(ZeroDivisionError), client.lock(name):
        raise ZeroDivisionError
    assert client.locks.get(name).held == 0


def test_a_lock_that_is_held_is_refused_at_once_or_after_the_wait(
    client: Client, name: str
) -> None:
    with client.lock(name):
        with pytest.raises(windlass.LockHeld) as refused, client.lock(name, wait=0):
            pass
        assert not isinstance(refused.value, TimeoutError)
        with pytest.raises(TimeoutError, match=r"was not free within 0\.2 seconds") as late:
            client.lock(name, wait=0.2).__enter__()
    found = late.value
    assert isinstance(found, windlass.LockTimeout)
    assert isinstance(found, windlass.LockHeld)
    assert (found.name, found.seconds, len(found.holders)) == (name, 0.2, 1)
    assert client.locks.get(name).waiting == 0


async def test_who_waits_gets_it_when_it_is_free(async_client: AsyncClient, name: str) -> None:
    async with async_client.lock(name) as first:

        async def second() -> int:
            async with async_client.lock(name, ttl=1) as lock:
                return lock.token

        waiting = asyncio.create_task(second())
        await until(lambda: _waiting(async_client, name, 1), what="it waits")
    assert await waiting > first.token


async def test_so_many_as_its_capacity_hold_it_at_once(
    async_client: AsyncClient, name: str
) -> None:
    async with async_client.lock(name, capacity=2), async_client.lock(name, wait=0):
        with pytest.raises(windlass.LockHeld):
            await async_client.lock(name, wait=0).__aenter__()


async def test_it_is_renewed_for_as_long_as_the_block_takes(
    async_client: AsyncClient, name: str
) -> None:
    async with async_client.lock(name, ttl=0.9) as lock:
        begun = (await async_client.locks.get(name)).holders[0].expires_at
        assert begun is not None

        async def is_renewed_twice() -> bool:
            until_at = (await async_client.locks.get(name)).holders[0].expires_at
            return until_at is not None and (until_at - begun).total_seconds() > 0.9

        await until(is_renewed_twice, what="it outlives its first time")
        assert lock.is_held


async def test_a_wait_that_outlasts_the_ttl_is_believed_from_its_renewal_on(
    async_client: AsyncClient, name: str
) -> None:
    async with async_client.lock(name, ttl=5):
        late = async_client.lock(name, ttl=0.6)
        entering = asyncio.create_task(late.__aenter__())
        await until(lambda: _waiting(async_client, name, 1), what="it waits")
        await asyncio.sleep(0.7)  # longer than its own ttl
    await entering
    assert late.is_held
    await late.__aexit__(None, None, None)


def test_a_lock_that_somebody_took_away_is_lost(client: Client, name: str) -> None:
    lock = client.lock(name, ttl=0.9)
    lock.__enter__()
    client.locks.release(name, lock.token)
    assert lock.lost.wait(30)
    assert not lock.is_held
    with pytest.raises(windlass.LockLost):
        lock.check()
    with pytest.raises(windlass.LockLost, match="stop what it guards"):
        lock.__exit__(None, None, None)
    assert "lost" in repr(lock)


async def test_an_exception_is_not_hidden_by_the_loss(async_client: AsyncClient, name: str) -> None:
    async def work() -> None:
        async with async_client.lock(name, ttl=0.9) as lock:
            await async_client.locks.release(name, lock.token)
            assert await lock.lost.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        await work()
    assert raised.value.__notes__ == [f"windlass: meanwhile lock {name!r} was lost"]


async def test_a_lock_is_lost_when_the_server_is_away_for_its_time(
    server: Server, name: str
) -> None:
    async with cutting(server.url) as between, AsyncClient(between.url, server.token) as client:
        lock = await client.lock(name, ttl=0.9).__aenter__()
        between.swallow = 1_000_000
        between.cut_all()
        assert await lock.lost.wait()
        assert not lock.is_held
        with pytest.raises(windlass.LockLost):
            await lock.__aexit__(None, None, None)


async def test_a_short_absence_of_the_server_loses_nothing(server: Server, name: str) -> None:
    async with (
        cutting(server.url) as between,
        AsyncClient(between.url, server.token) as client,
        client.lock(name, ttl=3) as lock,
    ):
        between.swallow = 2
        between.cut_all()
        await until(lambda: between.swallowed == 2, what="renewals got lost")
        lock.check()


async def test_a_cancelled_wait_leaves_the_wait_list(async_client: AsyncClient, name: str) -> None:
    async with async_client.lock(name):
        waiting = asyncio.create_task(async_client.lock(name).__aenter__())
        await until(lambda: _waiting(async_client, name, 1), what="it waits")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await async_client.locks.get(name)).waiting == 0


# Whoever was begun in the background is deaf to Ctrl-C, and so are those whom it begins.
SCRIPT = """
import signal, sys, windlass
signal.signal(signal.SIGINT, signal.default_int_handler)
client = windlass.Client(sys.argv[1], sys.argv[2])
print("asked", flush=True)
with client.lock(sys.argv[3], ttl=60):
    print("held", flush=True)
    sys.stdin.readline()
"""


def script(server: Server, name: str, code: str = SCRIPT) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, server.url, server.token, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def test_ctrl_c_leaves_the_wait_list(
    server: Server, async_client: AsyncClient, name: str
) -> None:
    async with async_client.lock(name):
        child = script(server, name)
        await until(lambda: _waiting(async_client, name, 1), what="it waits")
        child.send_signal(signal.SIGINT)
        _, said = await asyncio.to_thread(child.communicate, timeout=30)
        assert "KeyboardInterrupt" in said
        assert (await async_client.locks.get(name)).waiting == 0


async def test_ctrl_c_in_the_block_frees_the_lock(
    server: Server, async_client: AsyncClient, name: str
) -> None:
    child = script(server, name)
    await until(lambda: _held(async_client, name), what="it holds it")
    child.send_signal(signal.SIGINT)
    await asyncio.to_thread(child.communicate, timeout=30)
    assert not await _held(async_client, name)


FROZEN = """
import sys, windlass
client = windlass.Client(sys.argv[1], sys.argv[2])
try:
    with client.lock(sys.argv[3], ttl=1) as lock:
        print("held", lock.is_held, flush=True)
        sys.stdin.readline()
        print("still", lock.is_held, lock.lost.is_set(), flush=True)
except windlass.LockLost as lost:
    print("lost", lost.token == lock.token, flush=True)
"""


async def test_a_process_that_was_stopped_does_not_believe_it_holds_it(
    server: Server, async_client: AsyncClient, name: str
) -> None:
    child = script(server, name, FROZEN)
    assert child.stdout is not None
    assert await asyncio.to_thread(child.stdout.readline) == "held True\n"
    child.send_signal(signal.SIGSTOP)
    async with async_client.lock(name) as after:  # as soon as its time is over
        after.check()
        child.send_signal(signal.SIGCONT)
        said, _ = await asyncio.to_thread(child.communicate, "\n", timeout=30)
    assert said == "still False True\nlost True\n"


def test_a_forked_child_does_not_hold_what_its_parent_holds(client: Client, name: str) -> None:
    with client.lock(name) as lock:
        readable, writable = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writable, f"{lock.is_held} {lock.lost.is_set()}".encode())
            os._exit(0)
        os.close(writable)
        with os.fdopen(readable) as pipe:
            assert pipe.read() == "False True"
        os.waitpid(child, 0)
        lock.check()
        assert client.locks.get(name).held == 1


def test_many_threads_take_turns(client: Client, name: str) -> None:
    inside, most, tokens = [0], [0], []

    def work() -> None:
        with client.lock(name) as lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            tokens.append(lock.token)
            inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most[0], len(set(tokens))) == (1, 8)
    assert tokens == sorted(tokens)


async def test_a_lock_in_use_is_not_entered_again(async_client: AsyncClient, name: str) -> None:
    lock = async_client.lock(name)
    with pytest.raises(RuntimeError, match="was not taken yet"):
        _ = lock.token
    async with lock:
        with pytest.raises(RuntimeError, match="is in use; make another"):
            await lock.__aenter__()


def test_a_duration_that_is_none_is_refused(client: Client, name: str) -> None:
    with pytest.raises(windlass.InvalidInput, match="/ttl"):
        client.lock(name, ttl="soon")
    with pytest.raises(windlass.InvalidInput, match="at least"), client.lock(name, ttl=0.1):
        pass


async def _waiting(client: AsyncClient, name: str, many: int) -> bool:
    return (await client.locks.get(name)).waiting == many


async def _held(client: AsyncClient, name: str) -> bool:
    try:
        return (await client.locks.get(name)).held > 0
    except windlass.NotFound:
        return False
