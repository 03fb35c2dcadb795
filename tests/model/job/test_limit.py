"""Limits that a job carries: what is read, what is refused, and what tells one from another."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.model.job.limit import LimitAsk, limits_of, read_limits
from windlass.model.job.submission import SubmissionContext, read_job

CONTEXT = SubmissionContext(kinds={"noop": lambda _: []})


def problems(**fields: Any) -> set[str]:
    with pytest.raises(InvalidInput) as refused:
        read_job({"kind": "noop", **fields}, CONTEXT, datetime.now(UTC))
    return {problem.pointer for problem in refused.value.problems}


def test_a_limit_has_a_name_and_at_least_one_bound() -> None:
    assert read_limits(
        [
            {"name": "a", "max_running": 4.0},
            {"name": "b", "rate": 2, "per": ["/to"], "max_running": None},
        ]
    ) == (LimitAsk(name="a", max_running=4), LimitAsk(name="b", rate=2.0, per=("/to",)))


@pytest.mark.parametrize(
    ("limit", "pointer"),
    [
        ("a", ""),
        ({}, ""),
        ({"name": "a"}, ""),
        ({"name": "a", "rate": None, "max_running": None}, ""),
        ({"name": "a", "max_running": 1, "burst": 3}, "/burst"),
        ({"name": "", "max_running": 1}, "/name"),
        ({"name": None, "max_running": 1}, "/name"),
        ({"name": "a/b", "max_running": 1}, "/name"),
        *(({"name": "a", "max_running": bad}, "/max_running") for bad in (0, -1, 1.5, "2", True)),
        *(({"name": "a", "max_running": bad}, "/max_running") for bad in (10_001, 1e300)),
        *(({"name": "a", "rate": bad}, "/rate") for bad in (0, -1, 1e-6, 1_001, "2", True)),
        *(({"name": "a", "rate": bad}, "/rate") for bad in (float("nan"), float("inf"))),
        *(({"name": "a", "rate": 1, "per": bad}, "/per") for bad in ("to", [], ["to"], [5])),
        *(({"name": "a", "rate": 1, "per": bad}, "/per") for bad in (["/a"] * 5, ["/a\n"])),
    ],
)
def test_what_is_none_is_named_by_its_place(limit: Any, pointer: str) -> None:
    assert problems(limits=[{"name": "fine", "rate": 1}, limit]) == {f"/limits/1{pointer}"}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"args": ["ada"]}, "ada"),
        ({"args": [], "kwargs": {"to": "ada"}}, "ada"),
        ({"args": [None], "kwargs": {"to": 5}}, "5"),
        ({"args": [5.0]}, "5"),
        ({"args": [True]}, "true"),
        ({"args": [False]}, "false"),
        ({"args": [""]}, ""),
        ({"args": "ada"}, ""),
        ({}, ""),
        ({"args": ["x" * 64]}, "x" * 64),
    ],
)
def test_the_value_of_the_first_pointer_that_leads_somewhere_tells_limits_apart(
    given: dict[str, Any], value: str
) -> None:
    ask = LimitAsk(name="mail", max_running=1, per=("/args/0", "/kwargs/to"))
    assert ask.lock(given) == f"limit/mail/{value}"


def test_a_long_value_is_counted_by_its_hash() -> None:
    ask = LimitAsk(name="mail", max_running=1, per=("/to",))
    long, longer = ask.lock({"to": "x" * 65}), ask.lock({"to": "x" * 66})
    assert long != longer
    assert {len(long), len(longer)} == {len("limit/mail/") + 64}


@pytest.mark.parametrize("odd", [1.5, [], {"a": 1}])
def test_a_value_of_no_use_is_refused_with_the_limit_s_place(odd: Any) -> None:
    limits = [{"name": "a", "rate": 1}, {"name": "b", "rate": 1, "per": ["/to"]}]
    assert problems(limits=limits, input={"to": odd}) == {"/limits/1/per"}


def test_what_is_kept_is_what_was_asked_with_the_lock_of_each() -> None:
    kept = limits_of(read_limits([{"name": "a", "rate": 1, "max_running": None}] * 2), {})
    assert json.loads(kept.text) == [
        {"name": "a", "max_running": None, "rate": 1.0, "per": [], "lock": "limit/a"}
    ]
    assert kept.locks == ("limit/a",)


@pytest.mark.parametrize(
    ("fields", "pointers"),
    [
        ({"unique_for": "1s"}, {"/unique_for"}),
        ({"debounce": "1s"}, {"/debounce"}),
        ({"key": "k", "debounce_max": "1s"}, {"/debounce_max"}),
        ({"key": "k", "debounce": "2s", "debounce_max": "1s"}, {"/debounce_max"}),
        ({"key": "k", "debounce": "1s", "delay": "1s"}, {"/debounce"}),
        ({"key": "k", "debounce": "1s", "unique_for": "1s"}, {"/debounce"}),
        ({"key": "k", "debounce": "1s", "depends_on": []}, {"/debounce"}),
        ({"key": "k", "unique_for": 0}, {"/unique_for"}),
    ],
)
def test_what_is_said_of_keys_wants_one_and_says_one_thing(
    fields: dict[str, Any], pointers: set[str]
) -> None:
    assert problems(**fields) == pointers


@pytest.mark.parametrize("text", ["\x00", "\ud800"], ids=["NUL", "half a pair"])
def test_a_value_that_cannot_be_stored_is_refused_with_its_input(text: str) -> None:
    limit = {"name": "a", "max_running": 1, "per": ["/to"]}
    assert problems(limits=[limit], input={"to": text}) == {"/input", "/limits/0/per"}
