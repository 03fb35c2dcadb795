"""`windlass job complete`: one thing is said, with the token of the delivery."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import JOB_ID
from windlass.cli.exits import Exit


def stands(**changes: Any) -> Says:
    at = "2026-01-31T12:00:00Z"
    told = {"id": JOB_ID, "state": "succeeded", "attempt": 1, "run_at": at, "finished_at": at}
    return Says(json={**told, "callback_until": None, **changes})


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ([], {"state": "succeeded"}),
        (["--result", '{"a": 1}'], {"state": "succeeded", "result": {"a": 1}}),
        (
            ["--failed", "no room"],
            {"state": "failed", "error": {"message": "no room"}, "is_final": False},
        ),
        (
            ["--failed", "no room", "--final"],
            {"state": "failed", "error": {"message": "no room"}, "is_final": True},
        ),
        (["--extend", "10m"], {"extend": "10m"}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_what_was_typed_is_what_is_said(
    windlass: Windlass, peer: Peer, words: list[str], body: dict[str, Any]
) -> None:
    peer.answer(stands())
    assert windlass("job", "complete", JOB_ID, "tok", *words).code == Exit.OK
    [call] = peer.calls
    assert (call.method, call.path) == ("POST", f"/v1/jobs/{JOB_ID}/complete")
    assert call.json == {"token": "tok", **body}


def test_it_shows_where_the_job_stands(windlass: Windlass, peer: Peer) -> None:
    peer.answer(stands())
    assert windlass("job", "complete", JOB_ID, "tok").out == f"{JOB_ID} succeeded\n"
    peer.answer(stands(state="running", callback_until="2026-01-31T12:10:00Z"))
    shown = windlass("job", "complete", JOB_ID, "tok", "--extend", "10m").out
    assert shown.startswith(f"{JOB_ID} running, may take until ")
    peer.answer(stands(state="queued"))
    shown = windlass("job", "complete", JOB_ID, "tok", "--failed", "x").out
    assert shown.startswith(f"{JOB_ID} queued, due ")
    peer.answer(stands())
    assert '"attempt": 1' in windlass("job", "complete", JOB_ID, "tok", "-o", "json").out


@pytest.mark.parametrize("words", ["--result 1 --extend 5s", "--failed x --extend 5s", "--final"])
def test_two_things_at_once_are_not_said(windlass: Windlass, peer: Peer, words: str) -> None:
    assert windlass("job", "complete", JOB_ID, "tok", *words.split()).code == Exit.USAGE
    assert peer.calls == []


def test_a_wrong_token_is_not_allowed_and_a_late_one_a_conflict(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(problem(403, code="wrong_token"))
    assert windlass("job", "complete", JOB_ID, "tok").code == Exit.NOT_ALLOWED
    peer.answer(problem(409, code="not_awaiting"))
    assert windlass("job", "complete", JOB_ID, "tok").code == Exit.CONFLICT
