"""The request for a token: what the pool does for it, leaves out, and does not do behind our back.

It goes out as a delivery does: guarded, on connections that are kept, one try, no cookies, no
redirects, nothing unpacked.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.strategies.http.canary import Canary, perched
from tests.strategies.http.certificate import self_signed
from tests.strategies.http.pooled import HOST, opened, take
from tests.strategies.receiver import raw_receiver, read_request
from windlass.limits import TOKEN_ANSWER_BYTES_MAX
from windlass.strategies.http.auth.auth import AuthFailed
from windlass.strategies.http.auth.oauth import Grant, Tokens
from windlass.strategies.http.net.egress import EgressRefused
from windlass.strategies.http.net.pool import Pool


def answer(*fields: bytes, body: bytes = b'{"access_token": "t1", "expires_in": 0}') -> bytes:
    """A token without a life: the next one is asked for anew."""
    lines = (b"HTTP/1.1 200 OK", *fields, b"content-length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@pytest.fixture
async def endpoint() -> AsyncIterator[Canary]:
    async with perched() as made:
        made.answer = answer()
        yield made


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with opened("127.0.0.1") as made:
        yield made


async def token(pool: Pool, url: str) -> str:
    """One request of its own: what failed a moment ago is not remembered."""
    grant = Grant(token_url=url, client_id="shop", secret="s", scope=None)
    async with asyncio.timeout(10):
        return await Tokens(lambda: pool).get(grant, "hush")


async def test_the_second_request_takes_the_same_connection(pool: Pool, endpoint: Canary) -> None:
    for _ in range(2):
        assert await token(pool, f"http://{HOST}:{endpoint.port}/") == "t1"

    assert endpoint.connections == 1
    assert len(endpoint.requests) == 2


async def test_it_takes_the_connection_that_a_delivery_left(pool: Pool, endpoint: Canary) -> None:
    url = f"http://{HOST}:{endpoint.port}/"
    used = await take(pool, url)
    await used.ask(b"GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n")
    await used.body()
    pool.give(used)

    assert await token(pool, url) == "t1"
    assert endpoint.connections == 1


async def test_a_refusal_is_told_as_what_it_is(pool: Pool) -> None:
    with pytest.raises(EgressRefused) as caught:
        await take(pool, "http://127.0.0.9/")
    assert caught.value.address == "127.0.0.9"
    with pytest.raises(AuthFailed, match=r"cannot be reached: .*127\.0\.0\.9 is loopback"):
        await token(pool, "http://127.0.0.9/")


async def test_closing_the_pool_ends_a_lookup_that_hangs() -> None:
    is_asked, released = threading.Event(), threading.Event()

    def hang(host: str, port: int, **hints: Any) -> list[tuple[Any, ...]]:
        is_asked.set()
        assert released.wait(30)
        return []

    async with opened(lookup=hang) as pool:
        waiting = asyncio.create_task(token(pool, f"http://{HOST}/"))
        await asyncio.to_thread(is_asked.wait, 10)

        await pool.close()

        with pytest.raises(AuthFailed, match=r"cannot be reached: no address for .* closed"):
            await waiting
        released.set()


@pytest.mark.parametrize("is_kept", [False, True], ids=["new", "kept"])
async def test_a_broken_connection_is_not_tried_again_behind_our_back(
    pool: Pool, endpoint: Canary, is_kept: bool
) -> None:
    url = f"http://{HOST}:{endpoint.port}/"
    if is_kept:
        await token(pool, url)
    endpoint.requests.clear()
    endpoint.answer = None
    with pytest.raises(AuthFailed, match="gave no answer: the other side hung up"):
        await token(pool, url)
    assert len(endpoint.requests) == 1
    assert endpoint.connections == 1


async def test_no_cookie_is_kept(pool: Pool, endpoint: Canary) -> None:
    endpoint.answer = answer(b"set-cookie: a=b")
    for _ in range(2):
        await token(pool, f"http://{HOST}:{endpoint.port}/")

    assert not any(b"cookie" in request.lower() for request in endpoint.requests)


@pytest.mark.parametrize(
    "fields",
    [
        [b"x: " + b"y" * 20_000],
        [b"x" * 20_000 + b": y"],
        [b"x: " + b"y" * 70_000],
        [b"x%d: y" % n for n in range(200)],
        [b"x%d: " % n + b"y" * 1_000 for n in range(70)],
    ],
    ids=["a long value", "a long name", "a value without end", "many", "many long ones"],
)
async def test_an_answer_with_a_huge_head_is_refused(
    pool: Pool, endpoint: Canary, fields: list[bytes]
) -> None:
    endpoint.answer = answer(*fields)

    with pytest.raises(AuthFailed, match=r"too large|has more than"):
        await token(pool, f"http://{HOST}:{endpoint.port}/")


async def test_an_answer_may_be_as_long_as_the_cap_and_no_longer(
    pool: Pool, endpoint: Canary
) -> None:
    url = f"http://{HOST}:{endpoint.port}/"
    endpoint.answer = answer(body=b'{"access_token": "t1"}'.ljust(TOKEN_ANSWER_BYTES_MAX))
    assert await token(pool, url) == "t1"
    endpoint.answer = answer(body=b'{"access_token": "t1"}'.ljust(TOKEN_ANSWER_BYTES_MAX + 1))
    with pytest.raises(AuthFailed, match=f"answered more than {TOKEN_ANSWER_BYTES_MAX} bytes"):
        await token(pool, url)


async def test_a_compressed_answer_stays_as_it_came(pool: Pool, endpoint: Canary) -> None:
    url = f"http://{HOST}:{endpoint.port}/"
    endpoint.answer = answer(b"content-encoding: gzip")
    assert await token(pool, url) == "t1"
    packed = gzip.compress(json.dumps({"access_token": "t1"}).encode())
    endpoint.answer = answer(b"content-encoding: gzip", body=packed)
    with pytest.raises(AuthFailed, match="without a usable access_token"):
        await token(pool, url)
    assert all(b"accept-encoding: identity" in request for request in endpoint.requests)


async def test_half_an_answer_is_no_token(pool: Pool) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer()[:-1])

    async with raw_receiver(hang_up) as url:
        with pytest.raises(AuthFailed, match=r"gave no answer: .* hung up within its answer"):
            await token(pool, url)


async def test_the_name_is_what_the_certificate_is_for(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_server, _ = self_signed(tmp_path, HOST)
    async with perched(tls=at_server) as endpoint:
        endpoint.answer = answer()
        url = f"https://{HOST}:{endpoint.port}/"
        # The authorities of the system are asked, and know nothing of this one.
        with pytest.raises(AuthFailed, match=r"cannot be reached: .*CERTIFICATE_VERIFY_FAILED"):
            await token(pool, url)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "receiver.pem"))
        async with opened("127.0.0.1") as trusting:
            assert await token(trusting, url) == "t1"
            with pytest.raises(AuthFailed, match=r"CERTIFICATE_VERIFY_FAILED.* mismatch"):
                await token(trusting, f"https://127.0.0.1:{endpoint.port}/")
        assert len(endpoint.requests) == 1
