"""A kept-alive connection to a node's API that submits prepared requests and times each one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from benchmarks.traffic.load import host_and_port, whole_length


class Submitter(asyncio.Protocol):
    """A submission on it waits for the answer to the one before."""

    def __init__(self, head: str) -> None:
        self._head = head
        self._received = b""
        self._answered: asyncio.Future[Any] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    async def submit(self, path: str, body: bytes, more: str = "") -> tuple[float, Any]:
        """When the request was written, by the clock that all processes share; and the answer.

        `more`: further lines of its head.
        """
        while self._answered is not None:
            await self._answered
        self._answered = asyncio.get_running_loop().create_future()
        request = f"POST {path} HTTP/1.1\r\n{self._head}{more}Content-Length: {len(body)}\r\n\r\n"
        sent_at = time.time()
        self.transport.write(request.encode() + body)
        return sent_at, await self._answered

    def data_received(self, data: bytes) -> None:
        self._received += data
        length = whole_length(self._received)
        if length is None or len(self._received) < length:
            return
        answer, self._received = self._received, b""
        answered, self._answered = self._answered, None
        assert answered is not None, "an answer that nobody waits for"
        if answer[9:12] == b"201":
            answered.set_result(msgspec.json.decode(answer[answer.index(b"\r\n\r\n") :]))
        else:
            answered.set_exception(RuntimeError(f"refused: {answer[:500]!r}"))

    def connection_lost(self, _error: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(ConnectionError("the server closed a connection"))


async def connect(address: str, headers: Mapping[str, str]) -> Submitter:
    host, port = host_and_port(address)
    lines = {"Host": f"{host}:{port}", "Content-Type": "application/json", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    _, submitter = await asyncio.get_running_loop().create_connection(
        lambda: Submitter(head), host, port
    )
    return submitter
