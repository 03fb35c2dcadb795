"""`windlass node signal`: what it asks for, what it shows, and how it exits."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says
from tests.cli.things import numbered


def signalled(**changes: Any) -> dict[str, Any]:
    return {
        "id": "sig_1",
        "acknowledged": ["node_1"],
        "missing": [],
        "answers": {"node_1": {"kinds": ["noop"]}},
        "reasons": {},
        **changes,
    }


def test_all_nodes_are_told_unless_some_are_named(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=signalled()))
    ended = windlass("node", "signal", "reload")
    assert ended.code == 0
    row = ended.out.splitlines()[1].split()
    assert row == ["node_1", "yes", '{"kinds":["noop"]}']
    first, second = numbered(1, "node_"), numbered(2, "node_")
    some = ["--to", first, "--to", second, "--payload", '{"a": 1}', "--wait", "2s"]
    assert windlass("node", "signal", "x", *some).code == 0
    assert [(call.path, call.json) for call in peer.calls] == [
        ("/v1/signals", {"targets": "all", "name": "reload", "wait": 5.0}),
        (
            "/v1/signals",
            {"targets": [first, second], "name": "x", "wait": 2.0, "payload": {"a": 1}},
        ),
    ]


def test_a_node_that_is_missing_is_named_and_makes_it_a_timeout(
    windlass: Windlass, peer: Peer
) -> None:
    told = signalled(missing=["node_2"], reasons={"node_2": "no such node lives"})
    peer.answer(Says(json=told))
    ended = windlass("node", "signal", "ping")
    assert ended.code == 7
    assert ended.out.splitlines()[2].split(maxsplit=2) == ["node_2", "no", "no such node lives"]
    whole = windlass("node", "signal", "ping", "-o", "json")
    assert (whole.code, json.loads(whole.out)) == (7, told)
    assert windlass("node", "signal", "ping", "-o", "id").out == "sig_1\n"


def test_an_error_in_an_answer_makes_it_a_failure(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=signalled(answers={"node_1": {"error": "not known"}})))
    assert windlass("node", "signal", "dance").code == 1


def test_with_no_node_there_is_nobody_to_tell(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=signalled(acknowledged=[], answers={})))
    ended = windlass("node", "signal", "ping")
    assert (ended.code, ended.err) == (0, "no node lives\n")


def test_a_payload_or_a_wait_that_cannot_be_read_is_bad_usage(windlass: Windlass) -> None:
    assert windlass("node", "signal", "ping", "--payload", "[1]").code == 2
    assert "--wait: 'soon'" in windlass("node", "signal", "ping", "--wait=soon").err
    assert windlass("node", "signal", "ping", "--wait", "soon").code == 2
    assert windlass("node", "signal").code == 2
