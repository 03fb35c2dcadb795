"""JSON at the door: what a database or a neighbour could choke on stays outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import MalformedBody
from windlass.limits import JSON_DEPTH_MAX
from windlass.model.json import strict as strict_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Everything but halves of surrogate pairs and NUL.
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), inner
        )
    ),
    max_leaves=20,
)


@given(values)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert strict_json.parse(strict_json.write(value).encode()) == value


@given(values)
def test_what_others_write_is_read(value: Any) -> None:
    assert strict_json.parse(json.dumps(value).encode()) == value
    assert strict_json.parse_in_bites(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b'{"a": 1,}', "not JSON"),
        (b'"line\nbreak"', "not JSON"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b'[{"x": {"deep": 1, "deep": 1}}]', "'deep' stands twice"),
        (rb'{"a": 1, "\u0061": 2}', "'a' stands twice"),
        (b"NaN", "NaN is not JSON"),
        (b'{"a": [Infinity]}', "Infinity is not JSON"),
        (b"-Infinity", "-Infinity is not JSON"),
        (b"1e999", "1e999 is too large"),
        (b"[-1e400]", "-1e400 is too large"),
        (b"1" * 5_000, "not JSON that can be taken"),
        (b"\xff\xfe", "not UTF-8"),
        (b'"\xc3"', "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),  # half of a surrogate pair, smuggled in as bytes
        (b'"\xc0\x80"', "not UTF-8"),  # NUL, written longer than it is
        ("\ufeff{}".encode(), "not JSON"),
        ("[1\u0662]".encode(), "not JSON"),
        ("[1.\u0662]".encode(), "not JSON"),
    ],
)
@pytest.mark.parametrize("parse", [strict_json.parse, strict_json.parse_in_bites])
def test_a_malformed_body_is_refused_with_its_reason(
    parse: Callable[[bytes], Any], body: bytes, why: str
) -> None:
    with pytest.raises(MalformedBody, match=why) as refused:
        parse(body)
    assert refused.value.status == 400
    assert [problem.pointer for problem in refused.value.problems] == [""]
    assert len(str(refused.value)) < 300


@pytest.mark.timeout(10)
def test_a_twin_among_a_hundred_thousand_keys_is_found_at_once() -> None:
    keys = [f'"{n}":0' for n in range(100_000)]
    body = "{" + ",".join([*keys, keys[-1]]) + "}"
    with pytest.raises(MalformedBody, match="'99999' stands twice"):
        strict_json.parse(body.encode())


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize(("left", "right"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_deep_body_is_refused_and_harms_nobody(depth: int, left: bytes, right: bytes) -> None:
    with pytest.raises((MalformedBody, ValueError), match="nested deeper than 64 levels"):
        strict_json.write(strict_json.parse(left * depth + b"1" + right * depth))
    with pytest.raises(MalformedBody, match="nested deeper than 64 levels"):
        strict_json.parse_in_bites(left * depth + b"1" + right * depth)


def test_the_deepest_value_that_is_taken_has_as_many_levels_as_the_limit_says() -> None:
    deepest = b"[" * JSON_DEPTH_MAX + b"]" * JSON_DEPTH_MAX
    assert strict_json.write(strict_json.parse(deepest)) == deepest.decode()
    with pytest.raises(ValueError, match="nested deeper"):
        strict_json.write(strict_json.parse(b"[" + deepest + b"]"))


def test_many_brackets_side_by_side_are_not_deep() -> None:
    wide: list[Any] = [[{}] for _ in range(1_000)]
    assert strict_json.write(wide).count("{") == 1_000


@dataclass
class Answer:
    text: str


@pytest.mark.parametrize(
    "value",
    [
        "\x00",
        {"a": ["x\x00y"]},
        {"\x00": 1},
        {"a": {"b\x00": 1}},
        ("\x00",),
        {"\x00"},
        Answer("\x00"),
    ],
    ids=["text", "in a list", "key", "deep key", "tuple", "set", "object"],
)
def test_a_nul_character_is_refused_wherever_it_hides(value: Any) -> None:
    with pytest.raises(ValueError, match=r"U\+0000"):
        strict_json.write(value)


@pytest.mark.parametrize(
    "value", ["\\u0000", {"\\u0000": "\\u0000"}, "\\\\u0000", ["C:\\users\\u0000"]]
)
def test_text_that_only_spells_a_nul_is_fine(value: Any) -> None:
    assert json.loads(strict_json.write(value)) == value


def test_a_nul_after_backslashes_is_still_a_nul() -> None:
    for text in ("\\\x00", "\\\\\x00", "\\u0000\x00"):
        with pytest.raises(ValueError, match=r"U\+0000"):
            strict_json.write(text)


@pytest.mark.parametrize("value", ["\ud800", {"a": "x\udfffy"}, {"\ud800": 1}])
def test_half_of_a_surrogate_pair_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="surrogate"):
        strict_json.write(value)


def test_a_surrogate_pair_that_is_whole_is_one_character() -> None:
    assert strict_json.parse(rb'"\ud83d\ude00"') == "😀"


@given(st.binary() | st.text().map(str.encode) | st.from_regex(rb'[\[\]{}",:0-9a\\ue]*'))
def test_reading_says_malformed_or_nothing(body: bytes) -> None:
    said = ""
    try:
        strict_json.parse(body)
    except MalformedBody as refused:
        said = str(refused)
    assert len(said) < 300
