"""A server at the other end of the line that answers what a test tells it to.

It speaks real HTTP over a real socket, so what is tested is what goes over the wire.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]  # names in lower case
    body: bytes
    connection: int  # the same number: the same connection

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """One answer. `hangs_up`: the connection is closed, before any answer when status is 0."""

    status: int = 200
    json: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hangs_up: bool = False


def problem(status: int, **facts: Any) -> Says:
    document = {"type": "urn:test", "title": "A title", "status": status, **facts}
    return Says(status=status, json=document, headers={"Content-Type": "application/problem+json"})


Answering = Callable[[Call], Says]


class Peer:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.answering: Answering = lambda call: Says(json={})
        self.url = ""

    def answer(self, *answers: Says) -> None:
        """These, one after the other; the last one again and again."""
        left, lock = list(answers), Lock()

        def next_one(_: Call) -> Says:
            with lock:
                return left.pop(0) if len(left) > 1 else left[0]

        self.answering = next_one

    def answer_by(self, answering: Answering) -> None:
        self.answering = answering


@contextmanager
def running_peer() -> Iterator[Peer]:
    peer = Peer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            call = Call(
                method=self.command,
                path=parts.path,
                query=parse_qs(parts.query),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(length),
                connection=self.client_address[1],
            )
            peer.calls.append(call)
            self._say(peer.answering(call))

        def _say(self, says: Says) -> None:
            self.close_connection = says.hangs_up
            if says.status == 0:
                return
            body = says.raw if says.raw is not None else json.dumps(says.json).encode()
            if says.status == 204:
                body = b""  # whoever reads it expects none, and would take it for the next answer
            headers = {"Content-Type": "application/json", **says.headers}
            self.send_response(says.status)
            for name, value in headers.items():
                self.send_header(name, value)
            # A stream says by its end that it is over, not by a length; some say a wrong one.
            if headers["Content-Type"] != "text/event-stream" and "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Tests say what matters."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A caller that hangs up is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    peer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
