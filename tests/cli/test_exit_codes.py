"""Every way a server can refuse has its exit code and says why on standard error."""

from __future__ import annotations

import socket

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import JOB_ID, job, numbered


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "malformed_body", 2),
        (401, "unauthorized", 4),
        (403, "forbidden", 4),
        (404, "not_found", 3),
        (409, "conflict", 5),
        (413, "body_too_large", 6),
        (422, "invalid_input", 2),
        (422, "idempotency_mismatch", 5),
        (429, "queue_full", 6),
        (500, "internal", 1),
        (503, "unavailable", 9),
    ],
)
def test_a_refusal_has_its_exit_code(
    windlass: Windlass, peer: Peer, status: int, code: str, exit_code: int
) -> None:
    peer.answer(problem(status, code=code, detail="that will not do"))
    ended = windlass("job", "get", JOB_ID)
    assert (ended.code, ended.out) == (exit_code, "")
    assert ended.err.startswith("error: that will not do\n")


def test_every_pointer_of_a_refusal_is_printed(windlass: Windlass, peer: Peer) -> None:
    errors = [{"pointer": f"/jobs/{n}/kind", "detail": f"wrong {n}"} for n in range(130)]
    peer.answer(problem(422, code="invalid_input", detail="see errors", errors=errors))
    ended = windlass("job", "submit", "noop")
    lines = ended.err.splitlines()
    assert lines[:2] == ["error: see errors", "  /jobs/0/kind: wrong 0"]
    assert lines[100:] == ["  /jobs/99/kind: wrong 99", "  and 30 more"]


def test_a_full_queue_says_when_to_try_again(windlass: Windlass, peer: Peer) -> None:
    full = problem(429, code="queue_full", detail="queue 'mail' holds 5 of 5 jobs")
    peer.answer(Says(status=429, json=full.json, headers={"Retry-After": "5"}))
    ended = windlass("job", "submit", "noop", "--queue", "mail")
    assert ended.code == 6
    assert ended.err == "error: queue 'mail' holds 5 of 5 jobs\n  try again in 5 s\n"


def test_without_a_key_it_says_how_to_give_one(windlass: Windlass, peer: Peer) -> None:
    peer.answer(problem(401, code="unauthorized", detail="send a key"))
    assert "set WINDLASS_TOKEN" in windlass("job", "ls").err


def test_an_unexpected_error_names_the_request_to_look_up(windlass: Windlass, peer: Peer) -> None:
    peer.answer(problem(500, code="internal", detail="oh", request_id="req_7"))
    assert windlass("job", "ls").err == "error: oh\n  request id: req_7\n"


def test_an_answer_of_something_else_than_windlass_is_told_apart(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(status=502, raw=b"<h1>Bad\n gateway</h1>", headers={"Content-Type": "text"}))
    ended = windlass("job", "ls")
    assert ended.code == 9
    assert ended.err == "error: the server answered 502: <h1>Bad gateway</h1>\n"
    for raw in (b"<h1>Welcome</h1>", b"[]", b""):
        peer.answer(Says(raw=raw))
        for words in (["job", "ls"], ["job", "get", JOB_ID, "-o", "json"], ["node", "ls"]):
            ended = windlass(*words)
            assert (ended.code, ended.out) == (1, "")
            assert "is --url the address of the server itself?" in ended.err


def test_a_redirect_is_not_followed(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=302, raw=b"", headers={"Location": "/elsewhere"}))
    ended = windlass("job", "ls")
    assert ended.code == 1
    assert [call.path for call in peer.calls] == ["/v1/jobs"]


def test_cancelling_what_runs_says_that_it_was_asked_to_stop(
    windlass: Windlass, peer: Peer
) -> None:
    asked = job(state="running", attempt=1, cancel_requested_at="2026-01-31T12:00:00Z")
    peer.answer(Says(status=202, json=asked))
    assert windlass("job", "cancel", JOB_ID).out == f"{JOB_ID} running in default, asked to stop\n"


def test_nobody_at_the_address_is_unreachable(windlass: Windlass) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        ended = windlass("job", "ls", "--url", url)
    assert ended.code == 9
    assert f"cannot reach Windlass at {url}: Connection refused" in ended.err
    assert "windlass up" in ended.err


def test_several_are_all_tried_and_the_first_refusal_decides(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(
        Says(json=job(state="cancelled")),
        problem(404, detail="there is no job 'b'"),
        problem(409, detail="c has ended"),
        Says(json=job(state="cancelled")),
    )
    ids = [numbered(n) for n in range(4)]
    ended = windlass("job", "cancel", *ids)
    assert ended.code == 3
    assert [call.path for call in peer.calls] == [f"/v1/jobs/{one}/cancel" for one in ids]
    assert ended.out == f"{JOB_ID} cancelled in default\n" * 2
    assert ended.err == "error: there is no job 'b'\nerror: c has ended\n"
