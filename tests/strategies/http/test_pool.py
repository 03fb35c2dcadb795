"""Connections to receivers: what is measured of them, and who gets one again."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from tests.strategies.http.canary import perched
from tests.strategies.http.certificate import self_signed
from tests.strategies.http.pooled import (
    HOST,
    REQUEST,
    files_before,
    measured,
    open_files,
    opened,
    take,
)
from tests.strategies.python.loops import on_both_loops
from tests.until import until
from windlass.limits import IDLE_CONNECTIONS_MAX, IDLE_SECONDS_MAX
from windlass.strategies.http.net.egress import EgressRefused
from windlass.strategies.http.net.pool import Timings

# -- what is measured ----------------------------------------------------------------------------


@on_both_loops
async def test_a_new_connection_is_measured_step_by_step() -> None:
    async with perched() as receiver, opened() as pool:
        timings = await measured(pool, f"http://{HOST}:{receiver.port}/")

    assert timings.dns_ms is not None
    assert timings.connect_ms is not None
    assert 0 < timings.dns_ms < 5_000
    assert 0 < timings.connect_ms < 5_000
    assert timings.tls_ms is None
    assert timings.address == "127.0.0.1"
    assert not timings.is_reused


@on_both_loops
async def test_a_literal_address_needs_no_lookup() -> None:
    async with perched() as receiver, opened() as pool:
        timings = await measured(pool, f"http://127.0.0.1:{receiver.port}/")

    assert timings.dns_ms is None
    assert timings.connect_ms is not None


@on_both_loops
async def test_tls_is_measured_and_the_name_is_what_the_certificate_is_for(tmp_path: Path) -> None:
    at_server, trusting = self_signed(tmp_path, HOST)
    async with perched(tls=at_server) as receiver, opened() as pool:
        timings = await measured(pool, f"https://{HOST}:{receiver.port}/", trusting)
        assert timings.connect_ms is not None
        assert timings.tls_ms is not None
        assert timings.tls_ms > 0
        assert timings.address == "127.0.0.1"

        timings = await measured(pool, f"https://{HOST}:{receiver.port}/", trusting)
        assert timings.is_reused
        assert timings.tls_ms is None

        timings = await measured(pool, f"https://{HOST}.:{receiver.port}/", trusting)
        assert timings.is_reused, "the dot of the root makes no other host of it"

        with pytest.raises(ssl.SSLCertVerificationError):
            await measured(pool, f"https://127.0.0.1:{receiver.port}/", trusting)


@on_both_loops
async def test_a_certificate_nobody_vouches_for_ends_after_the_connect(tmp_path: Path) -> None:
    at_server, _ = self_signed(tmp_path, HOST)
    timings = Timings()
    async with perched(tls=at_server) as receiver, opened() as pool:
        with pytest.raises(ssl.SSLCertVerificationError):
            await take(pool, f"https://{HOST}:{receiver.port}/", timings)
        assert receiver.requests == []

    assert timings.connect_ms is not None
    assert timings.tls_ms is None


@on_both_loops
async def test_a_connection_that_fails_leaves_what_is_known() -> None:
    async with perched() as gone:
        port = gone.port
    failed, refused = Timings(), Timings()
    async with opened("127.0.0.1") as pool:
        with pytest.raises(ConnectionRefusedError):
            await take(pool, f"http://{HOST}:{port}/", failed)
        with pytest.raises(EgressRefused):
            await take(pool, f"http://127.0.0.9:{port}/", refused)

    assert failed.dns_ms is not None
    assert failed.connect_ms is None
    assert failed.address == "127.0.0.1"
    assert not failed.is_reused
    assert refused.dns_ms is refused.connect_ms is None
    assert refused.address == "127.0.0.9"


# -- who gets one again --------------------------------------------------------------------------


@on_both_loops
async def test_the_second_request_takes_the_same_connection_and_says_so() -> None:
    async with perched() as receiver, opened() as pool:
        await measured(pool, f"http://{HOST}:{receiver.port}/")
        timings = await measured(pool, f"http://{HOST}:{receiver.port}/")

        assert receiver.connections == 1
        assert len(receiver.requests) == 2
    assert timings.is_reused
    assert timings.address == "127.0.0.1"
    assert timings.dns_ms is timings.connect_ms is timings.tls_ms is None


@on_both_loops
async def test_requests_side_by_side_are_measured_apart() -> None:
    async with perched() as receiver, opened() as pool:
        url = f"http://{HOST}:{receiver.port}/"
        await measured(pool, url)
        told = await asyncio.gather(*(measured(pool, url) for _ in range(5)))

        assert receiver.connections == 5
    assert [timings.is_reused for timings in told].count(True) == 1
    assert all(timings.is_reused == (timings.connect_ms is None) for timings in told)


@on_both_loops
async def test_a_connection_serves_one_name_one_port_and_one_certificate(tmp_path: Path) -> None:
    at_server, trusting = self_signed(tmp_path, HOST)
    also = ssl.create_default_context(cafile=str(tmp_path / "receiver.pem"))
    async with perched(tls=at_server) as receiver, opened() as pool:
        url = f"https://{HOST}:{receiver.port}/"
        await measured(pool, url, trusting)
        assert not (await measured(pool, url, also)).is_reused
        with pytest.raises(ssl.SSLCertVerificationError):
            await measured(pool, f"https://other.example:{receiver.port}/", trusting)
        assert (await measured(pool, url, trusting)).is_reused


@on_both_loops
async def test_a_connection_the_receiver_has_left_is_not_taken() -> None:
    async with perched() as receiver, opened() as pool:
        url = f"http://{HOST}:{receiver.port}/"
        wire = await take(pool, url)
        await wire.ask(REQUEST, is_head=False)
        await wire.body()
        pool.give(wire)
        assert wire.is_reusable
        receiver.hang_up()
        await until(lambda: not wire.is_reusable)

        assert not (await measured(pool, url)).is_reused


@on_both_loops
async def test_a_connection_that_was_not_used_to_its_end_is_closed() -> None:
    async with perched() as receiver, opened() as pool:
        url = f"http://{HOST}:{receiver.port}/"
        pool.give(await take(pool, url))  # not used at all
        receiver.answer = b""
        wire = await take(pool, url)
        asking = asyncio.create_task(wire.ask(REQUEST, is_head=False))
        await until(lambda: len(receiver.requests) == 1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        pool.give(wire)
        receiver.answer = b"HTTP/1.1 204 No\r\n\r\n"

        assert not (await measured(pool, url)).is_reused
        assert receiver.connections == 3


@on_both_loops
async def test_a_connection_is_given_back_once() -> None:
    async with perched() as receiver, opened() as pool:
        url = f"http://{HOST}:{receiver.port}/"
        wire = await take(pool, url)
        pool.give(wire)
        with pytest.raises(KeyError):
            pool.give(wire)


@on_both_loops
async def test_an_idle_connection_is_not_taken_when_it_is_old_and_goes_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("windlass.strategies.http.net.pool.IDLE_SECONDS_MAX", 0.05)
    async with perched() as receiver, opened() as pool:
        url = f"http://{HOST}:{receiver.port}/"
        before = files_before()
        await measured(pool, url)
        assert open_files() == before + 2, "ours and the receiver's"
        await until(lambda: open_files() <= before)
        assert not (await measured(pool, url)).is_reused

    assert IDLE_SECONDS_MAX < 5, "common servers hang up after five seconds"


@on_both_loops
async def test_only_so_many_lie_idle_and_the_oldest_goes_first() -> None:
    async with perched() as receiver, opened() as pool:
        pool.resize(2)
        names = ["a.example", "b.example", "c.example"]
        for name in names:
            await measured(pool, f"http://{name}:{receiver.port}/")
        told = [
            (await measured(pool, f"http://{name}:{receiver.port}/")).is_reused
            for name in reversed(names)
        ]
    assert told == [True, True, False]
    assert IDLE_CONNECTIONS_MAX > 2


@on_both_loops
async def test_a_smaller_pool_closes_idle_connections_and_no_other() -> None:
    async with perched() as receiver, opened() as pool:
        used = await take(pool, f"http://a.example:{receiver.port}/")
        for name in ("b.example", "c.example"):
            await measured(pool, f"http://{name}:{receiver.port}/")
        pool.resize(1)
        # The exchange under way goes on as if nothing had happened.
        await used.ask(REQUEST, is_head=False)
        assert used.status == 200
        await used.body()
        told = [
            (await measured(pool, f"http://{name}:{receiver.port}/")).is_reused
            for name in ("c.example", "b.example")
        ]
        pool.give(used)
    assert told == [True, False]
