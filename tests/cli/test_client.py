"""The wire: one kept connection, the key in its header, safe repeats, deadlines."""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import replace
from threading import Event, Thread

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says, problem
from tests.cli.things import JOB_ID, job
from windlass.cli.exits import Stopped, Unreachable
from windlass.cli.http.client import Client
from windlass.cli.http.problem import Refused
from windlass.sdk.http import connections, http_transport


def test_calls_share_one_connection_and_carry_the_key(peer: Peer) -> None:
    with Client(peer.url, "wlk_1") as client:
        for _ in range(3):
            client.get("/v1/jobs")
    assert len({call.connection for call in peer.calls}) == 1
    assert {call.headers["authorization"] for call in peer.calls} == {"Bearer wlk_1"}


def test_a_lost_answer_is_asked_for_again_under_the_same_idempotency_key(peer: Peer) -> None:
    peer.answer(Says(status=0, hangs_up=True), Says(json={"id": "job_1"}))
    with Client(peer.url, None) as client:
        assert client.post("/v1/jobs", {"kind": "noop"}).value == {"id": "job_1"}
    first, second = peer.calls
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"] != ""
    assert first.body == second.body


def test_a_connection_closed_while_idle_is_opened_again(peer: Peer) -> None:
    peer.answer(Says(json={}, hangs_up=True), Says(json={}))
    with Client(peer.url, None) as client:
        client.get("/v1/jobs")
        client.get("/v1/jobs")
    assert len(peer.calls) == 2


def test_a_server_that_hangs_up_on_every_call_is_unreachable(peer: Peer) -> None:
    peer.answer(Says(status=0, hangs_up=True))
    with pytest.raises(Unreachable, match="cannot reach Windlass"):
        Client(peer.url, None).get("/v1/jobs")
    assert len(peer.calls) == 2


def test_a_change_whose_answer_was_lost_is_not_made_again(peer: Peer) -> None:
    peer.answer(Says(status=0, hangs_up=True))
    with pytest.raises(Unreachable, match="cannot reach Windlass"):
        Client(peer.url, None).patch("/v1/cluster", {"workers": 4})
    assert len(peer.calls) == 1


def test_a_busy_server_is_told_at_once(peer: Peer) -> None:
    peer.answer(problem(503, detail="starting"), Says(json={}))
    with Client(peer.url, None) as client, pytest.raises(Refused, match="starting"):
        client.get("/v1/jobs")
    assert len(peer.calls) == 1


def test_a_server_that_never_answers_is_given_up_at_the_deadline(peer: Peer) -> None:
    let_go = Event()

    def never(_: Call) -> Says:
        let_go.wait(30)
        return Says()

    peer.answer_by(never)
    with pytest.raises(Unreachable, match=r"did not answer within 0\.1 s"):
        Client(peer.url, None).get("/v1/jobs", seconds=0.1)
    let_go.set()


def test_an_answer_that_drips_for_ever_ends_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}", None)
        stop = Event()

        def drip() -> None:
            wire, _ = server.accept()
            with wire, suppress(OSError):  # who has given up is gone
                wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while not stop.wait(0.02):
                    wire.sendall(b"x")

        dripping = Thread(target=drip)
        dripping.start()
        with pytest.raises(Unreachable, match="did not answer within"):
            client.get("/v1/jobs", seconds=0.2)
        stop.set()
        dripping.join()


def test_an_answer_larger_than_the_limit_is_not_read_on(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = replace(connections._BOUNDS, body_bytes_max=1000)
    monkeypatch.setattr(connections, "_BOUNDS", bounds)
    monkeypatch.setattr(http_transport, "ANSWER_BYTES_MAX", 1000)
    peer.answer(Says(raw=b"x" * 200_000))
    with pytest.raises(Stopped, match="larger than 1000 bytes"):
        Client(peer.url, None).get("/v1/jobs")


def test_a_server_below_a_path_is_reached_there(peer: Peer) -> None:
    with Client(f"{peer.url}/windlass/", None) as client:
        client.get("/v1/jobs", {"tag": "a&b", "state": ["x", "y"]})
    [call] = peer.calls
    assert call.path == "/windlass/v1/jobs"
    assert call.query == {"tag": ["a&b"], "state": ["x", "y"]}


def test_a_name_cannot_lead_to_another_path(windlass: Windlass, peer: Peer) -> None:
    windlass("queue", "get", "../jobs?x=1")
    assert peer.calls[0].path == "/v1/queues/..%2Fjobs%3Fx%3D1"


def test_address_and_key_may_stand_before_the_command(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=job()))
    for words in (
        ["--url", peer.url, "--token=wlk_2", "job", "get", JOB_ID],
        ["job", "get", JOB_ID, "--url", peer.url, "--token", "wlk_2"],
    ):
        assert windlass(*words).code == 0
    assert {call.headers["authorization"] for call in peer.calls} == {"Bearer wlk_2"}
