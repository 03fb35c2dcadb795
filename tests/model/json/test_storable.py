"""Making values from outside fit to be stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.model.json.storable import harmless_json, harmless_record, harmless_text

odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers()
    | st.datetimes(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.tuples(inner, inner)
        | st.frozensets(st.text())
    ),
    max_leaves=20,
)


@given(st.text())
def test_harmless_text_can_be_stored_and_ordinary_text_is_left_alone(text: str) -> None:
    made = harmless_text(text)
    made.encode()
    assert "\x00" not in made
    assert len(made) == len(text)
    if "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text):
        assert made == text


@given(odd_values)
def test_any_value_becomes_json_that_can_be_stored(value: Any) -> None:
    text = harmless_json(value)
    text.encode()
    assert "\\u0000" not in text.replace("\\\\", "")
    json.loads(text, parse_constant=lambda name: 1 / 0)


def test_plain_values_keep_their_meaning() -> None:
    value = {"a": [1, 2.5, True, None, "ä"], "b": {"c": "d"}}
    assert json.loads(harmless_json(value)) == value


def test_what_json_does_not_know_is_shown_as_text() -> None:
    shown = json.loads(harmless_json({"nan": float("nan"), "set": {1}, "bytes": b"x", 7: "key"}))
    assert shown == {"nan": "nan", "set": "{1}", "bytes": "b'x'", "7": "key"}


def test_a_value_that_holds_itself_is_cut_off_at_once() -> None:
    knot: list[Any] = [1]
    knot += [knot] * 10  # ten ways down at every level: walking it would take for ever
    assert json.loads(harmless_json(knot)) == [1, *["…"] * 10]
    ring: dict[str, Any] = {}
    ring["self"] = {"again": ring}
    assert json.loads(harmless_json(ring)) == {"self": {"again": "…"}}


def test_a_value_that_stands_twice_is_shown_in_both() -> None:
    twin = {"a": 1}
    assert json.loads(harmless_json([twin, twin])) == [twin, twin]


def test_a_deep_value_is_cut_off_in_the_depth() -> None:
    deep: Any = "bottom"
    for _ in range(5_000):
        deep = [deep]
    assert "…" in harmless_json(deep)


@pytest.mark.parametrize(
    "value",
    [
        {"a": "plain", "n": 1.5, "deep": {"b": [1, None, True]}},
        {"nul": "a\x00b"},
        {"half": "a\ud800b"},
        {"odd": object},
        {"said": "\\u0000 written out"},
    ],
)
def test_a_record_is_the_same_as_the_slow_way_makes_it(value: dict[str, object]) -> None:
    assert json.loads(harmless_record(value)) == json.loads(harmless_json(value))
