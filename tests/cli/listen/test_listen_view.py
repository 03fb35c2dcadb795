"""What a developer sees of a delivery."""

from __future__ import annotations

import json

import pytest

from tests.cli.deliveries import BODY, delivery, told
from windlass.cli.limits import LISTEN_BODY_CHARS_SHOWN_MAX
from windlass.cli.listen.verify import Verdict
from windlass.cli.listen.view import document, shower


def test_a_delivery_is_one_line() -> None:
    assert told(delivery()) == [
        "12:00:00.000  POST  /hooks?a=1  job_1  attempt 2  24 B  ✓ verified  200  1.2 ms"
    ]
    [line] = told(delivery(verdict=Verdict(word="wrong", why="no signature matches"), times=2))
    assert "  ✗ no signature matches  " in line
    assert line.endswith("  again, 2 times by now")
    [line] = told(delivery(webhook_id=None, attempt=None, verdict=Verdict(word="unsigned")))
    assert "  no webhook-id  24 B  unsigned  200" in line


def test_headers_and_body_are_shown_when_asked_for_and_cannot_move_the_cursor() -> None:
    evil = delivery(headers=(("x", "\x1b[2J"),), body=b"one\ntwo\x1b[31m\xff", path="/\x9b1A")
    assert told(evil, "all")[1:] == ["  x: \\x1b[2J", "  one", "  two\\x1b[31m�"]
    assert told(evil, "headers")[1:] == ["  x: \\x1b[2J"]
    assert told(evil, "body")[1:] == ["  one", "  two\\x1b[31m�"]
    assert all(line.isprintable() for line in told(evil, "all"))
    [_, shown, more] = told(delivery(body=b"x" * (LISTEN_BODY_CHARS_SHOWN_MAX + 5)), "body")
    assert len(shown) == LISTEN_BODY_CHARS_SHOWN_MAX + 2
    assert more == "  … and 5 characters more"


def test_a_line_of_json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    shower("jsonl", "all")(delivery(body=b"\xff"))
    found = json.loads(capsys.readouterr().out)
    assert found == document(delivery(body=b"\xff"), "all")
    assert found["at"] == "2030-01-31T12:00:00Z"
    assert (found["signature"], found["size"], found["body_base64"]) == ("verified", 1, "/w==")
    assert document(delivery(), "body")["body"] == BODY.decode()
    assert "headers" not in document(delivery(), "body")
