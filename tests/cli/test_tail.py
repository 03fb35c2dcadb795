"""`windlass event tail`: a stream that goes on across lost connections."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says, problem
from tests.cli.things import JOB_ID
from windlass.cli.http import tail

STREAM = {"Content-Type": "text/event-stream"}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "RETRY_PAUSE_SECONDS", 0.01)


def event(number: int) -> dict[str, Any]:
    return {
        "id": f"evt_{number}",
        "at": "2026-01-31T12:00:00.500Z",
        "type": "finished",
        "job_id": JOB_ID,
        "data": {"state": "succeeded", "attempt": number, "cause": None},
    }


def message(number: int) -> str:
    return f"id: evt_{number}\nevent: finished\ndata: {json.dumps(event(number))}\n\n"


def stream(text: str) -> Says:
    return Says(raw=text.encode(), headers=STREAM, hangs_up=True)


def test_events_are_printed_one_a_line(windlass: Windlass, peer: Peer) -> None:
    peer.answer(stream(": hello\n\n" + message(1) + ": still here\n\n" + message(2)))
    ended = windlass("event", "tail", "--count", "2")
    assert ended.code == 0
    told = f"12:00:00.500  finished          {JOB_ID}  state=succeeded attempt="
    assert ended.out == f"{told}1\n{told}2\n"
    peer.answer(stream(message(1)))
    assert windlass("event", "tail", "--count", "1", "-o", "id").out == "evt_1\n"
    ended = windlass("event", "tail", "--count", "1", "-o", "jsonl")
    assert json.loads(ended.out) == event(1)


def test_after_a_lost_connection_it_goes_on_behind_the_last_event(
    windlass: Windlass, peer: Peer
) -> None:
    cut = message(3)[:20]  # the connection breaks in the middle of the third

    def answer(call: Call) -> Says:
        match len(peer.calls):
            case 1:
                return stream(message(1) + message(2) + cut)
            case 2:
                return Says(status=0, hangs_up=True)
            case 3:
                return problem(503, detail="starting")
            case _:
                assert call.headers["last-event-id"] == "evt_2"
                return stream(message(3))

    peer.answer_by(answer)
    ended = windlass("event", "tail", "--count", "3", "-o", "id")
    assert ended.out.split() == ["evt_1", "evt_2", "evt_3"]
    assert "connecting again" in ended.err
    assert [call.headers.get("last-event-id") for call in peer.calls] == [None, *["evt_2"] * 3]


def test_it_may_begin_behind_an_event_of_the_past(windlass: Windlass, peer: Peer) -> None:
    peer.answer(stream(message(8)))
    windlass("event", "tail", "--after", "evt_7", "--count", "1", "--queue", "mail")
    assert peer.calls[0].headers["last-event-id"] == "evt_7"
    assert peer.calls[0].query == {"queue": ["mail"]}


def test_data_over_several_lines_is_one_message(windlass: Windlass, peer: Peer) -> None:
    peer.answer(stream('id:evt_1\r\ndata: {"type":\r\ndata:"x"}\r\n\r\n'))
    ended = windlass("event", "tail", "--count", "1", "-o", "json")
    assert json.loads(ended.out) == {"type": "x"}


@pytest.mark.parametrize("data", ["{", "[1]"])
def test_a_stream_of_something_else_than_windlass_is_told_apart(
    windlass: Windlass, peer: Peer, data: str
) -> None:
    peer.answer(stream(f"id: 1\ndata: {data}\n\n"))
    ended = windlass("event", "tail")
    assert (ended.code, ended.out) == (1, "")
    assert "is --url the address of the server itself?" in ended.err


@pytest.mark.parametrize(("status", "exit_code"), [(401, 4), (503, 9)])
def test_a_first_connection_that_is_refused_ends_it(
    windlass: Windlass, peer: Peer, status: int, exit_code: int
) -> None:
    peer.answer(problem(status, detail="no"))
    ended = windlass("event", "tail")
    assert ended.code == exit_code
    assert len(peer.calls) == 1
