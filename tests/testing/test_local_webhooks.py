"""Webhooks of a test go to a receiver of the test, with retries and breakers in virtual time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.testing.shop import app
from windlass.testing.local import LocalMaker


class Receiver(HTTPServer):
    """Answers with `statuses` in turn, then 200; keeps the headers that came."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.came: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.came.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def one_receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def receiver(one_receiver: Receiver) -> Receiver:
    """The same host for all tests, with nothing in its hands."""
    one_receiver.came.clear()
    one_receiver.statuses.clear()
    return one_receiver


def test_a_signed_webhook_is_retried_for_days_at_once(
    windlass_local: LocalMaker, receiver: Receiver
) -> None:
    local = windlass_local(app)
    receiver.statuses = [503, 503]
    job = app.blocking.jobs.submit(kind="http", input={"url": receiver.url, "json": {"paid": True}})
    local.advance("1d")
    assert app.blocking.jobs.get(job["id"])["state"] == "succeeded"
    assert len(receiver.came) == 3
    assert len({headers["webhook-id"] for headers in receiver.came}) == 1
    assert all(headers["webhook-signature"] for headers in receiver.came)


@pytest.mark.parametrize("number", [1, 2])
def test_a_breaker_of_one_test_is_closed_for_the_next(
    windlass_local: LocalMaker, receiver: Receiver, number: int
) -> None:
    local = windlass_local(app)
    app.blocking.targets.put(f"127.0.0.1:{receiver.server_port}", breaker={"failures": 2})
    receiver.statuses = [500, 500]
    jobs = [
        app.blocking.jobs.submit(
            kind="http",
            input={"url": receiver.url, "json": number},
            retry={"initial": "1s", "jitter": False},
        )
        for _ in range(2)
    ]
    local.drain()
    [target] = list(app.blocking.targets.list())
    assert target["breaker"]["state"] == "open"
    local.advance("1h")
    states = [app.blocking.jobs.get(job["id"])["state"] for job in jobs]
    assert states == ["succeeded", "succeeded"]
