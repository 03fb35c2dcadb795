"""`windlass job submit`: from options to the job object."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says
from tests.cli.things import JOB_ID, job, numbered


def test_a_kind_alone_is_a_job(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json=job()))
    ended = windlass("job", "submit", "noop")
    assert ended.code == 0
    assert ended.out.startswith(f"{JOB_ID} queued in default, due ")
    [call] = peer.calls
    assert (call.method, call.path, call.json) == ("POST", "/v1/jobs", {"kind": "noop"})


def test_every_option_is_a_field_of_the_object(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json=job()))
    ended = windlass(
        *["job", "submit", "http", "-o", "id"],
        *["--input", '{"url": "https://example.org", "n": 1.5}'],
        *["--queue", "mail", "--priority", "high", "--delay", "90", "--timeout", "30s"],
        *["--run-at", "2030-01-01T00:00:00Z", "--deadline", "2030-01-02T00:00:00Z"],
        *["--retry", '{"initial": "1s"}', "--max-attempts", "7"],
        *["--depends-on", numbered(1), "--depends-on", numbered(2), "--on-parent-failure", "run"],
        *["--key", "order-42", "--tag", "a", "--tag", "b", "--correlation-id", "c-1"],
        *["--idempotency-key", "once"],
    )
    assert ended.out == f"{JOB_ID}\n"
    [call] = peer.calls
    assert call.headers["idempotency-key"] == "once"
    assert call.json == {
        "kind": "http",
        "input": {"url": "https://example.org", "n": 1.5},
        "queue": "mail",
        "priority": "high",
        "delay": 90.0,
        "timeout": "30s",
        "run_at": "2030-01-01T00:00:00Z",
        "deadline": "2030-01-02T00:00:00Z",
        "retry": {"initial": "1s", "max_attempts": 7},
        "depends_on": [numbered(1), numbered(2)],
        "on_parent_failure": "run",
        "key": "order-42",
        "tags": ["a", "b"],
        "correlation_id": "c-1",
    }


def test_the_input_may_come_from_a_file_or_from_standard_input(
    windlass: Windlass, peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.answer(Says(status=201, json=job()))
    (tmp_path / "input.json").write_text('{"from": "file é"}')
    windlass("job", "submit", "noop", "--input", f"@{tmp_path / 'input.json'}")
    stdin = io.TextIOWrapper(io.BytesIO(b'{"from": "stdin"}'))
    monkeypatch.setattr(sys, "stdin", stdin)
    windlass("job", "submit", "noop", "--input", "-")
    assert [call.json["input"] for call in peer.calls] == [{"from": "file é"}, {"from": "stdin"}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--input", "{to: me}"], "is it in single quotes?"),
        (["--input", "[1]"], "--input must be a JSON object"),
        (["--input", '{"a": 1, "a": 2}'], "the key 'a' stands twice"),
        (["--input", '{"a": NaN}'], "NaN is not JSON"),
        (["--input", "@nowhere.json"], "cannot read nowhere.json: No such file"),
        (["--retry", "5"], "--retry must be a JSON object"),
        (["--priority", "huge"], "huge"),
        (["--wait=soon"], "--wait: 'soon' is not a duration"),
        (["--idempotency-key", "é"], "--idempotency-key may hold printable ASCII"),
        (["--file", "jobs.json"], "give it without a kind"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    windlass: Windlass, peer: Peer, words: list[str], said: str
) -> None:
    ended = windlass("job", "submit", "noop", *words)
    assert ended.code == 2
    assert said in ended.err
    assert peer.calls == []


def test_a_job_without_a_kind_is_a_usage_error(windlass: Windlass) -> None:
    ended = windlass("job", "submit", "--queue", "mail")
    assert ended.code == 2
    assert "say what kind of job" in ended.err


def test_a_replayed_answer_is_told_from_a_new_job(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=job(state="succeeded"), headers={"Idempotent-Replayed": "true"}))
    ended = windlass("job", "submit", "noop", "--idempotency-key", "k")
    assert (
        ended.out == f"{JOB_ID} succeeded in default, submitted before with this idempotency key\n"
    )


def test_odd_characters_reach_the_server_which_is_the_judge(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json=job()))
    windlass("job", "submit", "noop", "--input", '{"half": "\\ud800", "tag": "é"}')
    assert peer.calls[0].body.isascii()
    assert json.loads(peer.calls[0].body)["input"] == {"half": "\ud800", "tag": "é"}
