"""No expression takes longer than its allowance, whatever it is and whatever it is given."""

from __future__ import annotations

import time
from typing import Any

import pytest

from windlass.limits import EXPRESSION_CHARS_MAX
from windlass.model.expression import Unanswerable, compile_expression

# The worst takes a third of a second; a busy machine takes its time too.
SECONDS_MAX = 3.0
TEXT = "x" * 1_000_000
LIST = list(range(100_000))
OBJECTS = [{"id": n, "name": "abcdefghij"} for n in range(20_000)]
SCOPE: dict[str, Any] = {"text": TEXT, "list": LIST, "objects": OBJECTS, "small": [1, 2, 3]}


def chained(part: str, start: str = "[1]") -> str:
    """As many parts as fit."""
    return start + part * ((EXPRESSION_CHARS_MAX - len(start)) // len(part))


@pytest.mark.parametrize(
    "source",
    [
        "list.map(a, list.map(b, a + b))",
        "list.all(a, list.all(b, list.all(c, true)))",
        "list.exists_one(a, list.exists(b, b < 0))",
        "list.all(a, list == list + [])",
        "list.all(a, -1 in list || true)",
        "list.filter(a, objects == objects.map(o, o))",
        "list.map(a, list)",
        "list.map(a, list + list)",
        "list.map(a, text + text)",
        "list.all(a, text.contains('y') || true)",
        "list.all(a, text == text + '' || true)",
        "list.map(a, text.replace('x', 'yy'))",
        "list.map(a, text.split('x'))",
        "list.map(a, text.upperAscii())",
        "list.map(a, text.substring(1))",
        "list.map(a, bytes(text))",
        "list.map(a, [text, text].join(text))",
        "text.replace('', text)",
        "text.split('').map(a, text.split(''))",
        "[1].map(a, [a, a])" + ".map(a, [a, a])" * 60,
        "['x'].map(a, a + a)" + ".map(a, a + a)" * 60,
        "[[1]].map(a, a + a)" + ".map(a, a + a)" * 60,
        "[{'a': 1}].map(a, {'a': a, 'b': a})" + ".map(a, {'a': a, 'b': a})" * 60,
        "[1]" + ".map(a, [a, a])" * 40 + " == [1]" + ".map(a, [a, a])" * 40,
        "small" + ".map(a, small.map(b, small.map(c, a)))" * 20,
    ],
)
def test_a_bomb_is_given_up_soon(source: str) -> None:
    expression = compile_expression(source)
    began = time.process_time()
    with pytest.raises(Unanswerable, match="too much work"):
        expression.evaluate(SCOPE)
    assert time.process_time() - began < SECONDS_MAX


@pytest.mark.parametrize(
    "source",
    [
        "(" * 2_000 + "1" + ")" * 2_000,
        "[" * 2_000 + "]" * 2_000,
        "{1:" * 1_000 + "1" + "}" * 1_000,
        "!" * 4_000 + "1(",
        "size(" * 600 + "1" + ")" * 600,
        "a" + "[a" * 1_300 + "]" * 1_300,
        "true?1:" * 580 + "1",
        chained("[0]", "a"),
        chained(".b", "a"),
        chained("+1", "1"),
        chained("&&true", "true"),
        chained(".map(a, a)"),
        "[" + "1," * 2_000 + "1]",
        "'" + "\\" * 4_000,
        '"""' + "a" * 4_000,
        "9" * 4_000,
        "'a'.matches('(x{100}){100}')",
    ],
)
def test_what_is_too_long_or_too_deep_is_refused_as_soon_as_it_is_seen(source: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=r"is not CEL: |no function"):
        compile_expression(source)
    assert time.process_time() - began < SECONDS_MAX


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("!" * 4_000 + "true", True),
        ("-" * 4_000 + "1", 1),
        ("1" + "+1" * 128, 129),
        ("a" + "[0]" * 128, "end"),
        ("(" * 30 + "1" + ")" * 30, 1),
    ],
)
def test_what_is_just_within_the_limits_has_its_answer(source: str, expected: Any) -> None:
    nested: Any = "end"
    for _ in range(128):
        nested = [nested]
    assert compile_expression(source).evaluate({"a": nested}) == expected


def test_ordinary_work_on_many_elements_is_well_within_the_allowance() -> None:
    source = "objects.filter(o, o.id >= 10000 && o.name.startsWith('abc')).map(o, o.id)"
    assert compile_expression(source).evaluate(SCOPE) == list(range(10_000, 20_000))


def test_no_or_makes_up_for_work_that_is_too_much() -> None:
    with pytest.raises(Unanswerable, match="too much work"):
        compile_expression("list.all(a, list.all(b, true)) || true").evaluate(SCOPE)
