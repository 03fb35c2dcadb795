"""Waiting for a job: what is printed where, and the exit code that says how it ended."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import JOB_ID, job


@pytest.mark.parametrize(
    ("state", "exit_code"),
    [("succeeded", 0), ("dead", 1), ("expired", 1), ("skipped", 1), ("cancelled", 8)],
)
def test_the_exit_code_says_how_the_job_ended(
    windlass: Windlass, peer: Peer, state: str, exit_code: int
) -> None:
    peer.answer(
        Says(json=job()), Says(json=job(state="running", attempt=1)), Says(json=job(state=state))
    )
    ended = windlass("job", "watch", JOB_ID)
    assert ended.code == exit_code
    told = ended.err.splitlines()
    assert told[:2] == [f"{JOB_ID} queued", f"{JOB_ID} running, attempt 1 of 5"]
    assert told[2] == f"{JOB_ID} {state}"


def test_submit_and_wait_ends_with_the_result_alone_on_standard_output(
    windlass: Windlass, peer: Peer
) -> None:
    done = job(state="succeeded", result={"sum": 3})
    # --wait takes a value only behind =, so it may stand before the kind.
    for words in (["--wait", "noop"], ["noop", "--wait"], ["noop", "--wait=20s"]):
        peer.answer(Says(status=201, json=job()), Says(json=done))
        ended = windlass("job", "submit", *words)
        assert ended.code == 0
        assert json.loads(ended.out) == {"sum": 3}
    assert peer.calls[1].query == {"wait": ["20.000s"]}


def test_a_failed_job_prints_no_result_and_says_why(windlass: Windlass, peer: Peer) -> None:
    error = {"cause": "ValueError", "message": "no such address"}
    peer.answer(Says(json=job(state="dead", error=error)))
    ended = windlass("job", "watch", JOB_ID)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.endswith(f"{JOB_ID} dead: ValueError: no such address\n")


def test_with_json_the_whole_job_is_printed_however_it_ended(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json=job(state="dead")))
    ended = windlass("job", "watch", JOB_ID, "-o", "json")
    assert ended.code == 1
    assert json.loads(ended.out) == job(state="dead")
    assert windlass("job", "watch", JOB_ID, "-o", "id").out == f"{JOB_ID}\n"


def test_a_wait_that_is_over_exits_with_7_and_says_how_to_go_on(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json=job(state="running")))
    ended = windlass("job", "watch", JOB_ID, "--timeout", "50ms")
    assert (ended.code, ended.out) == (7, "")
    assert f"still running after 0.05 s; it goes on without us: windlass job watch {JOB_ID}" in (
        ended.err
    )


def test_a_server_that_restarts_meanwhile_does_not_end_the_wait(
    windlass: Windlass, peer: Peer
) -> None:
    away = Says(status=0, hangs_up=True)
    busy = problem(503, code="unavailable", detail="starting")
    # A lost connection is tried twice by the client itself.
    peer.answer(Says(json=job()), away, away, busy, Says(json=job(state="succeeded")))
    ended = windlass("job", "watch", JOB_ID)
    assert ended.code == 0
    assert "the server does not answer; trying again" in ended.err


def test_a_job_that_was_removed_meanwhile_ends_the_wait(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=job()), problem(404, code="not_found", detail="there is no job"))
    assert windlass("job", "watch", JOB_ID).code == 3
