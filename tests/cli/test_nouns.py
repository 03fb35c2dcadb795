"""The other nouns: what they ask for and what they show."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import JOB_ID, job, numbered, page

HEALTH = {
    "status": "degraded",
    "queue_size": 7,
    "jobs_executing": 2,
    "last_execution": None,
    "node_id": "node_1",
    "leader": None,
    "workers": 16,
    "database": {"ok": True, "ms": 0.412},
    "redis": {"ok": False, "ms": None},
    "degraded": ["redis"],
}
QUEUE = {
    "name": "mail",
    "is_paused": False,
    "paused_at": None,
    "max_jobs": 5,
    "max_bytes": None,
    "max_running": None,
    "rate": 2.5,
    "submit_rate": None,
    "counts": {"queued": 3, "running": 1, "blocked": 0, "dead": 4},
    "bytes": 12,
    "created_at": "2026-01-31T12:00:00Z",
}


def fields(text: str) -> dict[str, str]:
    """A record by its titles."""
    return {line[: line.index("  ")]: line.split("  ", 1)[1].strip() for line in text.splitlines()}


def test_a_queue_is_shown_with_its_counts_and_limits(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([QUEUE])))
    head, row = windlass("queue", "ls").out.splitlines()
    shown = dict(zip(head.split(), row.split(), strict=False))
    assert (shown["NAME"], shown["STATE"], shown["QUEUED"], shown["DEAD"]) == (
        "mail",
        "open",
        "3",
        "4",
    )
    assert windlass("queue", "ls", "-o", "id").out == "mail\n"
    peer.answer(Says(json=QUEUE))
    assert fields(windlass("queue", "get", "mail").out)["rate"] == "2.5"


def test_limits_are_set_and_taken_away_and_the_others_left_alone(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json={**QUEUE, "max_bytes": 100, "max_running": 3}))
    limits = "--max-jobs 9 --max-running none"
    assert windlass("queue", "set", "mail", *limits.split()).code == 0
    read, put = peer.calls
    assert (read.method, put.method, put.path) == ("GET", "PUT", "/v1/queues/mail")
    others = {"max_bytes": 100, "rate": 2.5, "submit_rate": None}
    assert put.json == {**others, "max_jobs": 9, "max_running": None}


def test_a_queue_that_is_not_there_yet_gets_the_limits_named(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(problem(404, detail="there is no queue 'mail'"), Says(json=QUEUE))
    assert windlass("queue", "set", "mail", "--max-jobs", "5").code == 0
    assert peer.calls[1].json == {"max_jobs": 5}


def test_queues_are_paused_and_resumed_by_name(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=QUEUE))
    assert windlass("queue", "pause", "mail", "sms").out == "mail paused\nsms paused\n"
    assert windlass("queue", "resume", "mail").out == "mail resumed\n"
    assert [call.path for call in peer.calls] == [
        "/v1/queues/mail/pause",
        "/v1/queues/sms/pause",
        "/v1/queues/mail/resume",
    ]


def test_dead_letters_are_listed_with_their_cause(windlass: Windlass, peer: Peer) -> None:
    dead = job(state="dead", cause="http_500", error={"cause": "http_500", "message": "oh no"})
    peer.answer(Says(json=page([dead])))
    ended = windlass("dead", "ls", "--queue", "mail", "--cause", "http_500")
    assert "http_500: oh no" in ended.out
    assert peer.calls[0].query == {"queue": ["mail"], "cause": ["http_500"], "limit": ["50"]}
    peer.answer(Says(json=page([])))
    assert windlass("dead", "ls").err == "no dead letters; all is well\n"


def test_dead_letters_that_stay_are_told_and_are_a_failure(windlass: Windlass, peer: Peer) -> None:
    left = [{"id": numbered(2), "reason": "it is queued, and no dead letter"}]
    peer.answer(Says(json={"replayed": 300, "more": False, "left": 2, "left_jobs": left}))
    ended = windlass("dead", "replay", "--queue", "mail")
    assert (ended.code, ended.out) == (1, "300 jobs replayed\n")
    assert f"{numbered(2)} was not replayed: it is queued, and no dead letter\n" in ended.err
    assert "and 1 more were not replayed\n" in ended.err
    peer.answer(Says(json={"discarded": 0, "more": False, "left": 1, "left_jobs": left}))
    assert windlass("dead", "discard", numbered(2)).code == 1


def test_dead_letters_are_chosen_by_id_by_filter_or_all(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json={"replayed": 2, "discarded": 2}))
    assert windlass("dead", "replay", numbered(1), numbered(2)).out == "2 jobs replayed\n"
    assert windlass("dead", "discard", "--queue", "mail", "--tag", "x").out == "2 jobs discarded\n"
    peer.answer(Says(json={"replayed": 1}))
    assert windlass("dead", "replay", "--all").out == "1 job replayed\n"
    assert [(call.path, call.json) for call in peer.calls] == [
        ("/v1/dead-letters/replay", {"ids": [numbered(1), numbered(2)]}),
        ("/v1/dead-letters/discard", {"filter": {"queue": "mail", "tag": "x"}}),
        ("/v1/dead-letters/replay", {"filter": {}}),
    ]


def test_why_answers_in_sentences(windlass: Windlass, peer: Peer) -> None:
    why = {
        "job_id": JOB_ID,
        "state": "queued",
        "summary": "it waits for its queue, which is paused",
        "gates": [
            {
                "gate": "queue_paused",
                "reason": "queue mail is paused",
                "since": "2026-01-31T12:00:00Z",
            }
        ],
        "estimated_start": None,
    }
    peer.answer(Says(json=why))
    first, second = windlass("job", "why", JOB_ID).out.splitlines()
    assert first == f"{JOB_ID} is queued"
    assert second.startswith("  queue mail is paused, since ")
    assert json.loads(windlass("job", "why", JOB_ID, "-o", "json").out) == why


def test_the_tries_and_events_of_a_job_are_listed(windlass: Windlass, peer: Peer) -> None:
    attempt = {
        "attempt": 1,
        "node_id": "node_1",
        "started_at": "2026-01-31T12:00:00Z",
        "ended_at": "2026-01-31T12:00:02Z",
        "duration_ms": 2000.0,
        "outcome": "failed",
        "next_run_at": None,
        "error": {"cause": "ValueError", "message": "no"},
    }
    peer.answer(Says(json=page([attempt])))
    row = windlass("job", "attempts", JOB_ID).out.splitlines()[1]
    assert "failed" in row
    assert "2.0 s" in row
    assert "ValueError: no" in row
    event = {"id": "evt_1", "at": "2026-01-31T12:00:00Z", "type": "started", "data": {"attempt": 1}}
    peer.answer(Says(json=page([event])))
    assert "attempt=1" in windlass("job", "events", JOB_ID).out
    # The server gives these whole and refuses parameters that it does not know.
    assert [call.query for call in peer.calls] == [{}, {}]


@pytest.mark.parametrize(("status", "http_status", "exit_code"), [("ok", 200, 0), ("down", 503, 1)])
def test_health_is_shown_even_when_it_is_bad(
    windlass: Windlass, peer: Peer, status: str, http_status: int, exit_code: int
) -> None:
    peer.answer(Says(status=http_status, json={**HEALTH, "status": status}))
    ended = windlass("health")
    assert ended.code == exit_code
    shown = fields(ended.out)
    assert shown["status"] == status
    assert shown["database"] == "ok, 0.4 ms"
    assert shown["redis"] == "not reachable"


def test_stats_are_a_row_a_queue_and_one_for_all(windlass: Windlass, peer: Peer) -> None:
    told = {"totals": {"queued": 3}, "bytes": 1, "queues": {"b": {"queued": 2}, "a": {"queued": 1}}}
    peer.answer(Says(json=told))
    _, *rows = windlass("stats").out.splitlines()
    assert [row.split() for row in rows] == [["a", "1"], ["b", "2"], ["all", "3"]]
    assert json.loads(windlass("stats", "-o", "json").out) == told


def test_nodes_are_listed_and_shown(windlass: Windlass, peer: Peer) -> None:
    node_id = numbered(1, "node_")
    node = {"id": node_id, "name": "here", "state": "active", "workers": 16, "roles": ["api"]}
    peer.answer(Says(json=page([node])))
    assert "active" in windlass("node", "ls").out
    peer.answer(Says(json=node))
    assert fields(windlass("node", "get", node_id).out)["workers"] == "16"


def test_nodes_tell_what_they_use_in_units_for_people(windlass: Windlass, peer: Peer) -> None:
    node = {"id": "node_1", "state": "active", "memory_bytes": 81_920_000, "cpu_percent": 2.44}
    peer.answer(Says(json=page([node, {"id": "node_2", "state": "active"}])))
    _, first, second = windlass("node", "ls").out.splitlines()
    assert ("82 MB" in first, "2.4 %" in first, "MB" in second) == (True, True, False)


def test_the_leader_is_shown_and_named_by_its_id(windlass: Windlass, peer: Peer) -> None:
    leader = {"node_id": "node_1", "name": "here", "term": 3, "elected_at": None}
    peer.answer(Says(json=leader))
    assert fields(windlass("node", "leader").out)["term"] == "3"
    assert windlass("node", "leader", "-o", "id").out == "node_1\n"
    assert peer.calls[0].path == "/v1/leader"
