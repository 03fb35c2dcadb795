"""The table of step kinds: complete, and asked for what depends on a kind."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from windlass.model.workflow.step_kinds import (
    ASKED_KINDS,
    AWAITED_KINDS,
    ENGINE_KINDS,
    ITEM_KINDS,
    KINDS,
    PERFORMED_KINDS,
    KindName,
    complete,
    form_of,
    input_problems,
)


def test_each_kind_is_performed_awaited_or_decided() -> None:
    assert KINDS.keys() == set(get_args(KindName))
    assert sorted(PERFORMED_KINDS) == ["http", "noop", "python", "wait"]
    assert sorted(AWAITED_KINDS) == ["approval", "map", "signal", "workflow"]
    assert sorted(ENGINE_KINDS - AWAITED_KINDS) == ["fail", "switch", "transform"]
    assert sorted(ASKED_KINDS) == ["approval", "signal"]
    assert sorted(ITEM_KINDS) == ["workflow"]


def test_a_kind_that_is_not_ours_is_a_plugins_and_a_node_performs_it() -> None:
    assert KINDS["sms"].is_performed
    assert KINDS["sms"].all_fields() == KINDS["noop"].all_fields()
    assert "sms" not in KINDS


def test_what_is_decided_at_once_has_nothing_to_compensate_and_no_timeout() -> None:
    for kind in ENGINE_KINDS - AWAITED_KINDS:
        assert {"undo", "timeout", "retry", "locks"}.isdisjoint(KINDS[kind].all_fields())


def test_a_table_of_verbs_that_misses_a_kind_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="a step of kind approval is not said here"):
        complete(ASKED_KINDS, {"signal": 1})


def test_a_table_of_verbs_with_a_kind_too_many_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="noop does not belong in a table of approval signal"):
        complete(ASKED_KINDS, {"signal": 1, "approval": 2, "noop": 3})


@pytest.mark.parametrize(
    ("kind", "given", "written", "filled"),
    [
        ("signal", {"name": "${inputs.a}"}, [], []),
        ("signal", {"name": ""}, ["/name"], ["/name"]),
        ("signal", {}, ["/name"], ["/name"]),
        ("approval", {"title": 7}, ["/title"], []),
        ("approval", {"title": "a", "form": {"typo": 1}}, ["/form/typo"], ["/form/typo"]),
        ("workflow", {"workflow": "w", "input": "${inputs.a}"}, [], ["/input"]),
        ("workflow", {"workflow": "w", "version": 0}, ["/version"], ["/version"]),
        (
            "workflow",
            {"version": None, "other": 1},
            ["/other", "/workflow"],
            ["/other", "/workflow"],
        ),
        ("transform", {"value": None}, [], []),
        ("transform", {}, ["/value"], ["/value"]),
        ("map", {"any": 1}, [], []),
    ],
)
def test_an_input_is_checked_as_it_was_written_and_as_the_run_has_filled_it(
    kind: str, given: dict[str, Any], written: list[str], filled: list[str]
) -> None:
    assert [pointer for pointer, _ in input_problems(kind, given)] == written
    assert [pointer for pointer, _ in input_problems(kind, given, is_filled=True)] == filled


def test_only_a_kind_that_has_forms_has_one() -> None:
    assert form_of("approval", {"form": {"type": "object"}}) == {"type": "object"}
    assert form_of("approval", {"title": "a"}) is None
    assert form_of("http", {"form": {"a": "b"}}) is None
