"""Looking names up: bounded in time, in threads and in number, and judged."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from windlass import limits
from windlass.strategies.http.net.egress import Egress, EgressRefused
from windlass.strategies.http.net.resolver import LookupFailed, LookupTimedOut, Resolver

PUBLIC = "1.1.1.1"


class NameServer:
    """Answers at once, except for names that begin with `hung`: those when it is released."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Callable[[str], list[tuple[Any, ...]]] = lambda host: [(PUBLIC, 0)]
        self.is_asked = threading.Event()
        self.released = threading.Event()

    def lookup(self, host: str, port: int, **hints: Any) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        self.is_asked.set()
        if host.startswith("hung"):
            assert self.released.wait(30)
        return [(socket.AF_INET, 1, 6, "", sockaddr) for sockaddr in self.answer(host)]


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    made = NameServer()
    yield made
    made.released.set()


@pytest.fixture
async def resolver(server: NameServer) -> AsyncIterator[Resolver]:
    made = Resolver(Egress(), server.lookup, seconds_max=30, threads_max=2)
    yield made
    await made.close()


@pytest.fixture
async def impatient(server: NameServer) -> AsyncIterator[Resolver]:
    made = Resolver(Egress(), server.lookup, seconds_max=0.2, threads_max=2)
    yield made
    await made.close()


async def addresses(resolver: Resolver, host: str) -> list[str]:
    async with asyncio.timeout(10):
        return [address for *_, (address, _) in await resolver.resolve(host, 443)]


async def test_an_answer_has_the_port_and_family_of_every_address(
    resolver: Resolver, server: NameServer
) -> None:
    server.answer = lambda host: [(PUBLIC, 0), ("2606:4700::1", 0, 0, 0), (PUBLIC, 0)]

    found = await resolver.resolve("shop.example", 443)

    assert [(*where, family) for family, *_, where in found] == [
        (PUBLIC, 443, socket.AF_INET),
        ("2606:4700::1", 443, socket.AF_INET6),
    ]


async def test_the_system_is_asked_by_default() -> None:
    resolver = Resolver(Egress(["localhost"]))

    assert set(await addresses(resolver, "localhost")) <= {"127.0.0.1", "::1"}
    await resolver.close()


async def test_fifty_callers_at_once_make_one_lookup(
    resolver: Resolver, server: NameServer
) -> None:
    found = await asyncio.gather(*(addresses(resolver, "shop.example") for _ in range(50)))

    assert found == [[PUBLIC]] * 50
    assert server.asked == ["shop.example"]


async def test_an_answer_is_kept_and_then_asked_for_again(server: NameServer) -> None:
    for kept_seconds, lookups in (60.0, 1), (0.0, 3):
        server.asked.clear()
        resolver = Resolver(Egress(), server.lookup, kept_seconds=kept_seconds)
        for _ in range(3):
            assert await addresses(resolver, "shop.example") == [PUBLIC]
        assert len(server.asked) == lookups
        await resolver.close()


