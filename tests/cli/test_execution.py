"""`windlass execution` and `windlass approval`: what is asked, what is shown, how it exits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says, problem
from tests.cli.things import JOB_ID, job, page
from windlass.cli.show.execution_tree import Tree, bar, lines
from windlass.cli.verbs import execution as commands

EXECUTION_ID = "exe_" + "0190" * 8
CHILD_ID = "exe_" + "0191" * 8
APPROVAL_ID = "apr_" + "0192" * 8
PATH = f"/v1/executions/{EXECUTION_ID}"


def execution(**changes: Any) -> dict[str, Any]:
    return {
        "id": EXECUTION_ID,
        "workflow": "fulfil",
        "version": 3,
        "state": "running",
        "counts": {"running": 1, "succeeded": 2},
        "input": {},
        "output": None,
        "error": None,
        "created_at": "2026-01-31T12:00:00Z",
        "started_at": "2026-01-31T12:00:00Z",
        "finished_at": None,
        "parent": None,
        "tags": [],
        **changes,
    }


def step(name: str, state: str = "succeeded", **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "kind": "noop",
        "title": None,
        "needs": [],
        "state": state,
        "job_id": JOB_ID,
        "started_at": "2026-01-31T12:00:00Z",
        "finished_at": "2026-01-31T12:00:02Z",
        "attempt": 1,
        "child_id": None,
        "counts": None,
        "output": None,
        "output_excerpt": None,
        "error": None,
        **changes,
    }


def graph(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "execution_id": EXECUTION_ID,
        "workflow": "fulfil",
        "version": 3,
        "state": "running",
        "steps": list(steps),
        "edges": [],
        **changes,
    }


def test_executions_are_listed_by_what_was_asked_for(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([execution()])))
    words = ("--workflow", "fulfil", "--state", "running", "--state", "paused", "--tag", "red")
    ended = windlass("execution", "ls", *words)
    assert ended.code == 0
    assert "fulfil 3" in ended.out
    assert "1 running, 2 succeeded" in ended.out
    query = peer.calls[0].query
    assert (query["workflow"], query["state"]) == (["fulfil"], ["running", "paused"])
    assert windlass("execution", "ls", "-o", "id").out == EXECUTION_ID + "\n"
    assert json.loads(windlass("execution", "ls", "-o", "jsonl").out) == execution()


def test_one_is_shown_as_a_page_or_as_it_came(windlass: Windlass, peer: Peer) -> None:
    parent = {"execution_id": CHILD_ID, "job_id": JOB_ID}
    peer.answer(Says(json=execution(parent=parent, error={"cause": "boom", "message": "it broke"})))
    shown = windlass("execution", "get", EXECUTION_ID).out
    assert "boom: it broke" in shown
    assert f"parent execution  {CHILD_ID}" in shown
    assert json.loads(windlass("execution", "get", EXECUTION_ID, "-o", "json").out)["version"] == 3


@pytest.mark.parametrize(
    ("state", "exit_code"), [("succeeded", 0), ("failed", 1), ("cancelled", 8)]
)
def test_the_exit_code_says_how_it_ended(
    windlass: Windlass, peer: Peer, state: str, exit_code: int
) -> None:
    done = execution(state=state, output={"n": 1} if state == "succeeded" else None)
    peer.answer(Says(json=execution()), Says(json=execution()), Says(json=done))
    ended = windlass("execution", "watch", EXECUTION_ID)
    assert ended.code == exit_code
    if state == "succeeded":
        assert json.loads(ended.out) == {"n": 1}
    assert ended.err.splitlines()[0] == f"{EXECUTION_ID} running: 1 running, 2 succeeded"
    assert "wait" in peer.calls[1].query


def test_one_that_takes_too_long_is_left_alone(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=execution()))
    ended = windlass("execution", "watch", EXECUTION_ID, "--timeout", "10ms")
    assert ended.code == 7
    assert "it goes on without us" in ended.err


def test_at_a_terminal_its_steps_are_drawn_until_it_has_ended(
    windlass: Windlass, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree instead of lines; the output still stands alone on standard output."""
    monkeypatch.setattr(commands, "is_watched", lambda: True)
    reads = 0

    def answer(call: Call) -> Says:
        nonlocal reads
        if call.path.endswith("/graph"):
            if CHILD_ID in call.path:
                return Says(json=graph(step("inside"), execution_id=CHILD_ID, workflow="child"))
            call_step = step("call", "running", kind="workflow", child_id=CHILD_ID)
            return Says(json=graph(step("first"), call_step))
        reads += 1
        return Says(json=execution(state="succeeded" if reads > 2 else "running", output=7))

    peer.answer_by(answer)
    ended = windlass("execution", "watch", EXECUTION_ID)
    assert (ended.code, json.loads(ended.out)) == (0, 7)
    for word in ("first", "call", CHILD_ID, "inside"):
        assert word in ended.err


