"""Callers who mean no good, from a process of their own: to loopback alone, and for so long.

Each kind of siege is a coroutine that goes on until its time is over. None waits for a good answer,
and none is stopped by a bad one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, Final

import aiohttp
import msgspec

from benchmarks import child
from benchmarks.limits import (
    SIEGE_BATCH_BYTES,
    SIEGE_HEAD_BYTES,
    SIEGE_NICENESS,
    SIEGE_SECONDS_MAX,
    SIEGE_SILENT,
)
from benchmarks.traffic.load import host_and_port

# What is sent in one go.
PIECE: Final = 64 * 1024
ZONE: Final = "timestamp('2031-05-01T12:00:00Z').getHours('Nowhere/' + string(a))"
NUMBERS: Final = {"list": list(range(20_000))}
EXPRESSIONS: Final = {
    "name": "hostile-expressions",
    "steps": [
        {"id": "a", "kind": "noop", "if": "${inputs.list.all(a, " + ZONE + " == 1 || true)}"},
        {"id": "b", "kind": "noop", "input": {"n": "${size(inputs.list.map(a, string(a)))}"}},
    ],
}
TEXTS: Final = {"list": [f"{n}" + "a" * 30 for n in range(10_000)]}
SCHEMAS: Final = {
    "name": "hostile-schemas",
    "inputs": {
        "type": "object",
        "properties": {
            "list": {
                "type": "array",
                "uniqueItems": True,
                "items": {"type": "string", "pattern": "^(a|b|[0-9])*c?$"},
            }
        },
    },
    "steps": [{"id": "a", "kind": "noop"}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Siege:
    kind: str
    address: str  # http://127.0.0.1:port
    headers: Mapping[str, str] = field(default_factory=dict)  # a key; strangers leave it out
    seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of it: answers by status, and connections that were cut."""

    answers: dict[str, int]
    cut: int
    processor_seconds: float  # that the callers themselves took of the machine


async def lay(siege: Siege) -> Told:
    return await child.call(child.python("benchmarks.traffic.siege"), siege, Told)


class Tally:
    def __init__(self) -> None:
        self.answers: dict[str, int] = {}
        self.cut = 0

    def answered(self, status: str) -> None:
        self.answers[status] = self.answers.get(status, 0) + 1


async def lay_here(siege: Siege) -> Told:
    host, _ = host_and_port(siege.address)
    assert host == "127.0.0.1", "never anybody else's machine"
    assert 0 < siege.seconds <= SIEGE_SECONDS_MAX
    _stand_back()
    tally = Tally()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(siege.seconds):
            await KINDS[siege.kind](siege, tally)
    return Told(answers=tally.answers, cut=tally.cut, processor_seconds=process_time())


def _stand_back() -> None:
    """They would have a machine of their own."""
    os.nice(SIEGE_NICENESS)
    with contextlib.suppress(OSError):
        # Where Linux shares the processor out by sessions, and each child has its own (sched(7)).
        Path("/proc/self/autogroup").write_text(str(SIEGE_NICENESS))


async def _silent(siege: Siege, tally: Tally) -> None:
    """So many connections that say nothing; for one that is cut another comes."""
    host, port = host_and_port(siege.address)

    async def sit() -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(host, port)
            except OSError:
                await asyncio.sleep(0.5)
                continue
            with contextlib.suppress(OSError):
                await reader.read()
            tally.cut += 1
            writer.close()
            await asyncio.sleep(0.1)

    await asyncio.gather(*(sit() for _ in range(SIEGE_SILENT)))


