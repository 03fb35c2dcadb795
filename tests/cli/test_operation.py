"""`windlass operation …`: which are asked for, what is told on the way, and how a watch exits."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import numbered, page

NODE = "node_" + "0" * 32
OP = "op_" + "1" * 32


def operation(**changes: Any) -> dict[str, Any]:
    return {
        "id": OP,
        "kind": "resize",
        "node_id": NODE,
        "parent_id": None,
        "phase": "draining",
        "from_workers": 8,
        "to_workers": 4,
        "drain_seconds": 30.0,
        "on_timeout": "hand_back",
        "progress": {"in_flight": 3},
        "reason": None,
        "is_abort_asked": False,
        "created_at": "2026-01-31T12:00:00Z",
        **changes,
    }


def of_all(*phases: str) -> dict[str, Any]:
    """A change of the whole cluster: its parts are in these phases."""
    parts = [operation(id=f"op_{n}", phase=phase) for n, phase in enumerate(phases)]
    return {"id": OP, "kind": "resize", "phase": phases[0], "operations": parts}


def test_a_list_says_what_changes_from_how_many_to_how_many(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([operation(), operation(id="op_2", kind="pause", to_workers=None)])))
    head, resize, pause = windlass("operation", "ls").out.splitlines()
    assert head.split()[:5] == ["ID", "KIND", "PHASE", "NODE", "ID"]
    assert "8 > 4" in resize
    assert ">" not in pause
    assert windlass("operation", "ls", "-o", "id").out == f"{OP}\nop_2\n"


def test_a_list_is_narrowed_to_a_node_and_to_what_has_not_ended(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(json=page([])))
    ended = windlass("operation", "ls", "--node", NODE, "--open", "--limit", "3")
    assert (ended.out, ended.err) == ("", "no operations match\n")
    asked = peer.calls[-1].query
    assert (asked["node_id"], asked["limit"]) == ([NODE], ["3"])
    assert set(asked["phase"]) >= {"pending", "draining"}
    assert not set(asked["phase"]) & {"done", "rolled_back"}
    windlass("operation", "ls", "--phase", "done", "--phase", "rolled_back")
    assert peer.calls[-1].query["phase"] == ["done", "rolled_back"]
    windlass("operation", "ls")
    assert "phase" not in peer.calls[-1].query
    assert windlass("operation", "ls", "--open", "--phase", "done").code == 2
    assert windlass("operation", "ls", "--phase", "over").code == 2


def test_one_is_shown_and_json_is_the_answer_unchanged(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=operation()))
    assert "draining" in windlass("operation", "get", OP).out
    assert json.loads(windlass("operation", "get", OP, "-o", "json").out) == operation()
    assert peer.calls[-1].path == f"/v1/operations/{OP}"
    peer.answer(Says(json=of_all("draining", "done")))
    shown = windlass("operation", "get", OP).out
    assert "op_0" in shown
    assert "op_1" in shown


def test_a_watch_tells_each_change_and_shows_the_end(windlass: Windlass, peer: Peer) -> None:
    peer.answer(
        Says(json=operation()),
        Says(json=operation()),
        problem(503, detail="the node is restarting"),
        Says(json=operation(progress={"in_flight": 1})),
        Says(json=operation(phase="done")),
    )
    ended = windlass("operation", "watch", OP)
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"{OP} draining, 3 in flight",
        "the server does not answer; trying again",
        f"{OP} draining, 1 in flight",
        f"{OP} done",
    ]
    assert "done" in ended.out
    peer.answer(Says(json=of_all("draining", "done")), Says(json=of_all("done", "done")))
    assert f"{OP} draining, 1 of 2 nodes ended" in windlass("operation", "watch", OP).err


def test_a_watch_exits_as_the_operation_ended(windlass: Windlass, peer: Peer) -> None:
    back = operation(phase="rolled_back", reason="its node died, was cut off or left")
    peer.answer(Says(json=back))
    ended = windlass("operation", "watch", OP)
    assert ended.code == 1
    assert "its node died" in ended.err
    peer.answer(Says(json=operation(phase="rolled_back", reason="aborted", is_abort_asked=True)))
    assert windlass("operation", "watch", OP).code == 8
    peer.answer(Says(json={**of_all("done", "rolled_back"), "phase": "rolled_back"}))
    assert windlass("operation", "watch", OP).code == 1
    peer.answer(Says(json=operation()))
    late = windlass("operation", "watch", OP, "--timeout", "300ms")
    assert (late.code, late.out) == (7, "")
    assert f"still draining after 0.3 s; it goes on without us: windlass operation watch {OP}" in (
        late.err
    )
    peer.answer(problem(404, detail="there is no operation"))
    assert windlass("operation", "watch", OP).code == 3
    assert windlass("operation", "watch", OP, "--timeout", "soon").code == 2


def test_an_abort_says_whether_it_is_over_or_asked_for(windlass: Windlass, peer: Peer) -> None:
    second, third = numbered(2, "op_"), numbered(3, "op_")
    peer.answer(
        Says(json=operation(is_abort_asked=True)),
        problem(409, detail=f"{second} has ended as done", code="not_abortable"),
        Says(json=operation(id=third, phase="rolled_back", reason="aborted before it began")),
    )
    ended = windlass("operation", "abort", OP, second, third)
    assert ended.code == 5
    assert ended.out.splitlines() == [
        f"{OP} draining, 3 in flight, asked to go back",
        f"{third} rolled_back: aborted before it began",
    ]
    assert ended.err == f"error: {second} has ended as done\n"
    assert [(call.method, call.path) for call in peer.calls] == [
        ("POST", f"/v1/operations/{name}/abort") for name in (OP, second, third)
    ]
    assert windlass("operation", "abort").code == 2
