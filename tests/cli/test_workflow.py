"""Workflows on the command line: files go up, versions come down, executions are started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Call, Peer, Says, problem
from tests.cli.things import page
from windlass.cli.exits import Exit

GREET = "name: greet\nsteps:\n  - {id: a, kind: noop}\n"
DEFINITION = {"name": "greet", "steps": [{"id": "a", "kind": "noop"}]}
WORKFLOW: dict[str, Any] = {
    "id": "wf_" + "0" * 32,
    "name": "greet",
    "version": 3,
    "hash": "ab" * 32,
    "description": "Say hello.",
    "published_by": "key_1",
    "published_at": "2026-01-31T12:00:00Z",
    "created_at": "2026-01-31T12:00:00Z",
    "changed_at": "2026-01-31T12:00:00Z",
    "has_draft": False,
}
VALID = Says(json={"valid": True, "errors": []})
INVALID = Says(
    json={"valid": False, "errors": [{"pointer": "/steps/0/kind", "detail": "must be one of: …"}]}
)
EXECUTION: dict[str, Any] = {
    "id": "exe_" + "0" * 32,
    "workflow": "greet",
    "version": 3,
    "state": "pending",
    "counts": {},
    "input": {},
    "output": None,
    "error": None,
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "greet.yaml"
    path.write_text(GREET)
    return str(path)


def test_a_file_is_checked_by_the_server_and_sent_as_what_it_is(
    windlass: Windlass, peer: Peer, file: str, tmp_path: Path
) -> None:
    as_json = tmp_path / "greet.json"
    as_json.write_text(json.dumps(DEFINITION))
    peer.answer(VALID)
    ended = windlass("workflow", "validate", file, str(as_json))
    assert (ended.code, ended.out) == (0, f"{file} is valid\n{as_json} is valid\n")
    assert [call.path for call in peer.calls] == ["/v1/workflows/validate"] * 2
    types = [call.headers["content-type"] for call in peer.calls]
    assert types == ["application/yaml", "application/json"]
    assert peer.calls[0].body == GREET.encode()


def test_each_problem_is_told_on_a_line_with_its_file_and_pointer(
    windlass: Windlass, peer: Peer, file: str
) -> None:
    peer.answer(INVALID)
    ended = windlass("workflow", "validate", file)
    assert ended.code == Exit.USAGE
    assert ended.err == f"{file}: /steps/0/kind: must be one of: …\n"
    shown = json.loads(windlass("workflow", "validate", file, "-o", "json").out)
    assert shown["valid"] is False


def test_what_is_no_yaml_is_told_by_its_line_without_asking_anybody(
    windlass: Windlass, peer: Peer, tmp_path: Path
) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text("name: a\nname: b\n")
    ended = windlass("workflow", "validate", str(path))
    assert ended.code == Exit.USAGE
    assert "line 2, column 1: the key 'name' stands twice" in ended.err
    assert peer.calls == []
    assert windlass("workflow", "validate", str(tmp_path / "nowhere.yaml")).code == Exit.USAGE
    assert windlass("workflow", "validate").code == Exit.USAGE


def test_files_are_published_and_the_same_again_is_told_so(
    windlass: Windlass, peer: Peer, file: str
) -> None:
    peer.answer(VALID, Says(status=201, json=WORKFLOW), VALID, Says(status=200, json=WORKFLOW))
    ended = windlass("workflow", "apply", file, file)
    assert ended.code == 0
    assert ended.out == "greet version 3 published\ngreet is version 3 already\n"
    assert [call.path for call in peer.calls][1::2] == ["/v1/workflows"] * 2


def test_what_is_invalid_is_not_published_and_the_others_are(
    windlass: Windlass, peer: Peer, file: str
) -> None:
    peer.answer(INVALID, VALID, Says(status=201, json=WORKFLOW))
    ended = windlass("workflow", "apply", file, file)
    assert ended.code == Exit.USAGE
    assert ended.out == "greet version 3 published\n"
    assert "/steps/0/kind" in ended.err


def test_workflows_are_listed_shown_and_named_by_their_name(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([WORKFLOW])))
    listed = windlass("workflow", "ls").out
    assert "greet" in listed
    assert "abababababab " in listed
    assert windlass("workflow", "ls", "-o", "id").out == "greet\n"
    peer.answer(Says(json={**WORKFLOW, "definition": DEFINITION}))
    assert "Say hello." in windlass("workflow", "get", "greet").out
    assert peer.calls[-1].path == "/v1/workflows/greet"
    peer.answer(Says(json=page([WORKFLOW])))
    assert "3" in windlass("workflow", "versions", "greet").out
    assert peer.calls[-1].path == "/v1/workflows/greet/versions"


DIFF = {
    "from": 1,
    "to": 2,
    "is_same": False,
    "fields": [{"field": "timeout", "from": None, "to": "2h"}],
    "added": [{"id": "c", "kind": "noop"}],
    "removed": [{"id": "b", "kind": "http"}],
    "changed": [{"id": "a", "fields": [{"field": "queue", "from": "x", "to": "y"}]}],
    "is_reordered": True,
}


def test_a_difference_is_a_line_for_each_change(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=DIFF))
    ended = windlass("workflow", "diff", "greet", "--from", "1", "--to", "2")
    assert ended.out.splitlines() == [
        "version 1 -> version 2",
        '~ timeout: nothing -> "2h"',
        "- step b (http)",
        "+ step c (noop)",
        '~ step a: queue: "x" -> "y"',
        "~ the steps stand in another order",
    ]
    assert peer.calls[0].query == {"from": ["1"], "to": ["2"]}
    assert json.loads(windlass("workflow", "diff", "greet", "-o", "json").out) == DIFF
    assert windlass("workflow", "diff", "greet", "-o", "id").out == "b\nc\na\n"


def test_the_newest_version_is_compared_with_a_file(
    windlass: Windlass, peer: Peer, file: str
) -> None:
    published = {**WORKFLOW, "definition": {**DEFINITION, "timeout": "1h", "layout": {}}}
    peer.answer(
        VALID, Says(json=published), VALID, Says(json={**WORKFLOW, "definition": DEFINITION})
    )
    ended = windlass("workflow", "diff", "greet", file)
    assert ended.out.splitlines() == [f"version 3 -> {file}", '~ timeout: "1h" -> nothing']
    ended = windlass("workflow", "diff", "greet", file)
    assert ended.out == f"version 3 and {file} are the same\n"
    assert windlass("workflow", "diff", "greet", file, "--from", "1").code == Exit.USAGE


def test_a_definition_is_written_out_byte_for_byte(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(raw=GREET.encode(), headers={"Content-Type": "application/yaml"}))
    ended = windlass("workflow", "export", "greet", "--format", "yaml", "--version", "2")
    assert ended.out == GREET
    assert peer.calls[0].query == {"format": ["yaml"], "version": ["2"]}


def test_workflows_are_deleted_one_after_the_other(windlass: Windlass, peer: Peer) -> None:
    peer.answer(problem(404, code="not_found", detail="there is no workflow 'a'"), Says(status=204))
    ended = windlass("workflow", "delete", "a", "b")
    assert ended.code == Exit.NOT_FOUND
    assert "b deleted" in ended.out
    assert [(call.method, call.path) for call in peer.calls] == [
        ("DELETE", "/v1/workflows/a"),
        ("DELETE", "/v1/workflows/b"),
    ]


def test_an_execution_is_started_with_what_was_typed(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(status=201, json=EXECUTION))
    ended = windlass(
        *("workflow", "run", "greet", "--input", '{"who": "you"}', "--version", "2"),
        *("--priority", "high", "--tag", "a", "--tag", "b", "--idempotency-key", "k1"),
    )
    assert (ended.code, ended.out) == (0, f"{EXECUTION['id']} pending, greet 3\n")
    (call,) = peer.calls
    assert call.path == "/v1/workflows/greet/executions"
    assert call.headers["idempotency-key"] == "k1"
    assert call.json == {
        "input": {"who": "you"},
        "version": 2,
        "priority": "high",
        "tags": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("state", "code"), [("succeeded", 0), ("failed", Exit.FAILED), ("cancelled", Exit.CANCELLED)]
)
def test_waiting_gives_the_output_and_the_exit_code_says_how_it_ended(
    windlass: Windlass, peer: Peer, state: str, code: int
) -> None:
    def answering(call: Call) -> Says:
        if call.method == "POST":
            return Says(status=201, json=EXECUTION)
        error = {"cause": "out_of_stock", "message": "none left"} if state == "failed" else None
        return Says(json={**EXECUTION, "state": state, "output": {"x": 1}, "error": error})

    peer.answering = answering
    ended = windlass("workflow", "run", "greet", "--wait")
    assert ended.code == code
    assert (json.loads(ended.out) == {"x": 1}) if state == "succeeded" else ended.out == ""
    assert ("none left" in ended.err) is (state == "failed")
    assert peer.calls[-1].path == f"/v1/executions/{EXECUTION['id']}"


def test_waiting_no_longer_than_asked_leaves_the_execution_alone(
    windlass: Windlass, peer: Peer
) -> None:
    peer.answer(Says(status=201, json=EXECUTION))
    ended = windlass("workflow", "run", "greet", "--wait=50ms")
    assert ended.code == Exit.TIMED_OUT
    assert "windlass execution watch" in ended.err
