"""Verbs on many jobs: what is asked of the server, what a person is asked, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from threading import Event
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says
from tests.cli.show.test_terminal import COMMAND, HEARING, environment, read_terminal, terminal
from tests.cli.things import page

OP = "op_" + "1" * 32
JOB = "job_" + "2" * 32
GROUPS = [
    {
        "state": "queued",
        "queue": "mail",
        "kind": "python",
        "task": "send_mail",
        "cause": None,
        "count": 4211,
    }
]


def preview(**changes: Any) -> dict[str, Any]:
    return {
        "dry_run": True,
        "verb": "cancel",
        "matching": 4211,
        "is_exact": True,
        "estimated_seconds": None,
        "groups": GROUPS,
        "sample_ids": ["job_1"],
        **changes,
    }


def bulk(**changes: Any) -> dict[str, Any]:
    return {
        "id": OP,
        "kind": "bulk",
        "verb": "cancel",
        "phase": "done",
        "filter": {"queue": "mail"},
        "named": None,
        "matching": 4211,
        "is_exact": True,
        "most": None,
        "rate": None,
        "looked": 4211,
        "done": 4211,
        "refused": 0,
        "gone": 0,
        "held": 0,
        "left_jobs": [],
        "reason": None,
        "asked_by": None,
        "created_at": "2026-01-31T12:00:00Z",
        "changed_at": "2026-01-31T12:00:00Z",
        "ended_at": "2026-01-31T12:00:00Z",
        **changes,
    }


def test_a_filter_becomes_one_operation_that_is_watched_to_its_end(
    windlass: Windlass, peer: Peer
) -> None:
    working = bulk(phase="working", done=1200, ended_at=None)
    peer.answer(
        Says(status=202, json=bulk(phase="pending", done=0)), Says(json=working), Says(json=bulk())
    )
    words = (
        "--queue",
        "mail",
        "--state",
        "queued",
        "--task",
        "send_mail",
        "--since",
        "2030-01-31T12:00:00Z",
    )
    ended = windlass("job", "cancel", *words, "--rate", "100/m", "--most", "9", "--yes")
    assert (ended.code, ended.out) == (0, f"{OP} done: 4,211 jobs cancelled\n")
    assert f"{OP} working: 1,200 of 4,211 jobs cancelled\n" in ended.err
    asked = peer.calls[0]
    assert (asked.method, asked.path) == ("POST", "/v1/jobs/bulk")
    assert asked.json == {
        "verb": "cancel",
        "filter": {
            "state": ["queued"],
            "queue": "mail",
            "task": "send_mail",
            "created_after": "2030-01-31T12:00:00Z",
        },
        "most": 9,
        "rate": pytest.approx(100 / 60),
    }


def test_a_dry_run_shows_what_matches_and_asks_nothing_else(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=preview(estimated_seconds=84.2)))
    ended = windlass("job", "cancel", "--queue", "mail", "--dry-run", "--rate", "50")
    assert ended.code == 0
    assert ended.out.splitlines()[1].split() == ["4211", "queued", "mail", "send_mail"]
    assert ended.err == "4,211 jobs match; at this rate it takes 84 s; nothing was done\n"
    assert [call.json["dry_run"] for call in peer.calls] == [True]
    peer.answer(Says(json=preview(is_exact=False)))
    assert "at least 4,211 jobs" in windlass("job", "cancel", "--all", "--dry-run").err
    shown = windlass("job", "retry", "--state", "dead", "--dry-run", "-o", "json").out
    assert json.loads(shown)["matching"] == 4211


def test_where_nobody_can_be_asked_yes_has_to_be_said(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=preview()))
    ended = windlass("job", "cancel", "--queue", "mail")
    assert ended.code == 2
    assert "4,211 jobs match; say --yes to cancel them" in ended.err
    assert len(peer.calls) == 1
    peer.answer(Says(json=preview(matching=0, groups=[])))
    ended = windlass("job", "cancel", "--queue", "mail")
    assert (ended.code, ended.err) == (0, "no jobs match\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "say which"),
        (("job_1", "--queue", "mail"), "not both"),
        (("job_1", "--dry-run"), "not both"),
        (("--queue", "mail", "--all"), "--all is for no filter"),
        (("--queue", "mail", "--rate", "fast", "--yes"), "--rate 'fast' is none"),
        (("--queue", "mail", "--rate", "50/d", "--yes"), "is none"),
        (("--queue", "mail", "--rate", "-1", "--yes"), "is none"),
        (("--state", "odd"), "--state"),
    ],
)
def test_what_is_not_clear_is_refused_before_anybody_is_asked(
    windlass: Windlass, peer: Peer, words: tuple[str, ...], says: str
) -> None:
    ended = windlass("job", "cancel", *words)
    assert ended.code == 2
    assert says in ended.err
    assert peer.calls == []


def test_jobs_that_were_refused_are_told_and_are_a_failure(windlass: Windlass, peer: Peer) -> None:
    left = [{"id": "job_2", "reason": "it is a step of an execution that goes on"}]
    peer.answer(Says(json=bulk(done=4, refused=3, gone=1, left_jobs=left)))
    ended = windlass("job", "promote", "--queue", "mail", "--yes")
    assert ended.code == 1
    assert "4 jobs cancelled, 3 refused, 1 gone before it came to them\n" in ended.out
    assert (
        "job_2: it is a step of an execution that goes on\nand 2 more were refused\n" in ended.err
    )
    peer.answer(Says(json=bulk(phase="aborted", done=4, reason="aborted")))
    assert windlass("job", "promote", "--queue", "mail", "--yes").code == 8


def test_dead_letters_are_looked_at_first_and_replayed_at_a_rate(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json=preview(verb="replay")))
    assert windlass("dead", "replay", "--cause", "KeyError", "--dry-run").code == 0
    assert peer.calls[-1].json == {"filter": {"cause": "KeyError"}, "dry_run": True}
    peer.answer(Says(status=202, json=bulk(verb="replay", done=7)))
    ended = windlass("dead", "replay", JOB, "--rate", "50/s")
    assert (ended.code, ended.out) == (0, f"{OP} done: 7 jobs replayed\n")
    assert peer.calls[-1].json == {"ids": [JOB], "rate": 50.0}


def test_an_operation_on_jobs_is_followed_like_any_other(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([bulk(), bulk(id="op_2")])))
    assert windlass("operation", "ls", "--jobs", "--open", "-o", "id").out == f"{OP}\nop_2\n"
    assert peer.calls[-1].path == "/v1/jobs/bulk"
    peer.answer(Says(json=bulk(phase="aborted", reason="aborted", done=3)))
    assert "matching" in windlass("operation", "get", OP).out
    assert windlass("operation", "watch", OP).code == 8
    assert windlass("operation", "abort", OP).out == f"{OP} aborted: 3 jobs cancelled\n"


def at_a_terminal(peer: Peer, answer: bytes) -> tuple[int, str]:
    """All of it at one terminal, at which somebody types `answer` when he is asked."""
    is_typed = Event()
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [*COMMAND, "job", "cancel", "--queue", "mail"],
            env=environment(peer),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)

        def seen(shown: str) -> None:
            if "[y/N]" in shown and not is_typed.is_set():
                is_typed.set()
                os.write(ours, answer)

        shown = read_terminal(ours, seen)
        return process.wait(30), shown


@pytest.mark.parametrize("answer", [b"\n", b"n\n", b"no\n"])
def test_at_a_terminal_it_says_how_many_and_asks(peer: Peer, answer: bytes) -> None:
    peer.answer(Says(json=preview()))
    code, shown = at_a_terminal(peer, answer)
    assert code == 0
    assert "4,211 queued in mail: send_mail" in shown
    assert "cancel 4,211 jobs? [y/N]" in shown
    assert "nothing was done" in shown
    assert len(peer.calls) == 1


def test_who_says_yes_sees_how_far_it_is(peer: Peer) -> None:
    working = bulk(phase="working", done=1200)
    peer.answer(Says(json=preview()), Says(status=202, json=working), Says(json=bulk()))
    code, shown = at_a_terminal(peer, b"y\n")
    assert code == 0
    assert "1,200 of 4,211 jobs cancelled" in shown
    assert shown.endswith(f"{OP} done: 4,211 jobs cancelled\r\n")


def test_ctrl_c_says_that_it_goes_on_and_how_to_end_it(peer: Peer) -> None:
    asked, let_go = Event(), Event()

    def hold(call: Call) -> Says:
        if call.method == "GET":
            asked.set()
            let_go.wait(30)
        return Says(json=bulk(phase="working", done=7))

    peer.answer_by(hold)
    with subprocess.Popen(
        [*HEARING, "job", "cancel", "--queue", "mail", "--yes"],
        env=environment(peer),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert asked.wait(30)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            let_go.set()
            process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-2:] == [
        f"{OP} goes on without us: windlass operation watch {OP}",
        f"  to end it: windlass operation abort {OP}",
    ]
