"""Receivers of deliveries, each a program: `python -m benchmarks.traffic.receiver MANNER`.

    fast     answers 200 at once, far cheaper than whoever calls it: it is never the limit
    late     the same, but below /late it takes its time
    reset    a dead host that can count: takes a connection and resets it before a byte is said
    silent   takes connections and requests, and never answers
    drip     a byte of its answer a second: of the head below /head, of the body elsewhere
    endless  an answer that never ends: in chunks below /chunked, until the end elsewhere

One process is a thousand hosts: it listens on every address, and all of 127.0.0.0/8 is this
machine. What it saw is told to whoever connects to its second port.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
from bisect import bisect_left
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, cast

import msgspec
import uvloop

from benchmarks import child
from benchmarks.limits import HOSTS_MAX, LATE_SECONDS, READY_SECONDS_MAX, RECEIVER_BACKLOG
from benchmarks.traffic.load import whole_length

Manner = Literal["fast", "late", "reset", "silent", "drip", "endless"]
TELLS = "tells: "
LATE: Final = "/late"
OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
ENDLESS: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
PIECE: Final = b"w" * 16_384
CHUNK: Final = b"%x\r\n%s\r\n" % (len(PIECE), PIECE)


@dataclass(slots=True, kw_only=True)
class Seen:
    """By the clock that every process of this machine shares."""

    connections: list[float] = field(default_factory=list)
    arrivals: dict[str, float] = field(default_factory=dict)  # path -> when it came first
    again: int = 0  # arrivals of what had come before

    def first_beside(self, others: int, *, since: float) -> float | None:
        """When something came first while so many late ones were under way; None: never."""
        late = sorted(at for path, at in self.arrivals.items() if path.startswith(LATE))
        for at in sorted(at for at in self.arrivals.values() if at >= since):
            if bisect_left(late, at) - bisect_left(late, at - LATE_SECONDS) >= others:
                return at
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningReceiver:
    port: int
    tells_port: int

    def url(self, path: str, *, host: int = 0) -> str:
        """An address of the host of this number."""
        assert 0 <= host < HOSTS_MAX
        return f"http://127.1.{host // 250}.{host % 250 + 1}:{self.port}/{path}"

    async def seen(self) -> Seen:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.tells_port)
        try:
            async with asyncio.timeout(READY_SECONDS_MAX):
                return msgspec.json.decode(await reader.read(), type=Seen)
        finally:
            writer.close()


@asynccontextmanager
async def receiving(manner: Manner) -> AsyncIterator[RunningReceiver]:
    command = [*child.python("benchmarks.traffic.receiver"), manner]
    async with child.serving(command) as server:
        [tells] = [line.removeprefix(TELLS) for line in server.said if line.startswith(TELLS)]
        yield RunningReceiver(port=int(server.address), tells_port=int(tells))


class Fast(asyncio.Protocol):
    seen: ClassVar = Seen()

    def __init__(self) -> None:
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.seen.connections.append(time.time())

    def data_received(self, data: bytes) -> None:
        self.received = self.received + data if self.received else data
        length = whole_length(self.received)
        if length is None or len(self.received) < length:
            return
        # METHOD /path HTTP/1.1
        path = self.received[: self.received.index(b"\r")].split(b" ")[1].decode()
        self.received = b""
        self.seen.again += path in self.seen.arrivals
        self.seen.arrivals.setdefault(path, time.time())
        self.answer(path)

    def answer(self, path: str) -> None:
        self.transport.write(OK)


class Late(Fast):
    def answer(self, path: str) -> None:
        if path.startswith(LATE):
            asyncio.get_running_loop().call_later(LATE_SECONDS, self.transport.write, OK)
        else:
            self.transport.write(OK)


class Reset(Fast):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # With nothing to linger for, closing says RST and not FIN.
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()


class Silent(Fast):
    def answer(self, path: str) -> None:
        """It never does."""


class Drip(Fast):
    timer: asyncio.TimerHandle | None = None

    def answer(self, path: str) -> None:
        if not path.startswith("/head"):
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            self.drip(b"w" * 1_000)
        else:
            self.drip(b"HTTP/1.1 200 OK\r\nX-Note: " + b"w" * 1_000)

    def drip(self, left: bytes) -> None:
        self.transport.write(left[:1])
        self.timer = asyncio.get_running_loop().call_later(1.0, self.drip, left[1:])

    def connection_lost(self, _error: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()


class Endless(Fast):
    piece = PIECE
    is_flowing = True

    def answer(self, path: str) -> None:
        is_chunked = path.startswith("/chunked")
        self.piece = CHUNK if is_chunked else PIECE
        self.transport.write(
            ENDLESS + (b"Transfer-Encoding: chunked\r\n\r\n" if is_chunked else b"\r\n")
        )
        self.pour()

    def pour(self) -> None:
        if self.is_flowing and not self.transport.is_closing():
            self.transport.write(self.piece)
            asyncio.get_running_loop().call_soon(self.pour)

    def pause_writing(self) -> None:
        self.is_flowing = False

    def resume_writing(self) -> None:
        self.is_flowing = True
        self.pour()


class Teller(asyncio.Protocol):
    """Says what was seen, and hangs up."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)
        stream.write(msgspec.json.encode(Fast.seen))
        stream.close()


MANNERS: Final[dict[str, type[Fast]]] = {
    "fast": Fast,
    "late": Late,
    "reset": Reset,
    "silent": Silent,
    "drip": Drip,
    "endless": Endless,
}


async def serve(manner: str) -> None:
    loop = asyncio.get_running_loop()
    tells = await loop.create_server(Teller, "127.0.0.1", 0)
    server = await loop.create_server(MANNERS[manner], "0.0.0.0", 0, backlog=RECEIVER_BACKLOG)
    print(f"{TELLS}{tells.sockets[0].getsockname()[1]}")
    print(f"{child.READY}{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    child.end_with_parent()
    uvloop.run(serve(sys.argv[1]))
