"""An HTTP load generator that costs the server's machine as little as possible.

So many connections, each with one request under way, over prepared bytes: no client library,
and of an answer only its status and its length are read. It runs in a process of its own.

Bounded by count (`LOAD_REQUESTS_MAX`) and by time (the child's deadline).
Refuses, rather than guesses: an answer without a Content-Length, or more than was announced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from time import perf_counter
from typing import cast
from urllib.parse import urlsplit

from benchmarks import child
from benchmarks.limits import (
    LOAD_CONNECTIONS,
    LOAD_REQUESTS,
    LOAD_REQUESTS_MAX,
    LOAD_WARM_UP_REQUESTS,
    RESPONSE_HEAD_BYTES_MAX,
)
from benchmarks.measure import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    address: str  # http://host:port
    path: str
    # "module:function" of a function from the request's number to its body: it is called in the
    # generator's process, for every request, before the clock starts.
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)  # such as Authorization
    count: int = LOAD_REQUESTS
    connections: int = LOAD_CONNECTIONS
    warm_up: int = LOAD_WARM_UP_REQUESTS  # requests sent first and not counted


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float
    refused: int  # answers other than 2xx
    refusal: str | None  # the first of those answers; None when there was none

    def sample(self) -> Sample:
        """The rate, provided that every request was accepted: a refusal costs less than work."""
        if self.refused:
            raise RuntimeError(f"{self.refused} of {self.requests} refused, first: {self.refusal}")
        return Sample.rate(self.requests, self.seconds, "requests/s")


async def generate(load: Load) -> LoadReport:
    """Put the load on the address from a process of its own."""
    return await child.call(child.python("benchmarks.traffic.load"), load, LoadReport)


async def generate_here(load: Load) -> LoadReport:
    assert 0 < load.connections <= load.count <= LOAD_REQUESTS_MAX
    requests = _requests(load)
    if load.warm_up:
        await _send_all(load, requests[: load.warm_up])
    return await _send_all(load, requests[load.warm_up :])


class Tally:
    """The requests still to send, and what became of the others."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        self.waiting = iter(requests)
        self.unanswered = len(requests)
        self.latencies: list[float] = []
        self.refused = 0
        self.refusal: str | None = None
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(self, seconds: float, status: bytes, answer: bytes) -> None:
        self.latencies.append(seconds)
        if not status.startswith(b"2"):
            self.refused += 1
            self.refusal = self.refusal or answer[:500].decode(errors="replace")
        self.unanswered -= 1
        if self.unanswered == 0 and not self.finished.done():
            self.finished.set_result(None)

    def failed(self, reason: str) -> None:
        if not self.finished.done():
            self.finished.set_exception(ConnectionError(reason))


class Caller(asyncio.Protocol):
    """One kept-alive connection with one request under way."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.received = b""
        self.answer_bytes: int | None = None  # None: the head is not complete yet
        self.sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def send_next(self) -> None:
        request = next(self.tally.waiting, None)
        if request is not None:
            self.sent_at = perf_counter()
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.received = self.received + data if self.received else data
        if self.answer_bytes is None:
            try:
                self.answer_bytes = whole_length(self.received)
            except ValueError as error:
                self.tally.failed(str(error))
                return
        if self.answer_bytes is None or len(self.received) < self.answer_bytes:
            return
        if len(self.received) > self.answer_bytes:
            self.tally.failed("more bytes came than the answer announced")
            return
        answer, self.received, self.answer_bytes = self.received, b"", None
        self.tally.answered(perf_counter() - self.sent_at, answer[9:12], answer)
        self.send_next()

    def connection_lost(self, _error: Exception | None) -> None:
        self.tally.failed("the server closed a connection")


def whole_length(received: bytes) -> int | None:
    """How long the answer is that begins with these bytes; None while its head is incomplete."""
    head_end = received.find(b"\r\n\r\n")
    if head_end < 0:
        if len(received) > RESPONSE_HEAD_BYTES_MAX:
            raise ValueError("the head of an answer never ended")
        return None
    head = received[:head_end].lower()
    at = head.find(b"\r\ncontent-length:")
    if at < 0:
        raise ValueError(f"an answer without Content-Length: {head!r}")
    value = head[at + len(b"\r\ncontent-length:") :].split(b"\r\n", 1)[0]
    return head_end + len(b"\r\n\r\n") + int(value)


async def _send_all(load: Load, requests: Sequence[bytes]) -> LoadReport:
    loop = asyncio.get_running_loop()
    host, port = host_and_port(load.address)
    tally = Tally(requests)
    callers: list[Caller] = []
    try:
        for _ in range(load.connections):
            _, caller = await loop.create_connection(lambda: Caller(tally), host, port)
            callers.append(caller)
        started = perf_counter()
        for caller in callers:
            caller.send_next()
        await tally.finished
        seconds = perf_counter() - started
    finally:
        tally.finished.cancel()  # nobody waits for it any more, should we have come here early
        for caller in callers:
            caller.transport.abort()
    latencies = sorted(tally.latencies)
    return LoadReport(
        requests=len(latencies),
        seconds=seconds,
        p50_ms=percentile(latencies, 50) * 1_000,
        p99_ms=percentile(latencies, 99) * 1_000,
        refused=tally.refused,
        refusal=tally.refusal,
    )


def percentile(ordered: Sequence[float], percent: int) -> float:
    """The smallest value that `percent` of a hundred do not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def host_and_port(address: str) -> tuple[str, int]:
    target = urlsplit(address)
    if target.scheme != "http" or target.hostname is None or target.port is None:
        raise ValueError(f"not an address of the form http://host:port: {address!r}")
    return target.hostname, target.port


def _requests(load: Load) -> list[bytes]:
    module, _, function = load.body.partition(":")
    body_of = cast(Callable[[int], bytes], getattr(import_module(module), function))
    headers = {
        "Host": urlsplit(load.address).netloc,
        "Content-Type": "application/json",
        **load.headers,
    }
    head = f"POST {load.path} HTTP/1.1\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in headers.items()
    )

    def request(number: int) -> bytes:
        body = body_of(number)
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    return [request(number) for number in range(load.warm_up + load.count)]


if __name__ == "__main__":
    child.answer(Load, generate_here)
