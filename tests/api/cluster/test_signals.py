"""POST /v1/signals: bad input is told whole, and those who cannot answer are named at once."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from windlass import ids
from windlass.clock import monotonic
from windlass.limits import SIGNAL_PAYLOAD_BYTES_MAX, SIGNAL_TARGETS_MAX

NODE = "node_" + "0" * 32

BAD: list[tuple[Any, dict[str, str]]] = [
    ([], {"": "must be an object such as"}),
    ({}, {"/targets": "is needed", "/name": "is needed"}),
    ({"targets": "some", "name": "ping"}, {"/targets": 'must be "all", or a list of 1 to'}),
    ({"targets": [], "name": "ping"}, {"/targets": 'must be "all", or a list of 1 to'}),
    ({"targets": [NODE] * (SIGNAL_TARGETS_MAX + 1), "name": "ping"}, {"/targets": "must be"}),
    (
        {"targets": [NODE, "node_1", 7], "name": "ping"},
        {"/targets/1": "'node_1' is not a node id", "/targets/2": "'7' is not a node id"},
    ),
    ({"targets": "all", "name": "a b"}, {"/name": "must"}),
    ({"targets": "all", "name": None}, {"/name": "must"}),
    ({"targets": "all", "name": "x" * 129}, {"/name": "must"}),
    ({"targets": "all", "name": "ping", "payload": [1]}, {"/payload": "must be an object"}),
    (
        {"targets": "all", "name": "ping", "payload": {"x": "y" * SIGNAL_PAYLOAD_BYTES_MAX}},
        {"/payload": f"must be at most {SIGNAL_PAYLOAD_BYTES_MAX} bytes"},
    ),
    ({"targets": "all", "name": "ping", "payload": {"x": "\0"}}, {"/payload": "U+0000"}),
    ({"targets": "all", "name": "ping", "wait": "61s"}, {"/wait": "must be at most 60 seconds"}),
    ({"targets": "all", "name": "ping", "wait": -1}, {"/wait": "not a duration of 0 or more"}),
    ({"targets": "all", "name": "ping", "wait": None}, {"/wait": "is not a duration"}),
    ({"targets": "all", "name": "ping", "to": 1}, {"/to": "unknown field; known are targets"}),
    ({"name": "a b", "to/o": 1}, {"/name": "must", "/targets": "is needed", "/to~1o": "unknown"}),
]


@pytest.mark.parametrize(("body", "problems"), BAD)
async def test_every_problem_of_a_signal_is_told(
    door: Served, body: Any, problems: dict[str, str]
) -> None:
    told = await door.post("/v1/signals", body, 422)
    assert told["code"] == "invalid_input"
    details = {problem["pointer"]: problem["detail"] for problem in told["errors"]}
    assert details.keys() == problems.keys()
    assert all(text in details[pointer] for pointer, text in problems.items())


async def test_with_no_node_alive_all_are_told_at_once_because_there_are_none(api: Served) -> None:
    said = await api.post("/v1/signals", {"targets": "all", "name": "ping"})
    assert said["id"].startswith("sig_")
    assert {name: said[name] for name in said if name != "id"} == {
        "acknowledged": [],
        "missing": [],
        "answers": {},
        "reasons": {},
    }


async def test_unknown_nodes_are_missing_at_once_and_silent_ones_at_the_deadline(
    api: Served, node: ActingNode
) -> None:
    unknown, silent = ids.show("node", uuid4()), ids.show("node", node.node_id)
    begun = monotonic()
    said = await api.post("/v1/signals", {"targets": [unknown], "name": "ping", "wait": "30s"})
    assert monotonic() - begun < 5
    assert said["missing"] == [unknown]
    body = {"targets": [silent, unknown, unknown], "name": "ping", "wait": "300ms"}
    said = await api.post("/v1/signals", body)
    assert (said["acknowledged"], said["missing"]) == ([], sorted([silent, unknown]))
    assert said["reasons"] == {
        silent: "it did not acknowledge within 0.3 s",
        unknown: "no such node lives",
    }


async def test_what_is_only_sent_waits_for_nobody(api: Served, node: ActingNode) -> None:
    body = {"targets": "all", "name": "ping", "payload": {"é": 2**70}, "wait": 0}
    said = await api.post("/v1/signals", body)
    assert said["missing"] == [ids.show("node", node.node_id)]
