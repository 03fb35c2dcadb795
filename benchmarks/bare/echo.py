"""The bare speed of a request: a route that decodes its JSON body and sends it back.

On what the API of a node stands on (msgspec, uvicorn, uvloop and httptools), with Starlette's own
routing, on a free loopback port, in a process of its own.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks import child
from benchmarks.limits import LOAD_REQUESTS
from benchmarks.measure import Sample
from benchmarks.rows import PAYLOAD
from benchmarks.traffic import load

PATH = "/echo"


class Submission(msgspec.Struct):
    """What a small job looks like on the wire."""

    kind: str
    input: dict[str, object]
    queue: str
    priority: str


decode = msgspec.json.Decoder(Submission).decode
encode = msgspec.json.Encoder().encode


async def echo(request: Request) -> Response:
    return Response(encode(decode(await request.body())), 201, media_type="application/json")


def body(_number: int) -> bytes:
    return encode(Submission(kind="noop", input=dict(PAYLOAD), queue="default", priority="normal"))


@asynccontextmanager
async def server() -> AsyncIterator[str]:
    """A running echo server; yields its address."""
    async with child.serving(child.python("benchmarks.bare.echo")) as echoing:
        yield echoing.address


async def measure(*, requests: int = LOAD_REQUESTS) -> Sample:
    """Requests per second that the echo route answers."""
    async with server() as address:
        report = await load.generate(
            load.Load(address=address, path=PATH, body="benchmarks.bare.echo:body", count=requests)
        )
    return report.sample()


class EchoServer(uvicorn.Server):
    """Says where it listens once it does, and not before."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()
        print(f"{child.READY}http://{host}:{port}", flush=True)


def serve() -> None:
    child.end_with_parent()
    config = uvicorn.Config(
        Starlette(routes=[Route(PATH, echo, methods=["POST"])]),
        host="127.0.0.1",
        port=0,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
    )
    EchoServer(config).run()


if __name__ == "__main__":
    serve()
