"""The command line against a real Windlass: what a person does on the first day."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.server import Server, clean_environment, running_server
from tests.ports import free_port


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("windlass")) as running:
        yield running


@pytest.fixture
def real(windlass: Windlass, server: Server, monkeypatch: pytest.MonkeyPatch) -> Windlass:
    """The same command line, pointed at the real server."""
    monkeypatch.setenv("WINDLASS_URL", server.url)
    monkeypatch.setenv("WINDLASS_TOKEN", server.token)
    return windlass


def shown(real: Windlass, *words: str) -> Any:
    ended = real(*words, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def submitted(real: Windlass, *words: str) -> str:
    ended = real("job", "submit", *words, "-o", "id")
    assert ended.code == 0, ended.err
    return ended.out.strip()


def test_a_job_is_submitted_waited_for_and_looked_at(real: Windlass) -> None:
    ended = real("job", "submit", "noop", "--tag", "first", "--wait")
    assert (ended.code, ended.out) == (0, "null\n")
    [job] = shown(real, "job", "ls", "--tag", "first")["data"]
    assert job["state"] == "succeeded"
    assert shown(real, "job", "get", job["id"]) == job
    [attempt] = shown(real, "job", "attempts", job["id"])["data"]
    assert attempt["outcome"] == "succeeded"
    events = shown(real, "job", "events", job["id"])["data"]
    assert [event["type"] for event in events] == ["created", "started", "finished"]
    for verb in ("get", "attempts", "events", "logs", "why"):
        assert real("job", verb, job["id"]).code == 0


def test_a_job_that_is_not_due_says_so_and_can_be_cancelled_and_retried(real: Windlass) -> None:
    job = submitted(real, "noop", "--delay", "1h")
    assert "not due yet" in real("job", "why", job).out
    assert real("job", "cancel", job).code == 0
    assert real("job", "watch", job).code == 8
    assert real("job", "retry", job).code == 0
    assert real("job", "watch", job).code == 0
    assert real("job", "cancel", job).code == 5
    assert real("job", "rm", job).code == 0
    assert real("job", "get", job).code == 3


def test_a_promoted_job_runs_at_once(real: Windlass) -> None:
    job = submitted(real, "noop", "--delay", "1h")
    assert real("job", "promote", job).code == 0
    assert real("job", "watch", job).code == 0


def test_a_wait_that_ends_first_leaves_the_job_to_be_cancelled(real: Windlass) -> None:
    ended = real("job", "submit", "wait", "--input", '{"seconds": 600}', "--wait=200ms")
    assert ended.code == 7
    job = ended.err.split()[0]
    assert real("job", "cancel", job).code == 0
    assert real("job", "watch", job).code == 8


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["job", "ls", "--token", ""], 4, "WINDLASS_TOKEN"),
        (["job", "ls", "--token", "wlk_wrong"], 4, "error: "),
        (["job", "get", "job_" + "0" * 32], 3, "there is no job"),
        (["job", "get", "job_x"], 2, "job id"),
        (["job", "get", "job_0000"], 3, "no id of a job begins so"),
        (["job", "submit", "nonsense"], 2, "/kind: must be one of"),
        (["job", "submit", "noop", "--deadline", "2001-01-01T00:00:00Z"], 2, "/deadline: "),
        (["queue", "get", "nowhere"], 3, "nowhere"),
    ],
)
def test_a_refusal_says_what_is_wrong(
    real: Windlass, words: list[str], exit_code: int, said: str
) -> None:
    ended = real(*words)
    assert (ended.code, ended.out) == (exit_code, "")
    assert said in ended.err


def test_an_idempotency_key_gives_the_same_job_and_is_not_for_another(real: Windlass) -> None:
    once = ["noop", "--idempotency-key", "first-day"]
    assert submitted(real, *once) == submitted(real, *once)
    assert "submitted before" in real("job", "submit", *once).out
    assert real("job", "submit", *once, "--queue", "other").code == 5


def test_a_queue_is_paused_limited_and_resumed(real: Windlass) -> None:
    assert real("queue", "set", "narrow", "--max-jobs", "1").code == 0
    assert real("queue", "pause", "narrow").out == "narrow paused\n"
    job = submitted(real, "noop", "--queue", "narrow")
    assert "paused" in real("job", "why", job).out
    full = real("job", "submit", "noop", "--queue", "narrow")
    assert full.code == 6
    assert "try again in" in full.err
    assert real("queue", "set", "narrow", "--rate", "100").code == 0
    queue = shown(real, "queue", "get", "narrow")
    assert (queue["max_jobs"], queue["rate"], queue["is_paused"]) == (1, 100, True)
    assert real("queue", "resume", "narrow").out == "narrow resumed\n"
    assert real("job", "watch", job).code == 0
    assert "narrow" in real("queue", "ls", "-o", "id").out.split()


def test_a_dead_letter_is_found_replayed_and_discarded(real: Windlass) -> None:
    nobody = json.dumps({"method": "GET", "url": f"http://127.0.0.1:{free_port()}/"})
    words = ["http", "--input", nobody, "--max-attempts", "1", "--queue", "doomed"]
    ended = real("job", "submit", *words, "--wait")
    assert (ended.code, ended.out) == (1, "")
    assert " dead: " in ended.err
    [dead] = shown(real, "dead", "ls", "--queue", "doomed")["data"]
    groups = shown(real, "dead", "groups")["data"]
    assert [group["count"] for group in groups if group["queue"] == "doomed"] == [1]
    assert real("dead", "replay", dead["id"]).out == "1 job replayed\n"
    assert real("job", "watch", dead["id"]).code == 1
    assert len(shown(real, "job", "attempts", dead["id"])["data"]) == 2
    assert dead["id"] in real("dead", "ls").out
    assert real("dead", "discard", "--queue", "doomed").out == "1 job discarded\n"
    assert real("dead", "ls", "--queue", "doomed").err == "no dead letters; all is well\n"


def test_a_file_of_jobs_is_submitted_once_however_often(real: Windlass, tmp_path: Path) -> None:
    count = 10_050
    lines = [json.dumps({"kind": "noop", "queue": "bulk"}) for _ in range(count)]
    # The last one waits for the first and for one of its own chunk.
    lines[-1] = json.dumps({"kind": "noop", "queue": "bulk", "depends_on": ["#0", "#10040"]})
    (tmp_path / "jobs.jsonl").write_text("\n".join(lines))
    words = ["job", "submit", "--file", str(tmp_path / "jobs.jsonl"), "--idempotency-key", "load"]
    first = real(*words, "-o", "id").out.split()
    assert len(set(first)) == count
    assert real(*words, "-o", "id").out.split() == first
    last = shown(real, "job", "get", first[-1])
    assert last["depends_on"] == [first[0], first[10_040]]
    assert real("job", "watch", first[-1]).code == 0
    assert len(real("job", "ls", "--queue", "bulk", "--all", "-o", "id").out.split()) == count


def test_events_are_followed_as_they_happen_and_resumed(real: Windlass, server: Server) -> None:
    before = submitted(real, "noop", "--queue", "seen", "--wait")
    events = real("event", "ls", "--job", before, "--all", "-o", "id").out.split()
    words = [*["event", "tail", "--queue", "seen", "--type", "finished"], "--count", "2"]
    # From an event of the past on: what is missed, then what happens.
    command = [sys.executable, "-m", "windlass", *words, "--after", events[0], "-o", "jsonl"]
    with subprocess.Popen(
        command,
        env=clean_environment(WINDLASS_URL=server.url, WINDLASS_TOKEN=server.token),
        stdout=subprocess.PIPE,
        text=True,
    ) as tail:
        assert tail.stdout is not None
        assert json.loads(tail.stdout.readline())["job_id"] == before
        now = submitted(real, "noop", "--queue", "seen", "--wait")
        assert json.loads(tail.stdout.readline())["job_id"] == now
        assert tail.wait(30) == 0


def test_the_server_tells_how_it_is(real: Windlass) -> None:
    health = shown(real, "health")
    # A Redis that takes half a second to answer, on a busy machine, is called slow.
    assert health["status"] in ("ok", "degraded")
    [node] = shown(real, "node", "ls")["data"]
    assert health["node_id"] == node["id"]
    assert shown(real, "node", "get", node["id"])["state"] == "active"
    submitted(real, "noop", "--queue", "counted", "--wait")
    assert shown(real, "stats")["queues"]["counted"]["succeeded"] == 1
    for words in (["health"], ["stats"], ["node", "ls"], ["node", "get", node["id"]]):
        assert real(*words).code == 0
