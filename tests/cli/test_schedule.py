"""Schedules on the command line: what is typed becomes a body, what comes back is shown."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import JOB_ID, page
from windlass.cli.exits import Exit

SCHEDULE: dict[str, Any] = {
    "id": "sch_" + "0" * 32,
    "name": "nightly",
    "state": "active",
    "cron": "0 3 * * *",
    "every": None,
    "at": None,
    "timezone": "Europe/Berlin",
    "words": "at 03:00, Europe/Berlin",
    "job": {"kind": "python", "input": {"task": "report"}},
    "workflow": None,
    "next_at": "2030-01-31T02:00:00Z",
    "last_at": None,
    "tags": ["night"],
    "edition": 1,
}
FIRING: dict[str, Any] = {
    "instant": "2030-01-31T02:00:00Z",
    "state": "fired",
    "fired_at": "2030-01-31T02:00:00.1Z",
    "late_seconds": 0.1,
    "reason": None,
    "job_id": JOB_ID,
    "execution_id": None,
    "is_asked": False,
    "stands_for": 1,
}
SKIPPED = {
    **FIRING,
    "state": "skipped",
    "job_id": None,
    "reason": f"overlap: {JOB_ID} had not ended",
    "stands_for": 4,
}
TIMES = {
    "next": [
        {
            "instant": "2030-03-31T01:00:00Z",
            "local": "2030-03-31T03:00:00+02:00",
            "note": "clocks go forward here: 02:30 does not exist, fires at 03:00",
        }
    ],
    "words": "at 02:30, Europe/Berlin",
}


def test_a_schedule_is_made_of_what_was_typed(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json=SCHEDULE))
    ended = windlass(
        *("schedule", "create", "nightly", "--cron", "0 3 * * *", "--timezone", "Europe/Berlin"),
        *("--job", '{"kind": "noop"}', "--overlap", "skip", "--misfire", "fire_all"),
        *("--catchup", "2h", "--jitter", "30", "--tag", "a", "--tag", "b", "--priority", "high"),
        *("--dst-gap", "skip", "--calendar", '{"countries": ["DE"]}'),
        *("--idempotency-key", "k1"),
    )
    assert ended.code == 0
    assert "at 03:00, Europe/Berlin" in ended.out
    [call] = peer.calls
    assert (call.method, call.path) == ("POST", "/v1/schedules")
    assert call.headers["idempotency-key"] == "k1"
    assert call.json == {
        "name": "nightly",
        "cron": "0 3 * * *",
        "timezone": "Europe/Berlin",
        "dst": {"gap": "skip"},
        "jitter": 30.0,
        "calendar": {"countries": ["DE"]},
        "job": {"kind": "noop"},
        "overlap": "skip",
        "misfire": "fire_all",
        "catchup": "2h",
        "priority": "high",
        "tags": ["a", "b"],
    }


def test_a_workflow_comes_with_its_input_and_periods_and_instants_as_they_are(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(status=201, json=SCHEDULE))
    words = ("--workflow", "greet", "--input", '{"who": "you"}', "--version", "3")
    windlass("schedule", "create", "a", "--every", "90m", *words)
    workflow = {"name": "greet", "version": 3, "input": {"who": "you"}}
    assert peer.calls[-1].json == {"name": "a", "every": "90m", "workflow": workflow}
    once = ("--at", "2030-01-01T00:00:00Z")
    windlass("schedule", "create", "b", *once, "--workflow", "greet")
    assert peer.calls[-1].json["at"] == "2030-01-01T00:00:00Z"
    windlass("schedule", "create", "b", *once, "--at", "2031-01-01T00:00:00Z", "--workflow", "x")
    assert peer.calls[-1].json["at"] == ["2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"]
    count = len(peer.calls)
    assert windlass("schedule", "create", "c", "--input", "{}").code == Exit.USAGE
    assert len(peer.calls) == count


def test_what_the_server_refuses_is_told_with_its_pointers(windlass: Windlass, peer: Peer) -> None:
    errors = [{"pointer": "/cron", "detail": "never: there is no 30 February"}]
    peer.answer(problem(422, detail="the input cannot be taken; see errors", errors=errors))
    ended = windlass("schedule", "create", "a", "--cron", "0 0 30 2 *", "--job", "{}")
    assert ended.code == Exit.USAGE
    assert "/cron: never: there is no 30 February" in ended.err


def test_schedules_are_listed_by_what_they_have_in_common(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([SCHEDULE])))
    ended = windlass("schedule", "ls", "--tag", "night", "--prefix", "n", "--paused")
    assert "nightly" in ended.out
    assert "job python report" in ended.out
    query = peer.calls[0].query
    assert (query["tag"], query["prefix"], query["paused"]) == (["night"], ["n"], ["true"])
    assert windlass("schedule", "ls", "-o", "id").out == SCHEDULE["id"] + "\n"
    peer.answer(Says(json=SCHEDULE))
    assert "Europe/Berlin" in windlass("schedule", "get", "nightly").out
    assert json.loads(windlass("schedule", "get", "nightly", "-o", "json").out) == SCHEDULE


def test_an_edit_sends_what_changes_and_null_for_what_goes(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=SCHEDULE))
    windlass("schedule", "edit", "nightly", "--every", "1h", "--clear", "jitter")
    [call] = peer.calls
    assert (call.method, call.path) == ("PATCH", "/v1/schedules/nightly")
    assert call.json == {"every": "1h", "jitter": None}
    assert windlass("schedule", "edit", "nightly").code == Exit.USAGE


def test_schedules_are_paused_by_name_or_by_filter(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=SCHEDULE))
    ended = windlass("schedule", "pause", "a", "b", "--note", "holiday")
    assert ended.out == "a paused\nb paused\n"
    assert [call.path for call in peer.calls] == [f"/v1/schedules/{n}/pause" for n in "ab"]
    assert peer.calls[0].json == {"note": "holiday"}
    peer.answer(Says(json={"names": ["x", "y"], "count": 2}))
    assert windlass("schedule", "resume", "--tag", "night").out == "x resumed\ny resumed\n"
    assert peer.calls[-1].path == "/v1/schedules/resume"
    assert peer.calls[-1].json == {"filter": {"tags": ["night"]}}
    windlass("schedule", "pause", "--all")
    assert peer.calls[-1].json == {"filter": {}}
    count = len(peer.calls)
    assert windlass("schedule", "pause").code == Exit.USAGE
    assert windlass("schedule", "pause", "a", "--all").code == Exit.USAGE
    assert len(peer.calls) == count


def test_a_trigger_says_what_it_made_or_why_not(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json=FIRING))
    assert windlass("schedule", "trigger", "nightly").out == f"fired: {JOB_ID}\n"
    assert windlass("schedule", "trigger", "nightly", "-o", "id").out == f"{JOB_ID}\n"
    peer.answer(Says(json=SKIPPED))
    ended = windlass("schedule", "trigger", "nightly")
    assert (ended.code, ended.out) == (
        Exit.CONFLICT,
        f"skipped: overlap: {JOB_ID} had not ended\n",
    )


def test_a_backfill_is_counted_first(windlass: Windlass, peer: Peer) -> None:
    stretch = ("--from", "2030-01-01T00:00:00Z", "--to", "2030-02-01T00:00:00Z")
    counted = {"count": 31, "made": 2, "limit": 100_000, "fired": 0, "skipped": 0}
    peer.answer(Says(json={**counted, "dry_run": True}))
    ended = windlass("schedule", "backfill", "nightly", *stretch, "--dry-run")
    assert ended.out == "31 to fire, 2 were made before (at most 100000 at once)\n"
    assert peer.calls[0].json["dry_run"] is True
    peer.answer(Says(json={**counted, "dry_run": False, "fired": 31}))
    assert windlass("schedule", "backfill", "nightly", *stretch).out == "31 fired, 0 skipped\n"
    peer.answer(problem(422, detail="the stretch has 10519200 instants", count=10519200))
    ended = windlass("schedule", "backfill", "nightly", *stretch)
    assert ended.code == Exit.USAGE
    assert "10519200" in ended.err


def test_the_next_instants_are_shown_with_their_notes(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=TIMES))
    ended = windlass("schedule", "next", "nightly", "-n", "1", "--after", "2030-03-30T12:00:00Z")
    assert ended.out.startswith("at 02:30, Europe/Berlin\n")
    assert "clocks go forward here" in ended.out
    assert peer.calls[0].query == {"n": ["1"], "after": ["2030-03-30T12:00:00Z"]}
    assert windlass("schedule", "next", "a", "-o", "id").out == "2030-03-31T01:00:00Z\n"
    shown = windlass("schedule", "preview", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin")
    assert "2030-03-31T03:00:00+02:00" in shown.out
    assert peer.calls[-1].path == "/v1/schedules/preview"
    assert peer.calls[-1].json["cron"] == "30 2 * * *"
    assert json.loads(windlass("schedule", "preview", "--every", "1h", "-o", "json").out) == TIMES


def test_firings_tell_what_became_of_each_instant(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([FIRING, SKIPPED])))
    words = ("schedule", "firings", "nightly", "--state", "fired", "--state", "skipped")
    ended = windlass(*words)
    assert JOB_ID in ended.out
    assert "skipped (and 3 before)" in ended.out
    assert "had not ended" in ended.out
    assert peer.calls[0].query["state"] == ["fired", "skipped"]
    lines = windlass("schedule", "firings", "nightly", "-o", "jsonl").out.splitlines()
    assert json.loads(lines[0]) == FIRING


def test_schedules_are_deleted_one_by_one(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=204), problem(404, detail="there is no schedule 'b'"))
    ended = windlass("schedule", "delete", "a", "b")
    assert (ended.code, ended.out) == (Exit.NOT_FOUND, "a deleted\n")
    assert [call.method for call in peer.calls] == ["DELETE", "DELETE"]
