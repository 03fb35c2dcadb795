"""`windlass task`: what is shown of a task, and how typed arguments become a job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.cli.peer import Peer, Says, problem
from tests.cli.things import job, page
from windlass.cli.exits import Exit
from windlass.cli.verbs.task import read_value, signature, type_of

TASK: dict[str, Any] = {
    "name": "send_mail",
    "app": "shop",
    "doc": "Send a mail.\nTwice, if need be.",
    "is_async": False,
    "is_isolated": False,
    "parameters": {
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "copies": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["to"],
        "additionalProperties": False,
    },
    "positional": ["to", "copies", "tags"],
    "result": {"type": "boolean"},
    "options": {"queue": "mail", "timeout": "30s"},
    "nodes": ["node_1"],
    "node_count": 1,
    "queued": 7,
    "running": 2,
    "dead": 0,
    "described_at": "2026-01-31T12:00:00Z",
}
MISSING = problem(404, code="not_found", detail="task send_mial was not found")


def test_tasks_are_listed_with_their_queue_and_their_jobs(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=page([TASK])))
    head, row = windlass("task", "ls").out.splitlines()
    assert head.split() == ["NAME", "QUEUE", "NODES", "QUEUED", "RUNNING", "DEAD", "DOES"]
    assert row.split(maxsplit=6) == ["send_mail", "mail", "1", "7", "2", "0", "Send a mail."]


def test_one_is_shown_with_its_signature(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=TASK))
    shown = windlass("task", "get", "send_mail").out
    assert "send_mail(to: string, copies: integer = …, tags: [string] = …) -> boolean" in shown
    assert peer.calls[-1].path == "/v1/tasks/send_mail"


def test_typed_arguments_become_what_the_hints_say(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=TASK), Says(status=201, json=job(kind="python")))
    typed = ("to=42", "copies=3", 'tags=["a"]', "--priority", "high", "--queue", "bulk")
    assert windlass("task", "run", "send_mail", *typed).code == Exit.OK
    sent = peer.calls[-1].json
    assert sent["input"] == {
        "task": "send_mail",
        "kwargs": {"to": "42", "copies": 3, "tags": ["a"]},
    }
    assert (sent["queue"], sent["timeout"], sent["priority"]) == ("bulk", "30s", "high")


def test_arguments_may_come_as_one_object(windlass: Windlass, peer: Peer) -> None:
    peer.answer(Says(json=TASK), Says(status=201, json=job(kind="python")))
    windlass("task", "run", "send_mail", "copies=2", "--input", '{"to": "a@b.c", "copies": 1}')
    assert peer.calls[-1].json["input"]["kwargs"] == {"to": "a@b.c", "copies": 2}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((), "to must be given; it is send_mail(to: string"),
        (("too=1",), "takes no 'too'; did you mean to?"),
        (("a@b.c",), "'a@b.c' is no argument; write NAME=VALUE"),
    ],
)
def test_what_does_not_fit_is_told_before_a_job_is_made(
    windlass: Windlass, peer: Peer, typed: tuple[str, ...], said: str
) -> None:
    peer.answer(Says(json=TASK))
    ended = windlass("task", "run", "send_mail", *typed)
    assert ended.code == Exit.USAGE
    assert said in ended.err
    assert [request.method for request in peer.calls] == ["GET"]


def test_a_misspelt_task_is_told_with_what_may_be_meant(windlass: Windlass, peer: Peer) -> None:
    peer.answer(MISSING, Says(json=page([TASK])))
    ended = windlass("task", "run", "send_mial", "to=x")
    assert ended.code == Exit.USAGE
    assert "no node has told of a task 'send_mial'; did you mean send_mail?" in ended.err


def test_types_are_told_in_a_word() -> None:
    assert type_of({"anyOf": [{"type": "string"}, {"type": "null"}]}) == "string | null"
    assert type_of({"$ref": "#/$defs/Order"}) == "Order"
    assert type_of({"enum": ["a", 1]}) == '"a" | 1'
    assert type_of({"type": ["string", "null"]}) == "string | null"
    assert type_of({}) == "any"
    assert signature({"name": "odd", "parameters": None}) == "odd(…)"


def test_values_are_json_unless_text_is_wanted() -> None:
    assert read_value({"type": "string"}, "7") == "7"
    assert read_value({"type": "integer"}, "7") == 7
    assert read_value({}, "true") is True
    assert read_value({}, "hello") == "hello"