async def test_only_so_many_answers_are_kept(
    resolver: Resolver, server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DNS_NAMES_KEPT_MAX", 2)

    for host in ("a.example", "b.example", "c.example", "c.example", "b.example", "a.example"):
        await addresses(resolver, host)
    assert server.asked == ["a.example", "b.example", "c.example", "a.example"]


async def test_a_name_that_is_not_there_says_so_and_is_not_asked_for_again_at_once(
    resolver: Resolver, server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DNS_FAILURE_KEPT_SECONDS", 60.0)

    def missing(host: str) -> list[tuple[Any, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    server.answer = missing
    for _ in range(2):
        with pytest.raises(LookupFailed, match=r"shop\.example: Name or service not known"):
            await addresses(resolver, "shop.example")
    assert server.asked == ["shop.example"]


@pytest.mark.parametrize("host", ["a..example", "a" * 64 + ".example"])
async def test_a_name_that_the_system_cannot_take_is_a_failed_lookup(host: str) -> None:
    resolver = Resolver(Egress())

    with pytest.raises(LookupFailed, match="Unicode"):
        await addresses(resolver, host)
    await resolver.close()


@pytest.mark.parametrize("mark", ["\0", " ", "%00", "\n", "/", "é"])
async def test_a_name_that_the_system_would_read_in_part_is_not_asked_for(
    server: NameServer, mark: str
) -> None:
    resolver = Resolver(Egress(["*.internal"]), server.lookup)

    with pytest.raises(LookupFailed, match="a name has letters"):
        await addresses(resolver, f"127.0.0.1{mark}.internal")
    assert server.asked == []
    await resolver.close()


async def test_no_answer_and_too_many_answers_are_failures(
    resolver: Resolver, server: NameServer
) -> None:
    server.answer = lambda host: []
    with pytest.raises(LookupFailed, match="empty"):
        await addresses(resolver, "none.example")

    server.answer = lambda host: [(f"1.1.1.{n}", 0) for n in range(limits.DNS_ANSWERS_MAX + 1)]
    with pytest.raises(LookupFailed, match="at most 64"):
        await addresses(resolver, "many.example")


async def test_one_forbidden_answer_refuses_them_all(
    resolver: Resolver, server: NameServer
) -> None:
    for sockaddr in ("10.0.0.1", 0), ("fe80::1", 0, 0, 2), ("2606:4700::1", 0, 0, 2):
        server.answer = lambda host, bad=sockaddr: [(PUBLIC, 0), bad, (PUBLIC, 0)]  # type: ignore[misc]
        with pytest.raises(EgressRefused):
            await addresses(resolver, f"{len(server.asked)}.example")


async def test_where_some_answers_were_opened_by_hand_these_alone_are_used(
    server: NameServer,
) -> None:
    server.answer = lambda host: [("::1", 0, 0, 0), (PUBLIC, 0), ("127.0.0.1", 0)]

    for allow, used in (
        (["127.0.0.0/8"], ["127.0.0.1"]),
        (["::1", "127.0.0.1"], ["::1", "127.0.0.1"]),
        ([PUBLIC], [PUBLIC]),
        (["localhost"], ["::1", PUBLIC, "127.0.0.1"]),
    ):
        resolver = Resolver(Egress(allow), server.lookup)
        assert await addresses(resolver, "localhost") == used
        await resolver.close()

    resolver = Resolver(Egress(["10.0.0.0/8"]), server.lookup)
    with pytest.raises(EgressRefused):
        await addresses(resolver, "localhost")
    await resolver.close()


async def test_a_lookup_that_hangs_ends_at_the_deadline_and_nobody_waits_for_it_again(
    impatient: Resolver, server: NameServer
) -> None:
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    with pytest.raises(LookupTimedOut, match=r"hung\.example: .* within 0\.2 s") as caught:
        await addresses(impatient, "hung.example")
    assert 0.15 <= loop.time() - began_at < 10
    assert caught.value.after_seconds == 0.2

    began_at = loop.time()
    for _ in range(100):
        with pytest.raises(LookupTimedOut):
            await addresses(impatient, "hung.example")
    assert loop.time() - began_at < 10, "a hundred deadlines are twenty seconds"
    assert server.asked == ["hung.example"]


async def test_an_answer_that_comes_late_serves_the_next_caller(
    impatient: Resolver, server: NameServer
) -> None:
    with pytest.raises(LookupTimedOut):
        await addresses(impatient, "hung.example")
    server.released.set()

    async with asyncio.timeout(10):
        while True:
            try:
                assert await addresses(impatient, "hung.example") == [PUBLIC]
                break
            except LookupTimedOut:
                await asyncio.sleep(0.01)
    assert server.asked == ["hung.example"]


async def test_a_hung_name_does_not_stop_other_names(
    resolver: Resolver, server: NameServer
) -> None:
    hung = asyncio.create_task(addresses(resolver, "hung.example"))

    found = [await addresses(resolver, f"{n}.example") for n in range(20)]

    assert found == [[PUBLIC]] * 20
    assert not hung.done()
    server.released.set()
    assert await hung == [PUBLIC]


async def test_when_every_thread_hangs_the_error_names_what_is_in_the_way(
    impatient: Resolver, server: NameServer
) -> None:
    hung = [asyncio.create_task(addresses(impatient, f"hung{n}.example")) for n in range(2)]
    await asyncio.to_thread(server.is_asked.wait, 10)
    with pytest.raises(LookupTimedOut, match=r"all 2 threads .* hung0\.example, hung1\.example"):
        await addresses(impatient, "shop.example")
    await asyncio.gather(*hung, return_exceptions=True)
    assert sorted(server.asked) == ["hung0.example", "hung1.example"]

    server.released.set()
    async with asyncio.timeout(10):
        while True:
            try:
                assert await addresses(impatient, "shop.example") == [PUBLIC]
                break
            except LookupFailed:
                await asyncio.sleep(0.01)


async def test_beyond_so_many_names_under_way_a_further_one_is_refused_at_once(
    server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DNS_NAMES_MAX", 3)
    resolver = Resolver(Egress(), server.lookup, seconds_max=60, threads_max=1)
    waiting = [asyncio.create_task(addresses(resolver, f"hung{n}.example")) for n in range(3)]
    await asyncio.to_thread(server.is_asked.wait, 10)

    with pytest.raises(LookupFailed, match="3 other names"):
        await addresses(resolver, "shop.example")

    server.released.set()
    assert await asyncio.gather(*waiting) == [[PUBLIC]] * 3
    await resolver.close()


async def test_a_caller_that_is_cancelled_leaves_the_others_their_answer(
    server: NameServer,
) -> None:
    resolver = Resolver(Egress(), server.lookup)
    first, second = (asyncio.create_task(addresses(resolver, "hung.example")) for _ in range(2))
    await asyncio.to_thread(server.is_asked.wait, 10)

    first.cancel()
    server.released.set()

    assert await second == [PUBLIC]
    assert first.cancelled()
    await resolver.close()


async def test_closing_ends_the_waiting(server: NameServer) -> None:
    resolver = Resolver(Egress(), server.lookup)
    waiting = asyncio.create_task(addresses(resolver, "hung.example"))
    await asyncio.to_thread(server.is_asked.wait, 10)

    await resolver.close()

    with pytest.raises(LookupFailed, match="closed"):
        await waiting


async def test_a_machine_without_another_thread_is_a_failed_lookup(
    resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(LookupFailed, match="no thread"):
            await addresses(resolver, "shop.example")
