"""`expect`: conditions on an answer, and what keeps them from costing more than a moment."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.strategies.receiver import Receiver, deliver
from windlass.limits import EXPECT_CHARS_MAX, RESPONSE_BYTES_MAX
from windlass.model.job.outcome import Failed, Succeeded
from windlass.strategies.http.expect import Unanswerable, expectation
from windlass.strategies.http.http import Http, check_input


@dataclass
class Said:
    """An answer that did not come over a network."""

    status: int = 200
    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    json: Any = None


def said(value: Any, status: int = 200) -> Said:
    return Said(status=status, text=json.dumps(value, separators=(",", ":")), json=value)


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        ("status == 200", True),
        ("status in [200, 201] && json.ok", True),
        ("status >= 500", False),
        ("headers['x-state'] == 'done'", True),
        ("'x-none' in headers", False),
        ("has(json.missing)", False),
        ("json.missing_or_not == null", True),
        ("body.contains('ok')", True),
        ("json.items.exists(i, i.state == 'bad')", True),
        ("json.items.all(i, i.tags.size() > 0)", True),
        ("size(json.items.filter(i, i.state == 'good')) == 1", True),
        ("json.big > 9007199254740993", True),
        ("double(json.amount) < 10.0 ? status == 200 : false", True),
    ],
)
def test_a_condition_sees_the_status_headers_body_and_json(source: str, holds: bool) -> None:
    answer = said(
        {
            "ok": True,
            "missing_or_not": None,
            "amount": "9.50",
            "big": 9007199254740995,
            "items": [{"state": "good", "tags": [1]}, {"state": "bad", "tags": [2]}],
        }
    )
    answer.fields = {"x-state": "done"}
    assert expectation(source).holds(answer) is holds


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "1 to"),
        ("x" * (EXPECT_CHARS_MAX + 1), str(EXPECT_CHARS_MAX)),
        ("status ==", "not CEL"),
        ("(" * 200 + "true" + ")" * 200, "not CEL"),
        ("stauts == 200", "'stauts'"),
        ("matches(body, 'a')", "'matches'"),
        ("body.matches('(x{100}){100}y')", "'matches'"),
        ("body.reverse() == ''", "'reverse'"),
        ("json.all(a, nobody == a)", "'nobody'"),
        ("'\ud800' == body", "not CEL"),
    ],
)
def test_what_cannot_be_judged_is_refused_at_the_door(source: str, why: str) -> None:
    [(pointer, detail)] = check_input({"url": "http://x.example", "expect": source})
    assert pointer == "/expect"
    assert why in detail
    assert len(detail) < 600


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("json[0].missing == 1", "overload"),
        ("json[7] == 1", "7"),
        ("headers['x'] == 'y'", "no key 'x' in headers"),
        ("json.ok", "json is a list"),
        ("status", "int"),
        ("status / 0 == 1", "division by zero"),
        ("'a' + 1 == 'a1'", "string"),
        ("int(body) == 1", "int"),
    ],
)
def test_a_condition_without_an_answer_says_why(source: str, why: str) -> None:
    with pytest.raises(Unanswerable, match=why):
        expectation(source).holds(said([1, 2], status=204))


@pytest.mark.parametrize(
    "source",
    [
        "json.all(a, json.all(b, a == b))",
        "json.all(a, json.all(b, json.all(c, true)))",
        "json.map(a, json).map(a, json).map(a, json) == json",
        "json.all(a, json == json && json == json && json == json && json == json)",
        "json.map(a, body + body + body + body).size() > 0",
        "json.all(a, (json + json + json + json + json) == (json + json + json + json + json))",
        "json.map(a, json.map(b, body)).size() > 0",
        "json.exists(a, body.contains(string(a) + 'x'))",
        "json.exists(a, body.contains('x')) || json.exists(a, body.contains('y'))",
    ],
)
@pytest.mark.parametrize("length", [30, 300, 3_000, 30_000])
def test_no_condition_holds_up_the_node_however_the_answer_looks(source: str, length: int) -> None:
    answer = said([1] * length)
    assert len(answer.text) < RESPONSE_BYTES_MAX
    began = time.process_time()
    with contextlib.suppress(Unanswerable):
        expectation(source).holds(answer)
    assert time.process_time() - began < 0.5


def test_work_that_would_take_too_long_is_given_up() -> None:
    with pytest.raises(Unanswerable, match="too much work"):
        expectation("json.all(a, json.all(b, a == b))").holds(said([1] * 30_000))


def test_the_largest_answer_is_looked_through() -> None:
    answer = said([1] * 30_000)
    assert expectation("json.all(a, a == 1) && body.contains('[1,1')").holds(answer)


def test_an_expression_is_compiled_once() -> None:
    assert expectation("status == 418") is expectation("status == 418")


async def test_what_is_expected_is_success_whatever_the_status(
    http: Http, receiver: Receiver
) -> None:
    receiver.will(409, '{"code": "duplicate"}')
    fields = {"expect": "status == 409 && json.code == 'duplicate'"}
    assert isinstance(await deliver(http, receiver.url, **fields), Succeeded)


@pytest.mark.parametrize(
    ("status", "cause", "is_final"),
    [(200, "unexpected answer", False), (503, "http 503", False), (404, "http 404", True)],
)
async def test_what_is_not_expected_is_a_failure_as_the_status_says(
    http: Http, receiver: Receiver, status: int, cause: str, is_final: bool
) -> None:
    receiver.will(status, '{"ok": false}')
    outcome = await deliver(http, receiver.url, expect="json.ok")
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == (cause, is_final)


async def test_an_expectation_that_has_no_answer_is_a_failure_that_may_pass(
    http: Http, receiver: Receiver
) -> None:
    receiver.will(200, "<html>")
    outcome = await deliver(http, receiver.url, expect="json.ok")
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("expect", False)
    assert "not JSON" in outcome.message


async def test_headers_of_the_answer_have_lower_case_names_and_odd_bytes_do_no_harm(
    http: Http, receiver: Receiver
) -> None:
    receiver.will(200, **{"X-State": "done", "X-Odd": "\udcff"})
    outcome = await deliver(http, receiver.url, expect="headers['x-state'] == 'done'")
    assert isinstance(outcome, Succeeded)