async def _heads(siege: Siege, tally: Tally) -> None:
    """Heads without end: one line, many lines, an address."""
    start = b"GET /health/live HTTP/1.1\r\nHost: a\r\n"
    pieces = {
        start + b"X: ": b"a" * PIECE,
        start: b"X: a\r\n" * (PIECE // 6),
        b"GET /": b"a" * PIECE,
        start + b"Transfer-Encoding: chunked\r\n\r\n1;": b"a" * PIECE,
    }

    async def send(begin: bytes, piece: bytes) -> None:
        host, port = host_and_port(siege.address)
        while True:
            try:
                reader, writer = await asyncio.open_connection(host, port)
            except OSError:
                await asyncio.sleep(0.5)
                continue
            try:
                writer.write(begin)
                for _ in range(SIEGE_HEAD_BYTES // len(piece)):
                    writer.write(piece)
                    await writer.drain()
                said = await asyncio.wait_for(reader.read(16), 1)
                tally.answered(said[9:12].decode())
            except (OSError, TimeoutError):
                tally.cut += 1
            writer.close()
            await asyncio.sleep(0.02)

    await asyncio.gather(*(send(begin, piece) for begin, piece in pieces.items()))


def _large_batch() -> bytes:
    text = "a" * (SIEGE_BATCH_BYTES // 10_000 - 80)
    job = {"kind": "noop", "delay": "7d", "input": {"text": text}}
    return msgspec.json.encode({"jobs": [job] * 10_000})


def _filled(begin: bytes, repeated: bytes, end: bytes) -> bytes:
    return begin + repeated * ((SIEGE_BATCH_BYTES - 200) // len(repeated)) + end


async def _batches(siege: Siege, tally: Tally) -> None:
    """Batches as large as may be: of jobs, and of what takes most when it is parsed."""
    bodies: list[Callable[[], bytes]] = [
        _large_batch,
        lambda: _filled(b'{"jobs":[{"kind":"noop","input":{"a":[', b"[],", b"[]]}}]}"),
        lambda: _filled(b'{"jobs":[', b"0,", b"0]}"),
        lambda: _filled(b'{"jobs":[', b'{"kind":"noop"},', b"{}]}"),
    ]

    async def send(session: aiohttp.ClientSession, first: int) -> None:
        number = first
        while True:
            body = bodies[number % len(bodies)]()
            number += 1
            await _post(session, f"{siege.address}/v1/jobs/batch", _pieces(body), tally)

    async with _session(siege) as session:
        await asyncio.gather(send(session, 0), send(session, 2))


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]


async def _expressions(siege: Siege, tally: Tally) -> None:
    await _executions(siege, tally, EXPRESSIONS, NUMBERS)


async def _schemas(siege: Siege, tally: Tally) -> None:
    await _executions(siege, tally, SCHEMAS, TEXTS)


async def _executions(
    siege: Siege, tally: Tally, definition: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Executions of a workflow whose definition is as much work as may be."""

    async def start(session: aiohttp.ClientSession) -> None:
        path = f"{siege.address}/v1/workflows/{definition['name']}/executions"
        body = msgspec.json.encode({"input": given})
        while True:
            await _post(session, path, body, tally)

    async with _session(siege) as session:
        await _post(
            session, f"{siege.address}/v1/workflows", msgspec.json.encode(definition), tally
        )
        await asyncio.gather(*(start(session) for _ in range(4)))


def _session(siege: Siege) -> aiohttp.ClientSession:
    headers = {**siege.headers, "Content-Type": "application/json"}
    return aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None))


async def _post(session: aiohttp.ClientSession, url: str, body: Any, tally: Tally) -> None:
    try:
        async with session.post(url, data=body) as answer:
            await answer.read()
            tally.answered(str(answer.status))
            await asyncio.sleep(min(5.0, float(answer.headers.get("Retry-After", 0))))
    except (aiohttp.ClientError, OSError):
        tally.cut += 1
        await asyncio.sleep(0.1)


KINDS: Final[dict[str, Callable[[Siege, Tally], Awaitable[None]]]] = {
    "silent": _silent,
    "heads": _heads,
    "batches": _batches,
    "expressions": _expressions,
    "schemas": _schemas,
}


if __name__ == "__main__":
    child.answer(Siege, lay_here)