def test_a_graph_is_plain_text_in_a_pipe(windlass: Windlass, peer: Peer) -> None:
    counts = {"total": 10, "expanded": 8, "succeeded": 4, "failed": 1, "open": 3}
    steps = (
        step("price", output={"total": 7}),
        step("pack", "running", kind="map", counts=counts, finished_at=None),
        step("ship", "waiting", started_at=None, finished_at=None, title="Ship it"),
        step("oops", "dead", error={"cause": "boom", "message": "it\x1b[31mbroke"}, attempt=3),
    )
    peer.answer(Says(json=graph(*steps)))
    ended = windlass("execution", "graph", EXECUTION_ID)
    assert ended.code == 0
    told = ended.out.splitlines()
    assert told[0].split() == [EXECUTION_ID, "fulfil", "3", "running"]
    assert told[1].split() == ["price", "noop", "succeeded", "2.0", "s", '{"total":7}']
    assert told[2].endswith("[##########----------] 5 of 10, 1 failed")
    assert told[3].split() == ["ship", "noop", "waiting", "Ship", "it"]
    assert "attempt 3, boom: it\\x1b[31mbroke" in told[4]
    as_it_came = windlass("execution", "graph", EXECUTION_ID, "-o", "json").out
    assert json.loads(as_it_came) == graph(*steps)
    assert windlass("execution", "graph", EXECUTION_ID, "-o", "id").out == EXECUTION_ID + "\n"


def test_a_graph_that_is_followed_is_shown_when_it_has_ended(
    windlass: Windlass, peer: Peer
) -> None:
    done = execution(state="failed")
    peer.answer(Says(json=execution()), Says(json=done), Says(json=graph(step("a", "dead"))))
    ended = windlass("execution", "graph", EXECUTION_ID, "--follow")
    assert ended.code == 0
    assert "dead" in ended.out


def test_children_stand_below_the_step_that_waits_for_them() -> None:
    child = Tree(graph=graph(step("inside"), execution_id=CHILD_ID, workflow="child"))
    tree = Tree(
        graph=graph(step("call", kind="workflow", child_id=CHILD_ID), step("last")),
        children={CHILD_ID: child},
    )
    names = [line.name.rstrip() for line in lines(tree, datetime.now(UTC))]
    assert names == [EXECUTION_ID, "  call", "    " + CHILD_ID, "      inside", "  last"]


def test_a_fan_out_of_nothing_has_a_full_bar() -> None:
    assert bar({"total": 0, "succeeded": 0, "failed": 0}) == f"[{'#' * 20}] 0 of 0"


def test_jobs_and_events_of_an_execution_are_listed(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([job(step="pack", item=3), job(step="ship", item=None)])))
    shown = windlass("execution", "jobs", EXECUTION_ID).out
    assert "pack[3]" in shown
    assert "ship" in shown
    assert peer.calls[-1].path == f"{PATH}/jobs"
    event = {"id": "evt_1", "at": "2026-01-31T12:00:00Z", "type": "created", "data": {}}
    peer.answer(Says(json=page([{**event, "subject": EXECUTION_ID}])))
    assert EXECUTION_ID in windlass("execution", "events", EXECUTION_ID).out


