"""YAML that means what it looks like, and comes back as it went."""

from __future__ import annotations

import os
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from windlass.errors import MalformedBody
from windlass.limits import JSON_DEPTH_MAX
from windlass.model.json.yaml import parse, write

SEED = int(os.environ.get("WINDLASS_TEST_SEED", "1"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("2030-01-31", "2030-01-31"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("0o17", "0o17"),
        ("true", True),
        ("~", None),
        ("null", None),
        ("-5", -5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'5'", "5"),
        ('"${inputs.x}"', "${inputs.x}"),
        ("${inputs.x}", "${inputs.x}"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_a_scalar_is_what_it_looks_like(text: str, expected: Any) -> None:
    assert parse(f"it: {text}".encode()) == {"it": expected}


def test_an_anchor_stands_for_what_it_is_on() -> None:
    text = b"a: &policy {max_attempts: 3}\nb: *policy\nc: [*policy]\n"
    policy = {"max_attempts": 3}
    assert parse(text) == {"a": policy, "b": policy, "c": [policy]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "empty"),
        (b"# nothing else", "empty"),
        (b"a: [1", "line 2, column 1"),
        (b"a: 1\na: 2\n", "line 2, column 1: the key 'a' stands twice"),
        (b"a: !!python/object/apply:os.system ['true']", "tags are not taken"),
        (b"a: !!str 5", "tags are not taken"),
        (b"a: ! 5", "tags are not taken"),
        (b"5: a", "put it in quotes"),
        (b"true: a", "put it in quotes"),
        (b"? [a, b]\n: c", "put it in quotes"),
        (b"a: 0123", "put it in quotes to mean text"),
        (b"a: 0x1F", "put it in quotes to mean text"),
        (b"a: .inf", "put it in quotes to mean text"),
        (b"a: .nan", "put it in quotes to mean text"),
        (b"a: " + b"9" * 50, "put it in quotes to mean text"),
        (b"a: *b", "stands for nothing"),
        (b"a: &b [*b]", "stands for nothing"),
        (b"<<: {a: 1}", "merge keys are not taken"),
        (b"a: 1\n---\nb: 2\n", "another document"),
        (b"a: \xff", "not UTF-8"),
        (b"a: \x00", "not YAML"),
        (b"[" * (JSON_DEPTH_MAX + 1), "nested deeper"),
        (b"a: 'x", "line"),
        (b"\tx: 1", "line 1"),
    ],
)
def test_what_could_be_taken_two_ways_is_refused_with_its_pointer(text: bytes, words: str) -> None:
    with pytest.raises(MalformedBody) as caught:
        parse(text)
    assert words in caught.value.problems[0].detail


def test_a_few_lines_do_not_become_a_billion_values() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(MalformedBody, match="unfolds to more than"):
        parse("\n".join(lines).encode())


AWKWARD = ("no", "1e3", "0123", "0x1f", "~", "null", "<<", "=", "2030-01-01", "1:30", ".5", "+1")
MARKED = (
    "- a",
    "a: b",
    "# x",
    "*a",
    "&a",
    "!a",
    "",
    " ",
    "|",
    ">",
    "@a",
    "`a",
    "%a",
    "? a",
    "a #b",
)
LINES = ("x\ny\n", "x\ny", " lead\nx", "trail \nx", "\n", "é\nü", "x\n\n", "\tx\n", "x\r\ny")
TEXTS = st.text(max_size=12) | st.sampled_from((*AWKWARD, *MARKED, *LINES))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS.filter(lambda text: "\0" not in text),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS.filter(lambda text: "\0" not in text), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.slow
@seed(SEED)
@settings(max_examples=400, deadline=None)
@given(JSON)
def test_what_is_written_is_read_back_here_and_elsewhere(value: Any) -> None:
    text = write({"it": value})
    assert parse(text.encode("utf-8", "surrogatepass")) == {"it": value}, SEED
    assert yaml.safe_load(text) == {"it": value}, SEED
