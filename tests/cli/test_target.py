"""Targets, deliveries and the dead letters of a target, as the command line asks and shows them."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.test_nouns import fields
from tests.cli.things import JOB_ID, page

TARGET = {
    "host": "shop.example",
    "state": "enabled",
    "disabled_at": None,
    "disabled_reason": None,
    "rate": 2.5,
    "max_running": None,
    "breaker": {
        "state": "half_open",
        "opened_at": "2026-01-31T12:00:00Z",
        "open_until": "2026-01-31T12:00:05Z",
        "opens": 2,
        "reason": "http 503",
        "failures": 10,
        "rest": 5.0,
        "rest_max": 300.0,
    },
    "parked": 1000,
    "parked_more": True,
    "running": None,
    "succeeded": 7,
    "failed": 12,
    "last_answer_at": None,
    "last_failure_at": None,
    "created_at": "2026-01-31T12:00:00Z",
}
DELIVERY: dict[str, Any] = {
    "attempt": 1,
    "fence": 1,
    "node_id": "node_1",
    "started_at": "2026-01-31T12:00:00Z",
    "duration_ms": 2000.0,
    "outcome": "failed",
    "status_code": 503,
    "error": {"cause": "http 503", "message": "oh no"},
    "request_headers": {},
    "response_headers": {},
    "response_excerpt": None,
    "timings_ms": {"dns": 1.25, "first_byte": 10.5},
    "address": "203.0.113.7",
}


def test_a_target_is_shown_with_its_breaker_and_who_waits(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([TARGET])))
    listed = windlass("target", "ls").out
    for word in ("shop.example", "enabled", "half_open", "1000+", "2.5"):
        assert word in listed
    assert windlass("target", "ls", "-o", "id").out == "shop.example\n"
    peer.answer(Says(json=TARGET))
    shown = fields(windlass("target", "get", "[::1]:8080").out)
    assert (shown["breaker"], shown["breaker reason"]) == ("half_open", "http 503")
    assert (shown["breaker rest max"], shown["parked"]) == ("300", "1000+")
    assert peer.calls[-1].path == "/v1/targets/%5B%3A%3A1%5D%3A8080"


def test_limits_of_a_target_are_set_and_the_others_left_alone(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json={**TARGET, "host": "shop.example:80"}))
    given = "--max-running 4 --rate none --failures 3 --rest 10s"
    assert windlass("target", "set", "shop.example", *given.split()).code == 0
    read, put = peer.calls
    assert (read.path, put.method) == ("/v1/targets/shop.example", "PUT")
    assert put.path == "/v1/targets/shop.example%3A80", "the one that was found"
    breaker = {"failures": 3, "rest": "10s", "rest_max": 300.0}
    assert put.json == {"rate": None, "max_running": 4, "breaker": breaker}


def test_a_target_that_is_not_there_yet_gets_the_limits_named(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(problem(404, detail="there is no target"), Says(json=TARGET))
    assert windlass("target", "set", "shop.example", "--rest-max", "none").code == 0
    breaker = {"failures": None, "rest": None, "rest_max": None}
    assert peer.calls[1].json == {"rate": None, "max_running": None, "breaker": breaker}
    assert windlass("target", "set", "shop.example").code == 2
    assert windlass("target", "set", "shop.example", "--rate", "fast").code == 2


def test_targets_are_disabled_enabled_and_reset_by_host(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=TARGET))
    said = windlass("target", "disable", "shop.example", "--reason", "they are moving").out
    assert said == "shop.example disabled\n"
    assert windlass("target", "enable", "shop.example").out == "shop.example enabled\n"
    assert (
        windlass("target", "reset", "shop.example").out == "the breaker of shop.example is closed\n"
    )
    assert [call.path for call in peer.calls] == [
        "/v1/targets/shop.example/disable",
        "/v1/targets/shop.example/enable",
        "/v1/targets/shop.example/reset",
    ]
    assert peer.calls[0].json == {"reason": "they are moving"}
    peer.answer(problem(404, detail="there is no target"))
    assert windlass("target", "enable", "nobody.example").code == 3


def test_the_secret_of_a_target_is_printed_alone_and_the_warning_beside_it(
    windlass: Windlass, peer: Peer
) -> None:
    answer = {"host": "shop.example", "secrets": ["whsec_NEW", "whsec_OLD"], "name": "webhook"}
    peer.answer(Says(json=answer))
    for shown in ((), ("-o", "id")):
        ended = windlass("target", "secret", "shop.example", *shown)
        assert (ended.code, ended.out) == (0, "whsec_NEW\nwhsec_OLD\n")
        assert ended.err == "whoever knows it can sign for shop.example\n"
    assert (peer.calls[0].path, peer.calls[0].query) == ("/v1/targets/shop.example/secret", {})
    for output in ("json", "jsonl"):
        ended = windlass("target", "secret", "shop.example", "--name", "partners", "-o", output)
        assert json.loads(ended.out) == answer
        assert peer.calls[-1].query == {"name": ["partners"]}
    peer.answer(problem(404, detail="there is no derived secret 'webhook'"))
    ended = windlass("target", "secret", "shop.example")
    assert (ended.code, ended.out) == (3, "")
    assert "whoever knows" not in ended.err


def test_deliveries_are_a_row_each_and_a_sentence_on_what_is_next(
    windlass: Windlass, peer: Peer
) -> None:
    status = {
        "state": "queued",
        "deliveries": [DELIVERY, {**DELIVERY, "attempt": 2, "outcome": None, "timings_ms": {}}],
        "next_attempt_at": "2026-01-31T12:00:05Z",
        "target": {"host": "shop.example", "breaker": "half_open"},
    }
    peer.answer(Says(json=status))
    head, first, second, told = windlass("job", "deliveries", JOB_ID).out.splitlines()
    assert "FIRST BYTE" in head
    for text in ("failed", "503", "2.0 s", "1.25 ms", "10.5 ms", "203.0.113.7", "oh no"):
        assert text in first
    assert "running" in second
    assert told.startswith("queued, for shop.example, whose breaker is half open; next attempt ")
    assert json.loads(windlass("job", "deliveries", JOB_ID, "-o", "json").out) == status
    lines = windlass("job", "deliveries", JOB_ID, "-o", "jsonl").out.splitlines()
    assert [json.loads(line)["attempt"] for line in lines] == [1, 2]
    assert windlass("job", "deliveries", JOB_ID, "-o", "id").code == 2
    assert {call.path for call in peer.calls} == {f"/v1/jobs/{JOB_ID}/webhook-status"}


def test_what_failed_at_a_target_since_an_instant_is_listed_and_replayed(
    windlass: Windlass, peer: Peer
) -> None:
    which = ("--target", "shop.example", "--since", "2026-01-31T12:00:00Z")
    given = {"target": "shop.example", "finished_after": "2026-01-31T12:00:00Z"}
    peer.answer(Says(json=page([])))
    assert windlass("dead", "ls", *which).code == 0
    assert peer.calls[0].query == {**{n: [v] for n, v in given.items()}, "limit": ["50"]}
    peer.answer(Says(json={"replayed": 100_000, "more": True}))
    ended = windlass("dead", "replay", *which)
    assert ended.out == "100,000 jobs replayed\n"
    assert "there are more" in ended.err
    assert peer.calls[1].json == {"filter": given}
    peer.answer(Says(json={"discarded": 0}))
    windlass("dead", "discard", "--until", "2026-01-31T12:00:00Z")
    assert peer.calls[2].json == {"filter": {"finished_before": "2026-01-31T12:00:00Z"}}
    peer.answer(Says(json=page([])))
    windlass("job", "ls", "--target", "shop.example")
    assert peer.calls[3].query["target"] == ["shop.example"]
