"""A URL from outside does not lead inside: real requests against a real canary on loopback.

Everything is tried both ways out: as a delivery, and as the request for a token. 127.0.0.2 plays
the public receiver, because it can be let through without the canary's 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from tests.strategies.drawer import Drawer
from tests.strategies.http.canary import Canary, perched
from tests.strategies.http.spellings import FORBIDDEN, LOOPBACK
from tests.strategies.receiver import deliver
from windlass.model.job.outcome import Failed, Succeeded
from windlass.strategies.http.auth.auth import AuthFailed, Credentials
from windlass.strategies.http.http import Http
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.net.pool import Pool
from windlass.strategies.http.net.resolver import Lookup, Resolver

ADDRESSES = [text for text, why in FORBIDDEN.items() if why not in ("zone", "not an address")]
# Refused before anything is looked up, whatever is open.
NO_INPUT = (
    *("shop.example@127.0.0.1", "shop.example:pass@127.0.0.1", "127.0.0.1\t"),
    *(host for host in LOOPBACK if "0x" in host.lower()),
)
PUBLIC = "127.0.0.2"
GOODBYE = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"

Get = Callable[[str], Coroutine[Any, Any, int]]


class NotReached(Exception):
    """Nothing was sent. `is_refused`: the guard said no."""

    def __init__(self, why: str, *, is_refused: bool) -> None:
        self.is_refused = is_refused
        super().__init__(why)


@asynccontextmanager
async def by_token(allow: Sequence[str], lookup: Lookup | None) -> AsyncIterator[Get]:
    pool = Pool(Egress(allow), lookup or socket.getaddrinfo)

    async def get(url: str) -> int:
        # New ones for each: what failed a moment ago is not remembered.
        credentials = Credentials(Drawer(s="hush"), lambda: pool)
        auth = {"type": "oauth2", "client_id": "c", "secret": "s", "token_url": url}
        with pytest.raises(AuthFailed) as failed:
            async with asyncio.timeout(10):
                await credentials.prepare(
                    auth, target="shop.example", webhook_id="job_1", timestamp=1, body=b""
                )
        said = str(failed.value)
        assert "hush" not in said
        # Nobody here gives tokens; that there was an answer says it all.
        if answered := re.search(" answered ([0-9]{3})", said):
            return int(answered[1])
        raise NotReached(said, is_refused="may not be reached" in said)

    yield get
    await pool.close()


@asynccontextmanager
async def by_delivery(allow: Sequence[str], lookup: Lookup | None) -> AsyncIterator[Get]:
    egress = Egress(allow)
    http = Http(egress=egress, lookup=lookup or socket.getaddrinfo, vault=Drawer())

    async def get(url: str) -> int:
        outcome = await deliver(http, url, method="GET", redirects=5)
        if isinstance(outcome, Succeeded):
            return int(json.loads(outcome.result or b"")["status_code"])
        assert isinstance(outcome, Failed)
        if "status_code" in outcome.detail:
            return int(outcome.detail["status_code"])
        assert outcome.is_final or outcome.cause == "dns"
        raise NotReached(outcome.message, is_refused=outcome.cause == "egress_refused")

    yield get
    await http.close()


WAYS = {"delivery": by_delivery, "token": by_token}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def going(
    way: str, allow: Sequence[str] = (), lookup: Lookup | None = None
) -> AbstractAsyncContextManager[Get]:
    return WAYS[way](allow, lookup)


async def get_once(
    way: str, url: str, allow: Sequence[str] = (), lookup: Lookup | None = None
) -> int:
    async with going(way, allow, lookup) as get:
        return await get(url)


async def refused(
    way: str, url: str, allow: Sequence[str] = (), lookup: Lookup | None = None
) -> str:
    """What the guard says."""
    with pytest.raises(NotReached) as caught:
        await get_once(way, url, allow, lookup)
    assert caught.value.is_refused
    return str(caught.value)


@pytest.fixture
def no_name_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults: dict[str, Any] = getattr(Resolver.__init__, "__kwdefaults__", {})
    assert "kept_seconds" in defaults
    monkeypatch.setitem(defaults, "kept_seconds", 0.0)


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    async with perched() as made:
        yield made


@pytest.fixture
async def public(canary: Canary) -> AsyncIterator[Canary]:
    """On the canary's port, so that a name that moves leads from one to the other."""
    async with perched(PUBLIC, canary.port) as made:
        yield made


def answers(*rounds: Sequence[str]) -> Lookup:
    """A name server with these answers, one after the other; the last for ever."""
    left = list(rounds)

    def lookup(host: str, port: int, **hints: Any) -> list[tuple[Any, ...]]:
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(2, 1, 6, "", (address, port)) for address in found]

    return lookup


@pytest.mark.parametrize("host", LOOPBACK)
async def test_no_spelling_of_this_machine_is_reached(canary: Canary, way: str, host: str) -> None:
    with pytest.raises(NotReached):
        await get_once(way, f"http://{host}:{canary.port}/")

    assert canary.connections == 0


async def test_the_canary_can_be_reached_so_that_the_silence_means_something(
    canary: Canary, way: str
) -> None:
    for host, allow in LOOPBACK.items():
        before = canary.connections
        url = f"http://{host}:{canary.port}/"
        if allow is None or host in NO_INPUT:
            with pytest.raises(NotReached):
                await get_once(way, url, ["0.0.0.0/0", "::/0"])
            assert canary.connections == before, host
        elif canary.has_ipv6 or not host.startswith("["):
            assert await get_once(way, url, [allow]) == 200, host
            assert canary.connections == before + 1, host


