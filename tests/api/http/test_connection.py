"""The door before anybody is known: what is a request at all, how large, how long, how many."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.api.conftest import Serve
from tests.api.http.raw import SURE_SECONDS, exchange, statuses, wire
from tests.api.served import Served
from tests.until import until
from windlass.api.http.connection import Timeouts
from windlass.api.http.connections import Connections, address_of, ask_for_descriptors, places
from windlass.api.http.reply import json_reply
from windlass.api.http.serve import Front, Serving
from windlass.clock import monotonic
from windlass.compose import foreground
from windlass.config import Settings
from windlass.limits import (
    BATCH_BODY_BYTES_MAX,
    CONNECTIONS_MAX,
    HEAD_BYTES_MAX,
    HEAD_FIELDS_MAX,
    PIPELINE_MAX,
    URL_BYTES_MAX,
)

HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
GET = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
CLOSED = b"Connection: close\r\n"


@pytest.fixture
async def starting() -> AsyncIterator[str]:
    """A server whose node never gets ready: it says so, and that it lives."""
    async with served() as (url, _):
        yield url


@asynccontextmanager
async def served(
    *, connections: Connections | None = None, timeouts: Timeouts | None = None
) -> AsyncIterator[tuple[str, Serving]]:
    taken = foreground.listen("127.0.0.1", 0)
    host, port = taken.getsockname()
    serving = Serving(taken, connections=connections, timeouts=timeouts)
    try:
        yield f"http://{host}:{port}", serving
    finally:
        await serving.stop()


async def lives(url: str) -> bool:
    return statuses(await exchange(url, GET + CLOSED + b"\r\n")) == [200]


async def test_bytes_after_an_upgrade_are_never_taken_for_a_request(serve_with: Serve) -> None:
    api = await serve_with(Settings())
    hidden = (
        f"POST /v1/queues/default/pause HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {api.key}\r\nContent-Length: 0\r\n\r\n"
    ).encode()
    for path in ("/health/live", "/v1/jobs"):
        async with wire(api.url) as stranger:
            await stranger.send(
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: x\r\nConnection: Upgrade\r\n"
                f"Content-Length: {len(hidden)}\r\n\r\n".encode()
            )
            await stranger.send(hidden)
            await stranger.send(hidden)
            said = await stranger.all()
        assert statuses(said) == [400], said
        assert b"connection: close" in said
    assert await is_paused(api) is False


async def test_an_upgrade_without_a_body_is_answered_as_if_it_were_not_asked_for(
    serve_with: Serve,
) -> None:
    api = await serve_with(Settings())
    asked = GET + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n"
    hidden = (
        f"POST /v1/queues/default/pause HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {api.key}\r\nContent-Length: 0\r\n\r\n"
    ).encode()
    said = await exchange(api.url, asked + hidden)
    assert statuses(said) == [200], said
    assert b"connection: close" in said
    assert await is_paused(api) is False


async def is_paused(api: Served) -> bool:
    await api.submit()
    queue = await api.get("/v1/queues/default")
    return bool(queue["is_paused"])


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 5\r\n\r\n{}",
        b"Content-Length: 2, 2\r\n\r\n{}",
        b"Content-Length: +2\r\n\r\n{}",
        b"Content-Length: 0x2\r\n\r\n{}",
        b"Content-Length: 99999999999999999999999\r\n\r\n{}",
        b"Content-Length : 2\r\n\r\n{}",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        b"X: a\r\n b\r\n\r\n",
        b"X: a\nContent-Length: 0\r\n\r\n",
        b"X: a\rContent-Length: 0\r\n\r\n",
        b"X: a\0b\r\n\r\n",
        b": a\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2;a\n{}\r\n0\r\n\r\n",
        b'Transfer-Encoding: chunked\r\n\r\n2;a="x\ny"\r\n{}\r\n0\r\n\r\n',
        b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}}\r\n0\r\n\r\n",
        b"Host: b\r\nContent-Length: 0\r\n\r\n",
        b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 0\r\n\r\n",
        b"Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n\r\n",
        b"Content-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_what_two_readers_could_read_in_two_ways_is_refused_and_ends_the_connection(
    starting: str, rest: bytes
) -> None:
    said = await exchange(starting, HEAD + rest + GET + b"\r\n")
    # Some are only seen in the body, when the answer may be under way: then it is the last one.
    assert statuses(said) in ([400], [503]), said
    assert 200 not in statuses(said)
    if b"chunked\r\n\r\n" not in rest:
        assert statuses(said) == [400]
        assert b"application/problem+json" in said
        assert b"connection: close" in said


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /health/live\r\n\r\n", 400),
        (b"GET /health/live HTTP/0.9\r\n\r\n", 400),
        (b"GET /health/live HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
        (b"GET /health/live HTTP/1.2\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /health/live HTTP/1.1\r\n\r\n", 400),
        (b"GET /health/live HTTP/1.1\nHost: a\n\n", 400),
        (b"CONNECT a:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /health/live HTTP/1.0\r\n\r\n", 200),
    ],
)
async def test_only_http_of_our_version_is_spoken(
    starting: str, request_: bytes, status: int
) -> None:
    assert statuses(await exchange(starting, request_)) == [status]


@pytest.mark.parametrize(
    "address",
    [b"http://[::1/", b"http:///", b"http://b", b"http://b:99999999/x", b"http://u@b@c/x", b"?x"],
)
async def test_an_address_that_is_none_is_refused_and_harms_no_earlier_request(
    serve_with: Serve, address: bytes
) -> None:
    api = await serve_with(Settings(auth="off"))
    unhandled: list[dict[str, object]] = []
    gc.collect()  # what others left is not ours
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, found: unhandled.append(found))
    try:
        await _refused_alone(api, address)
    finally:
        loop.set_exception_handler(None)
    assert not unhandled


async def _refused_alone(api: Served, address: bytes) -> None:
    bad = b"GET " + address + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = await exchange(api.url, bad + GET + b"\r\n")
    assert statuses(said) == [400], said
    assert b"connection: close" in said
    job = await api.submit(kind="wait", input={"seconds": 60})
    first = f"GET /v1/jobs/{job['id']}?wait=1s HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    assert statuses(await exchange(api.url, first + bad)) == [200]
    async with wire(api.url) as kept:
        await kept.send(GET + b"\r\n")
        assert statuses(await kept.answer()) == [200]
        await kept.send(bad)
        assert statuses(await kept.all()) == [400], "also of a connection that was kept"


async def test_who_asks_before_the_body_and_is_refused_is_not_heard_any_more(
    serve_with: Serve,
) -> None:
    api = await serve_with(Settings())
    async with wire(api.url) as stranger:
        await stranger.send(HEAD + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        assert statuses(await stranger.answer()) == [401]
        await stranger.send(b"x" + GET + b"\r\n")
        assert await stranger.all() == b"", "it was the body, or somebody's next request"
    async with wire(api.url) as known:
        body = b'{"kind": "noop"}'
        head = f"Authorization: Bearer {api.key}\r\nContent-Length: {len(body)}\r\n".encode()
        await known.send(HEAD + head + b"Expect: 100-continue\r\n\r\n")
        assert statuses(await known.answer()) == [100]
        await known.send(body + GET + CLOSED + b"\r\n")
        assert statuses(await known.all()) == [201, 200]


async def test_old_callers_are_not_told_to_go_on_and_spaces_are_no_length(
    serve_with: Serve,
) -> None:
    api = await serve_with(Settings())
    body = b'{"kind": "noop"}'
    key = f"Authorization: Bearer {api.key}\r\n".encode()
    length = f"Content-Length: {len(body)}".encode()
    old = HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + key + b"Expect: 100-continue\r\n" + length
    assert statuses(await exchange(api.url, old + b"\r\n\r\n" + body)) == [201]
    spaced = HEAD + key + CLOSED + length + b" \r\n\r\n" + body
    assert statuses(await exchange(api.url, spaced)) == [201]


async def test_header_lines_after_the_body_are_refused(serve_with: Serve) -> None:
    api = await serve_with(Settings())
    body = b"11\r\n" + b'{"kind": "noop" }' + b"\r\n"
    said = await exchange(
        api.url,
        HEAD
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + body
        + f"0\r\nAuthorization: Bearer {api.key}\r\n\r\n".encode(),
    )
    assert 201 not in statuses(said), "a key in a trailer is no key"
    assert len(statuses(said)) == 1
    assert statuses(said)[0] in (400, 401)
    said = await exchange(
        api.url,
        HEAD
        + f"Authorization: Bearer {api.key}\r\n".encode()
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + body
        + b"0\r\nX: y\r\n\r\n",
    )
    assert statuses(said) == [400]
    assert b"trailers" in said
    assert (await api.get("/v1/jobs"))["data"] == []


async def test_chunk_extensions_are_ignored_and_bounded(serve_with: Serve) -> None:
    api = await serve_with(Settings(auth="off"))
    head = HEAD + CLOSED + b"Transfer-Encoding: chunked\r\n\r\n"
    said = await exchange(api.url, head + b'11;a=b\r\n{"kind": "noop" }\r\n0\r\n\r\n')
    assert statuses(said) == [201]
    said = await exchange(api.url, head + b"11;" + b"a" * 3 * HEAD_BYTES_MAX)
    assert statuses(said) == [431]


def _lines(count: int) -> bytes:
    return b"".join(b"X-%d: y\r\n" % n for n in range(count))


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /" + b"a" * URL_BYTES_MAX + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET /" + b"a" * 20 * HEAD_BYTES_MAX, 414),
        (GET + b"X: " + b"a" * HEAD_BYTES_MAX + b"\r\n\r\n", 431),
        (GET + b"X: " + b"a" * 20 * HEAD_BYTES_MAX, 431),
        (GET + b"a" * 20 * HEAD_BYTES_MAX, 431),
        (GET + _lines(HEAD_FIELDS_MAX) + b"\r\n", 431),
        (b"\r\n" * 20 * HEAD_BYTES_MAX, 431),
        (GET + b"Content-Length: %d\r\n\r\n" % (BATCH_BODY_BYTES_MAX + 1), 413),
        (GET + CLOSED + _lines(HEAD_FIELDS_MAX - 2) + b"\r\n", 200),
        (GET + CLOSED + b"X: " + b"a" * (HEAD_BYTES_MAX - 200) + b"\r\n\r\n", 200),
    ],
)
async def test_a_head_is_bounded(starting: str, request_: bytes, status: int) -> None:
    assert statuses(await exchange(starting, request_)) == [status]


async def test_a_head_in_pieces_is_bounded_as_a_whole(starting: str) -> None:
    half = b"X: " + b"a" * (HEAD_BYTES_MAX - 1000) + b"\r\n"
    async with wire(starting) as there:
        await there.send(GET + b"\r\n" + GET + half)
        await asyncio.sleep(0.05)  # or it may come in one piece
        await there.send(half + b"\r\n")
        assert statuses(await there.all()) == [200, 431]


async def test_a_head_of_a_hundred_megabytes_takes_no_memory(starting: str) -> None:
    sent = 0
    async with wire(starting) as there:
        await there.send(GET)
        line = b"X: " + b"a" * 65536 + b"\r\n"
        while sent < 100 * 1024 * 1024:
            try:
                await there.send(line)
            except ConnectionError:
                break
            sent += len(line)
    assert sent < 16 * 1024 * 1024, "it was cut off long before"
    assert await lives(starting)


async def test_who_goes_on_sending_after_a_refusal_is_not_read_and_not_back_at_once() -> None:
    connections, timeouts = Connections(8), Timeouts(linger_seconds=1.0)
    async with served(connections=connections, timeouts=timeouts) as (url, _), wire(url) as there:
        sent, began, piece = 0, monotonic(), b"a" * 65536
        await there.send(GET + b"X: ")
        with contextlib.suppress(ConnectionError):
            while True:
                await there.send(piece)
                sent += len(piece)
        assert monotonic() - began > 0.5, "it was kept"
        assert sent < 16 * 1024 * 1024, "what the system holds for both sides"
        await until(lambda: len(connections) == 0, within_seconds=60)


async def test_requests_in_a_row_are_answered_in_order_and_only_so_many(starting: str) -> None:
    ask = GET + b"\r\n"
    said = await exchange(starting, ask * 5 + GET + CLOSED + b"\r\n")
    assert statuses(said) == [200] * 6
    said = await exchange(starting, ask * 1000)
    assert 1 <= len(statuses(said)) <= PIPELINE_MAX + 2
    assert set(statuses(said)) == {200}


async def test_what_is_wrong_in_the_second_request_does_not_answer_the_first(
    serve_with: Serve,
) -> None:
    api = await serve_with(Settings(auth="off"))
    job = await api.submit(kind="wait", input={"seconds": 60})
    first = f"GET /v1/jobs/{job['id']}?wait=1s HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    said = await exchange(api.url, first + b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n")
    assert statuses(said) == [200]
    assert job["id"].encode() in said


async def test_a_connection_that_says_nothing_is_closed() -> None:
    async with served(timeouts=Timeouts(head_seconds=0.2)) as (url, serving), wire(url) as there:
        assert await there.all() == b""
        assert await lives(url)
        await gone(serving.connections)


async def test_a_connection_that_rests_too_long_is_closed() -> None:
    async with served(timeouts=Timeouts(rest_seconds=0.2)) as (url, serving), wire(url) as there:
        await there.send(GET + b"\r\n")
        assert statuses(await there.all()) == [200]
        await gone(serving.connections)


OWING = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"


async def test_who_sends_its_body_after_the_answer_is_closed_when_it_rests_too_long() -> None:
    async with served(timeouts=Timeouts(rest_seconds=0.2)) as (url, serving), wire(url) as there:
        await there.send(OWING)
        assert statuses(await there.answer()) == [503]
        await there.send(b"{}")
        assert await there.all() == b""
        await gone(serving.connections)


async def test_who_waits_for_an_answer_does_not_rest() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "GET":
            await asyncio.sleep(3)  # connections are looked at once a second
        await json_reply({})(scope, receive, send)

    async with served(timeouts=Timeouts(rest_seconds=0.2)) as (url, serving), wire(url) as there:
        serving.front.app = slow
        await there.send(OWING)
        assert statuses(await there.answer()) == [200]
        await there.send(b"{}" + GET + b"\r\n")
        assert statuses(await there.all()) == [200]


@pytest.mark.parametrize("before", [b"", GET + b"\r\n"])
async def test_a_head_that_drips_is_answered_that_it_took_too_long(before: bytes) -> None:
    async with served(timeouts=Timeouts(head_seconds=0.2)) as (url, _), wire(url) as there:
        await there.send(before + GET)
        assert statuses(await there.all()) == [200, 408][not before :]


async def test_a_body_that_drips_is_given_up(serve_with: Serve) -> None:
    api = await serve_with(Settings(auth="off"))
    app = api.serving.front.app
    async with served(timeouts=Timeouts(body_seconds=0.2)) as (url, serving):
        serving.front.app = app
        async with wire(url) as there:
            await there.send(HEAD + b'Content-Length: 100\r\n\r\n{"kind":')
            assert statuses(await there.all()) == [408]
        async with wire(url) as unread:
            await unread.send(GET + b"Content-Length: 100\r\n\r\n")
            assert statuses(await unread.all()) == [200], "answered, and then closed"
        await gone(serving.connections)


async def test_an_answer_that_nobody_reads_is_given_up() -> None:
    async def endless(_scope: object, _receive: object, send: Callable[..., object]) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": []}
        await send(start)  # type: ignore[misc]
        piece = {"type": "http.response.body", "body": b"a" * 65536, "more_body": True}
        while len(serving.connections):
            await send(piece)  # type: ignore[misc]
            await asyncio.sleep(0)

    async with served(timeouts=Timeouts(stuck_seconds=0.3)) as (url, serving):
        serving.front.app = endless
        async with wire(url) as deaf:
            deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await deaf.send(GET + b"\r\n")
            await counted(serving.connections, 1)
            await gone(serving.connections)


async def test_silent_connections_keep_nobody_out() -> None:
    refused: list[str] = []
    connections = Connections(8, refused.append)  # four for an address
    async with served(connections=connections) as (url, _), AsyncExitStack() as open_:
        silent = [await open_.enter_async_context(wire(url)) for _ in range(4)]
        await counted(connections, 4)
        for _ in range(6):
            assert await lives(url)
        assert len(connections) <= 4
        assert await silent[0].all() == b"", "the one that was silent for longest had to go"
        assert refused[0] == "displaced"


async def test_where_all_are_at_work_a_newcomer_is_told_to_come_back() -> None:
    connections = Connections(4)  # two for an address
    enough = asyncio.Event()

    async def slow(scope: object, receive: object, send: object) -> None:
        await enough.wait()
        await Front()(scope, receive, send)  # type: ignore[arg-type]

    async with served(connections=connections) as (url, serving), AsyncExitStack() as open_:
        serving.front.app = slow
        at_work = [await open_.enter_async_context(wire(url)) for _ in range(2)]
        for one in at_work:
            await one.send(GET + b"\r\n")
        await counted(connections, 2)
        async with asyncio.timeout(SURE_SECONDS):
            while statuses(said := await exchange(url, GET + CLOSED + b"\r\n")) != [503]:
                pass  # until both requests have arrived
        assert b"retry-after: 1" in said
        enough.set()
        for one in at_work:
            assert statuses(await one.answer()) == [200]
        assert await lives(url), "one that rests makes room"


async def test_who_was_answered_and_owes_its_body_keeps_nobody_out() -> None:
    connections = Connections(4)  # two for an address
    async with served(connections=connections) as (url, _), AsyncExitStack() as open_:
        for _ in range(2):
            one = await open_.enter_async_context(wire(url))
            await one.send(HEAD + b"Content-Length: 10\r\n\r\n")
            assert statuses(await one.answer()) == [503]
        assert len(connections) == 2
        for _ in range(3):
            assert await lives(url)


async def test_one_address_cannot_take_every_place() -> None:
    connections = Connections(4)
    for n in range(2):
        assert connections.enter(Holder(f"10.0.0.{n}"))
    held = [Holder("10.0.0.9") for _ in range(2)]
    for one in held:
        assert connections.enter(one)
        connections.works(one)
    assert not connections.enter(Holder("10.0.0.9")), "its share is at work"
    other = Holder("10.0.0.8")
    assert connections.enter(other), "another address displaces one that is silent"
    assert len(connections) == 4
    for one in (*held, other, other):
        connections.leave(one)
    assert len(connections) == 1


class Holder:
    def __init__(self, address: str, *, is_of_proxy: bool = False) -> None:
        self.address, self.is_of_proxy = address, is_of_proxy
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True

    def look(self, now: float) -> None: ...


async def test_a_trusted_proxy_may_take_every_place_and_makes_room_for_others() -> None:
    connections = Connections(10)
    proxied = [Holder("10.0.0.5", is_of_proxy=True) for _ in range(11)]
    for one in proxied[:10]:
        assert connections.enter(one)
        connections.works(one)
    assert not connections.enter(proxied[10]), "all are at work"
    connections.rests(proxied[3])
    assert connections.enter(Holder("10.0.0.6"))
    assert [one.is_dropped for one in proxied].index(True) == 3


def test_an_address_of_ipv6_is_its_network() -> None:
    assert address_of("10.1.2.3") == "10.1.2.3"
    assert address_of("2001:db8:1:2:3:4:5:6") == address_of("2001:db8:1:2::1")
    assert address_of("2001:db8:1:2::1") != address_of("2001:db8:1:3::1")
    assert address_of("::ffff:10.1.2.3") == "10.1.2.3"
    assert address_of("fe80::1%lo") == address_of("fe80::2")


def test_the_engine_keeps_descriptors_for_itself() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
        assert places() == 512
        ask_for_descriptors()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft >= 1024
        assert hard == before[1]
        assert places() == min(CONNECTIONS_MAX, soft // 2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_node_that_starts_says_so_at_once() -> None:
    taken = foreground.listen("127.0.0.1", 0)
    host, port = taken.getsockname()
    serving = foreground.open_door(taken, Settings())
    try:
        url = f"http://{host}:{port}"
        assert await lives(url)
        for path in (b"/v1/jobs", b"/health/ready", b"/health"):
            said = await exchange(
                url, b"GET %s HTTP/1.1\r\nHost: localhost\r\n" % path + CLOSED + b"\r\n"
            )
            assert statuses(said) == [503]
            assert b"retry-after: 1" in said
            assert b'"code":"starting"' in said
    finally:
        await serving.stop()


async def counted(connections: Connections, count: int) -> None:
    await until(lambda: len(connections) == count, within_seconds=SURE_SECONDS)


async def gone(connections: Connections) -> None:
    await counted(connections, 0)