def test_why_tells_each_reason_with_its_step(windlass: Windlass, peer: Peer) -> None:
    reason = {
        "gate": "signal",
        "reason": "it waits for the signal 'payment'",
        "since": "2026-01-31T12:00:00Z",
        "until": None,
        "step": "paid",
        "item": None,
        "job_id": JOB_ID,
    }
    why = {"execution_id": EXECUTION_ID, "state": "running", "summary": "x", "reasons": [reason]}
    peer.answer(Says(json=why))
    told = windlass("execution", "why", EXECUTION_ID).out.splitlines()
    assert told[0] == f"{EXECUTION_ID} is running"
    assert told[1].startswith("  step paid: it waits for the signal 'payment', since ")
    assert windlass("execution", "why", EXECUTION_ID, "-o", "id").out == EXECUTION_ID + "\n"


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
def test_verbs_go_to_each_execution(windlass: Windlass, peer: Peer, verb: str) -> None:
    asked = execution(cancel_requested_at="2026-01-31T12:00:00Z")
    peer.answer(Says(json=asked), problem(409, code="execution_ended", detail="it has ended"))
    ended = windlass("execution", verb, EXECUTION_ID, CHILD_ID)
    assert ended.code == 5
    assert ended.out == f"{EXECUTION_ID} running, fulfil 3, asked to cancel\n"
    assert "it has ended" in ended.err
    assert [call.path for call in peer.calls] == [
        f"{PATH}/{verb}",
        f"/v1/executions/{CHILD_ID}/{verb}",
    ]
    assert windlass("execution", verb).code == 2


def test_a_signal_is_sent_with_its_payload(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json={"id": "sig_1", "taken_by": JOB_ID}))
    ended = windlass("execution", "signal", EXECUTION_ID, "payment", "--payload", '{"amount": 12}')
    assert (ended.code, ended.out) == (0, f"payment taken by {JOB_ID}\n")
    assert peer.calls[-1].path == f"{PATH}/signals/payment"
    assert peer.calls[-1].json == {"payload": {"amount": 12}}
    peer.answer(Says(json={"id": "sig_1", "taken_by": None}))
    assert "kept" in windlass("execution", "signal", EXECUTION_ID, "payment").out
    assert peer.calls[-1].json == {}
    assert windlass("execution", "signal", EXECUTION_ID, "payment", "--payload", "{").code == 2


def test_a_rerun_begins_where_it_is_told_to(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=execution()))
    ended = windlass("execution", "rerun", EXECUTION_ID, "--from", "ship")
    assert (ended.code, ended.out) == (0, f"{EXECUTION_ID} running, fulfil 3\n")
    assert (peer.calls[-1].path, peer.calls[-1].json) == (f"{PATH}/rerun", {"from_step": "ship"})
    peer.answer(Says(json=execution()), Says(json=execution(state="succeeded", output=1)))
    ended = windlass("execution", "rerun", EXECUTION_ID, "--wait=20s")
    assert (ended.code, ended.out) == (0, "1\n")


@pytest.mark.parametrize(
    ("status", "exit_code"), [(404, 3), (403, 4), (409, 5), (422, 2), (429, 6)]
)
def test_a_refusal_has_its_exit_code(
    windlass: Windlass, peer: Peer, status: int, exit_code: int
) -> None:
    peer.answer(problem(status, code="some", detail="no"))
    assert windlass("execution", "get", EXECUTION_ID).code == exit_code
    assert windlass("approval", "approve", APPROVAL_ID).code == exit_code


def test_decisions_are_listed_and_taken(windlass: Windlass, peer: Peer) -> None:
    asked = {"id": APPROVAL_ID, "state": "open", "title": "Risky order", "step": "ok"}
    peer.answer(Says(json=page([{**asked, "execution_id": EXECUTION_ID}])))
    words = ("--state", "open", "--execution", EXECUTION_ID)
    assert "Risky order" in windlass("approval", "ls", *words).out
    assert peer.calls[-1].query["execution_id"] == [EXECUTION_ID]
    assert windlass("approval", "ls", "-o", "id").out == APPROVAL_ID + "\n"
    peer.answer(Says(json={**asked, "state": "approved"}))
    given = (APPROVAL_ID, "--answer", '{"n": 1}', "--comment", "fine")
    ended = windlass("approval", "approve", *given)
    assert (ended.code, ended.out) == (0, f"{APPROVAL_ID} approved: Risky order\n")
    assert peer.calls[-1].path == f"/v1/approvals/{APPROVAL_ID}/approve"
    assert peer.calls[-1].json == {"answer": {"n": 1}, "comment": "fine"}
    peer.answer(Says(json={**asked, "state": "rejected"}))
    assert windlass("approval", "reject", APPROVAL_ID, "--comment", "no").code == 0
    assert peer.calls[-1].json == {"comment": "no"}
