"""`windlass node resize|pause|resume|drain`: what is asked for and what is told."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem

NODE = "node_" + "0" * 32
OPERATION: dict[str, Any] = {
    "id": "op_" + "1" * 32,
    "kind": "resize",
    "node_id": NODE,
    "parent_id": None,
    "phase": "pending",
    "from_workers": 8,
    "to_workers": 4,
    "drain_seconds": 30.0,
    "on_timeout": "hand_back",
    "progress": {"in_flight": 3, "handed_back": 0},
    "reason": None,
}


def test_a_resize_names_the_node_and_its_new_size(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=202, json=OPERATION))
    flags = ("--drain-timeout", "90s", "--on-timeout", "finish")
    shown = windlass("node", "resize", NODE, "4", *flags, "-o", "json")
    assert (shown.code, json.loads(shown.out)) == (0, OPERATION)
    [call] = peer.calls
    assert (call.method, call.path) == ("PATCH", f"/v1/nodes/{NODE}")
    asked = {"workers": 4, "drain_timeout": "90s", "on_timeout": "finish", "dry_run": False}
    assert call.json == asked
    assert windlass("node", "resize", "--all", "4").code == 0
    assert peer.calls[-1].path == "/v1/cluster"


def test_who_waits_sees_the_phases_and_the_end(windlass: Windlass, peer: Peer) -> None:
    peer.answer(
        Says(status=202, json=OPERATION),
        Says(json={**OPERATION, "phase": "draining"}),
        Says(json={**OPERATION, "phase": "done"}),
    )
    shown = windlass("node", "resize", NODE, "4", "--wait", "10s")
    assert shown.code == 0
    assert "draining" in shown.err
    assert "done" in shown.out
    back = {**OPERATION, "phase": "rolled_back", "reason": "the node was told to leave"}
    peer.answer(Says(status=202, json=OPERATION), Says(json=back))
    assert windlass("node", "resize", NODE, "4", "--wait", "10s").code == 1
    assert windlass("node", "resize", NODE, "4", "--wait").code == 1
    peer.answer(Says(status=202, json=OPERATION), Says(json={**back, "is_abort_asked": True}))
    assert windlass("node", "resize", NODE, "4", "--wait").code == 8
    peer.answer(Says(status=202, json=OPERATION))
    late = windlass("node", "resize", NODE, "4", "--wait", "300ms")
    assert late.code == 7
    assert "still pending" in late.err


def test_a_dry_run_shows_the_estimate(windlass: Windlass, peer: Peer) -> None:
    found = {
        "node_id": NODE,
        "from_workers": 8,
        "to_workers": 0,
        "in_flight": 8,
        "would_drain": 8,
        "estimated_seconds": 1.5,
    }
    peer.answer(Says(json=found))
    shown = windlass("node", "resize", NODE, "0", "--dry-run")
    assert shown.code == 0
    assert "1.5" in shown.out
    assert peer.calls[-1].json["dry_run"] is True
    peer.answer(Says(json={"estimates": [found, found]}))
    shown = windlass("node", "resize", "--all", "0", "--dry-run", "-o", "jsonl")
    assert len(shown.out.splitlines()) == 2


def test_pause_resume_and_drain_are_asked_of_each_node(windlass: Windlass, peer: Peer) -> None:
    for verb in ("pause", "resume", "drain"):
        peer.calls.clear()
        peer.answer(Says(status=202, json={**OPERATION, "kind": verb, "to_workers": None}))
        assert windlass("node", verb, NODE, NODE).code == 0
        assert [call.path for call in peer.calls] == [f"/v1/nodes/{NODE}/{verb}"] * 2
    windlass("node", "drain", NODE, "--drain-timeout", "5")
    assert peer.calls[-1].json == {"drain_timeout": 5.0}


def test_what_cannot_be_meant_is_said_before_anything_is_asked(
    windlass: Windlass, peer: Peer
) -> None:
    for words in ((), (NODE,), (NODE, "many"), ("--all", NODE, "4"), (NODE, "4", "5")):
        assert windlass("node", "resize", *words).code == 2
    assert windlass("node", "pause").code == 2
    assert peer.calls == []
    peer.answer(problem(409, detail="it is in the middle of op_1", code="node_busy"))
    refused = windlass("node", "resize", NODE, "4")
    assert refused.code == 5
    assert "op_1" in refused.err
