"""Many jobs from a file: every shape of file, chunks, places, and what a refusal leaves."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says, problem
from tests.cli.things import numbered
from windlass.cli.verbs.job import file as job_file


def accept(peer: Peer) -> None:
    """Take every batch and number the jobs through."""
    taken = 0

    def answer(call: Call) -> Says:
        nonlocal taken
        count = len(call.json["jobs"])
        taken += count
        return Says(status=201, json={"ids": [numbered(n) for n in range(taken - count, taken)]})

    peer.answer_by(answer)


def kinds(peer: Peer) -> list[list[str]]:
    return [[job["kind"] for job in call.json["jobs"]] for call in peer.calls]


JOBS: list[Any] = [{"kind": "a"}, {"kind": "b", "input": {"text": "é\n"}}, {"kind": "c"}]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(JOBS),
        json.dumps(JOBS, indent=2),
        json.dumps({"jobs": JOBS}),
        json.dumps({"jobs": JOBS}, indent=1),
        "\n".join(map(json.dumps, JOBS)),
        "\n\n" + "\r\n\r\n".join(map(json.dumps, JOBS)) + "\n\n",
    ],
    ids=["list", "indented list", "object", "indented object", "lines", "lines with gaps"],
)
def test_every_shape_of_file_gives_the_same_jobs(
    windlass: Windlass, peer: Peer, tmp_path: Path, text: str
) -> None:
    accept(peer)
    (tmp_path / "jobs").write_text(text, newline="")
    ended = windlass("job", "submit", "--file", str(tmp_path / "jobs"))
    assert ended.code == 0
    assert ended.out == f"3 jobs submitted, {numbered(0)} to {numbered(2)}\n"
    [call] = peer.calls
    assert call.json == {"jobs": JOBS}


def test_standard_input_is_read_too_and_ids_are_printed_one_a_line(
    windlass: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(peer)
    stdin = io.TextIOWrapper(io.BytesIO(b'{"kind": "a"}\n{"kind": "b"}\n'))
    monkeypatch.setattr(sys, "stdin", stdin)
    ended = windlass("job", "submit", "--file", "-", "-o", "id")
    assert ended.out == f"{numbered(0)}\n{numbered(1)}\n"


def test_a_long_file_goes_in_chunks_of_ten_thousand_in_order(
    windlass: Windlass, peer: Peer, tmp_path: Path
) -> None:
    accept(peer)
    lines = (json.dumps({"kind": f"k{n}"}) for n in range(20_001))
    (tmp_path / "jobs.jsonl").write_text("\n".join(lines))
    ended = windlass("job", "submit", "--file", str(tmp_path / "jobs.jsonl"), "-o", "json")
    assert len(json.loads(ended.out)["ids"]) == 20_001
    assert [len(chunk) for chunk in kinds(peer)] == [10_000, 10_000, 1]
    assert [kind for chunk in kinds(peer) for kind in chunk] == [f"k{n}" for n in range(20_001)]


def test_chunks_stay_below_the_cap_on_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_file, "CHUNK_BYTES_MAX", 100)
    jobs: list[dict[str, Any]] = [{"kind": "x" * 40}] * 5
    assert [len(chunk) for chunk in job_file.chunks(jobs)] == [1, 1, 1, 1, 1]
    jobs = [{"kind": "x" * 20}] * 5
    assert [len(chunk) for chunk in job_file.chunks(jobs)] == [3, 2]


def test_a_place_counts_through_the_whole_file_whatever_the_chunks(
    windlass: Windlass, peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_file, "BATCH_JOBS_MAX", 2)
    accept(peer)
    jobs: list[dict[str, Any]] = [
        {"kind": "a"},
        {"kind": "b", "depends_on": ["#0"]},
        {"kind": "c", "depends_on": ["#0", "#3", "job_x"]},
        {"kind": "d"},
    ]
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    assert windlass("job", "submit", "--file", str(tmp_path / "jobs.json")).code == 0
    first, second = (call.json["jobs"] for call in peer.calls)
    assert first[1]["depends_on"] == ["#0"]
    assert second[0]["depends_on"] == [numbered(0), "#1", "job_x"]


def test_a_refused_chunk_says_what_is_in_and_how_to_go_on(
    windlass: Windlass, peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_file, "BATCH_JOBS_MAX", 2)
    full = problem(429, code="queue_full", detail="queue 'default' is full")
    peer.answer(Says(status=201, json={"ids": [numbered(0), numbered(1)]}), full)
    (tmp_path / "jobs.jsonl").write_text('{"kind": "noop"}\n' * 3)
    ended = windlass(
        *["job", "submit", "--file", str(tmp_path / "jobs.jsonl")],
        *["--idempotency-key", "load-7", "-o", "id"],
    )
    assert ended.code == 6
    assert ended.out.split() == [numbered(0), numbered(1)]
    assert "2 jobs were submitted, and none of #2 to #2" in ended.err
    assert "run the same command with --idempotency-key load-7" in ended.err
    keys = [call.headers["idempotency-key"] for call in peer.calls]
    assert keys == ["load-7:0", "load-7:1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no jobs"),
        ("[]", "holds no jobs"),
        ("7", "must hold a JSON list of jobs"),
        ("[7]", "#0 is not a job"),
        ('{"kind": "a"}\n7', "line 2 is not a job"),
        ('{"kind": "a"}\n{"kind"', "line 2 is not JSON"),
        ("{nonsense", "it is not JSON"),
    ],
)
def test_a_file_that_holds_something_else_is_a_usage_error(
    windlass: Windlass, peer: Peer, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "jobs").write_text(text)
    ended = windlass("job", "submit", "--file", str(tmp_path / "jobs"))
    assert ended.code == 2
    assert said in ended.err
    assert peer.calls == []


def test_a_file_that_is_not_there_is_a_usage_error(windlass: Windlass) -> None:
    ended = windlass("job", "submit", "--file", "nowhere.jsonl")
    assert ended.code == 2
    assert "cannot read nowhere.jsonl: No such file or directory" in ended.err