@pytest.mark.parametrize("address", ADDRESSES)
async def test_no_forbidden_address_is_reached_literally(way: str, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    said = await refused(way, f"http://{host}/")
    # A mapped address is called as the one that it carries.
    assert FORBIDDEN[address].removeprefix("carries ") in said


@pytest.mark.parametrize("address", ADDRESSES)
async def test_no_forbidden_address_is_reached_by_a_name(way: str, address: str) -> None:
    said = await refused(way, "http://shop.example/", lookup=answers([address]))
    assert "shop.example may not be reached" in said


async def test_one_forbidden_answer_among_public_ones_refuses_them_all(
    canary: Canary, way: str
) -> None:
    url = f"http://shop.example:{canary.port}/"
    for mixed in ("1.1.1.1", "127.0.0.1"), ("127.0.0.1", "1.1.1.1"), ("2606:4700::1", "::1"):
        for allow in [], ["10.0.0.0/8"], [PUBLIC], ["other.example"]:
            await refused(way, url, allow, answers(mixed))

    assert canary.connections == 0


async def test_beside_an_answer_that_was_opened_no_other_is_called(
    canary: Canary, public: Canary, way: str
) -> None:
    url = f"http://shop.example:{public.port}/"
    public.answer = GOODBYE
    for mixed in (PUBLIC, "127.0.0.1"), ("127.0.0.1", PUBLIC), ("1.1.1.1", "::1", PUBLIC):
        assert await get_once(way, url, [PUBLIC], answers(mixed)) == 200
    assert (public.connections, canary.connections) == (3, 0)


async def test_localhost_is_reached_where_its_network_is_open(canary: Canary, way: str) -> None:
    lookup = answers(["::1", "127.0.0.1"])
    url = f"http://localhost:{canary.port}/"
    assert await get_once(way, url, ["127.0.0.0/8"], lookup) == 200
    assert await get_once(way, url, ["127.0.0.0/8"]) == 200
    assert canary.connections == 2


@pytest.mark.usefixtures("no_name_is_kept")
async def test_a_name_that_moves_inside_between_two_lookups_is_refused_the_second_time(
    canary: Canary, public: Canary, way: str
) -> None:
    public.answer = GOODBYE
    url = f"http://shop.example:{public.port}/"
    async with going(way, [PUBLIC], answers([PUBLIC], ["127.0.0.1"])) as get:
        assert await get(url) == 200
        with pytest.raises(NotReached) as caught:
            await get(url)

    assert caught.value.is_refused
    assert (public.connections, canary.connections) == (1, 0)


@pytest.mark.usefixtures("no_name_is_kept")
async def test_a_name_that_moves_inside_between_a_redirect_and_its_end_is_refused(
    canary: Canary, public: Canary, way: str
) -> None:
    url = f"http://shop.example:{public.port}/"
    public.answer = (
        b"HTTP/1.1 307 Here\r\nlocation: /again\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    )
    if way == "token":  # which is not sent on, not even within one origin
        assert await get_once(way, url, [PUBLIC], answers([PUBLIC], ["127.0.0.1"])) == 307
    else:
        await refused(way, url, [PUBLIC], answers([PUBLIC], ["127.0.0.1"]))

    assert (public.connections, canary.connections) == (1, 0)


async def test_a_name_is_looked_up_once_and_what_was_judged_is_what_is_called(
    canary: Canary, public: Canary, way: str
) -> None:
    public.answer = GOODBYE
    url = f"http://shop.example:{public.port}/"
    async with going(way, [PUBLIC], answers([PUBLIC], ["127.0.0.1"])) as get:
        for _ in range(3):
            assert await get(url) == 200

    assert public.connections == 3
    assert canary.connections == 0


INWARDS = ("127.0.0.1", "0x7f.1", "localhost", "①②⑦.⓪.⓪.①", "[::ffff:127.0.0.1]", "[::1]")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_leads_inside_nor_to_another_host_open_or_not(
    canary: Canary, public: Canary, way: str, status: int
) -> None:
    for host in INWARDS:
        public.will_redirect(f"http://{host}:{canary.port}/", status)
        for allow in [PUBLIC], ["127.0.0.0/8", "::1"]:
            url = f"http://{PUBLIC}:{public.port}/"
            assert await get_once(way, url, allow) == status
    assert canary.connections == 0
    assert public.connections == 2 * len(INWARDS), "each was answered, and none was followed"


async def test_an_allowed_host_does_not_open_the_address_it_redirects_to(
    canary: Canary, public: Canary, way: str
) -> None:
    public.will_redirect(f"http://127.0.0.1:{canary.port}/")
    url = f"http://hooks.internal:{public.port}/"

    assert await get_once(way, url, ["hooks.internal"], answers([PUBLIC])) == 307
    assert (public.connections, canary.connections) == (1, 0)


async def test_an_allowed_host_is_reached_wherever_it_is(canary: Canary, way: str) -> None:
    url = f"http://hooks.internal:{canary.port}/"

    assert await get_once(way, url, ["*.internal"], answers(["127.0.0.1"])) == 200
    assert canary.connections == 1


async def test_no_proxy_of_the_environment_is_used(
    canary: Canary, public: Canary, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")

    assert await get_once(way, f"http://{PUBLIC}:{public.port}/", ["127.0.0.0/8"]) == 200
    assert (public.connections, canary.connections) == (1, 0)


@pytest.mark.parametrize("scheme", ["ftp", "file", "ws", "tcp", "gopher", "unix"])
async def test_no_other_scheme_is_spoken(canary: Canary, way: str, scheme: str) -> None:
    with pytest.raises(NotReached):
        await get_once(way, f"{scheme}://127.0.0.1:{canary.port}/", ["127.0.0.0/8"])
    assert canary.connections == 0
