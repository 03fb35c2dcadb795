"""Expressions: what they give, what they ask for, and what they say when there is no answer."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from windlass.limits import EXPRESSION_CHARS_MAX, EXPRESSION_DEPTH_MAX
from windlass.model.expression import Unanswerable, compile_expression

ORDER = {"total": 120, "rate": 1.0, "note": None, "lines": [{"sku": "a"}, {"sku": "b"}], "a b": 7}
SCOPE: dict[str, Any] = {
    "inputs": {"order": ORDER},
    "vars": {"limit": 100},
    "steps": {
        "charge": {"output": {"id": "ch_1"}, "state": "succeeded", "error": None},
        "skipped": {"output": None, "state": "skipped", "error": None},
    },
    "item": {"n": 1},
    "index": 0,
}


def value(source: str) -> Any:
    return compile_expression(source).evaluate(SCOPE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("inputs.order.total", 120),
        ("inputs.order.rate", 1.0),
        ("inputs.order.note", None),
        ("inputs.order.lines[1].sku", "b"),
        ("inputs . order\n. lines [ 0 ]", {"sku": "a"}),
        ('inputs.order["a b"]', 7),
        ("inputs['order']['total']", 120),
        ("item", {"n": 1}),
        ("index", 0),
        ("steps.charge.output.id", "ch_1"),
        ("inputs.order.lines[index].sku", "a"),
    ],
)
def test_a_path_is_walked(source: str, expected: Any) -> None:
    assert value(source) == expected
    assert type(value(source)) is type(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("true", True),
        ("null", None),
        ("12", 12),
        ("-12", -12),
        ("0x1F", 31),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("-9223372036854775808", -(2**63)),
        (r'"a\n\"\u00e9\x41\101\\"', 'a\n"éAA\\'),
        ("'it'", "it"),
        (r"r'\d'", r"\d"),
        ('"""a"b\nc"""', 'a"b\nc'),
        ("[1, 2.0, null, 'x', [true]]", [1, 2.0, None, "x", [True]]),
        ("{'b': 1, 'a': {'c': []}}", {"b": 1, "a": {"c": []}}),
        ("[1, 2, ]", [1, 2]),
    ],
)
def test_a_literal_stands_for_itself(source: str, expected: Any) -> None:
    assert repr(value(source)) == repr(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("inputs.order.total > vars.limit", True),
        ("inputs.order.total > 100.5 && index == 0", True),
        ("inputs.order.total * 2 - 1", 239),
        ("7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1", True),
        ("1 + 2 * 3 - 4 - 5", -2),
        ("-(1) - -1", 0),
        ("!!true && !false", True),
        ("1.0 / 4.0", 0.25),
        ("'a' + 'b' == 'ab' ? 'yes' : 'no'", "yes"),
        ("false ? 1 : true ? 2 : 3", 2),
        ("[1] + [2, 3]", [1, 2, 3]),
        ("1 == 1.0 && [1] == [1.0] && true != 1 && [true] != [1]", True),
        ("{'a': [1]} == {'a': [1.0]} && null == null && 'a' != 1", True),
        ("2 in [1, 2.0] && !(true in [1]) && 'total' in inputs.order", True),
        ("'a' < 'b' && false < true && 1 < 1.5", True),
        ("has(inputs.order.total) && !has(inputs.order.tip)", True),
        ("has(inputs.order.note)", True),
        ("has(steps.charge.output.id)", True),
        ("inputs.order.lines.map(l, l.sku)", ["a", "b"]),
        ("inputs.order.lines.map(l, l.sku != 'a', l.sku)", ["b"]),
        ("inputs.order.lines.filter(l, l.sku == 'b')", [{"sku": "b"}]),
        ("inputs.order.lines.exists(l, l.sku == 'b')", True),
        ("inputs.order.lines.all(l, l.sku == 'b')", False),
        ("inputs.order.lines.exists_one(l, l.sku == 'b')", True),
        ("{'k': 1}.map(k, k)", ["k"]),
        ("[[1, 2], [3]].map(x, x.map(x, x + 1))", [[2, 3], [4]]),
        ("[1, 2].map(x, [10].map(y, x + y)[0] + x)", [12, 14]),
        ("{1: 'one', 2: 'two'}[2]", "two"),
        ("[1, 0].exists(x, 1 / x == 1)", True),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[5].exists(x, [0].exists_one(x, 1 / x == 1) || x == 5)", True),
        ("nobody == 1 || true", True),
        ("inputs.order.tip > 1 && false", False),
    ],
)
def test_everything_else_is_worked_out(source: str, expected: Any) -> None:
    assert repr(value(source)) == repr(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("size(inputs.order.lines) + 'né'.size() + size({'a': 1})", 5),
        ("int('-5') + int(2.9) + int(3)", 0),
        ("double('1.5') + double(1)", 2.5),
        ("string(1) + string(1.5) + string(2.0) + string(true) + string('x')", "11.52truex"),
        ("bool('true')", True),
        ("type(1) == int && type('') == string && type([]) == list", True),
        ("type(inputs.order.note) == null_type && type(1.0) != int", True),
        ("'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
        ("'Grün'.upperAscii() + 'GRÜN'.lowerAscii()", "GRüNgrÜn"),
        ("' a,b '.trim().split(',').join('-')", "a-b"),
        ("'ab'.split('')", ["a", "b"]),
        ("'aXbX'.replace('X', '..')", "a..b.."),
        ("'hello'.substring(1, 3) + 'hello'.substring(4)", "elo"),
        ("'hello'.indexOf('l')", 2),
        ("string(b'abc')", "abc"),
        ("dyn(1)", 1),
    ],
)
def test_functions_of_the_language_are_there(source: str, expected: Any) -> None:
    assert repr(value(source)) == repr(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("timestamp('2031-05-01T12:00:00Z') + duration('1h30m')", "2031-05-01T13:30:00Z"),
        ("timestamp('2031-05-01T12:00:00.250+02:00')", "2031-05-01T12:00:00.250000+02:00"),
        ("timestamp(0)", "1970-01-01T00:00:00Z"),
        ("int(timestamp('1970-01-02T00:00:00Z'))", 86400),
        ("timestamp('2031-05-02T00:00:00Z') - timestamp('2031-05-01T00:00:00Z')", 86400),
        ("duration('1500ms')", 1.5),
        ("duration('-2d')", -172800),
        ("timestamp('2031-05-01T00:00:00Z') < timestamp('2031-05-01T01:30:00+01:00')", True),
        ("timestamp('2031-05-04T12:34:56Z').getMonth()", 4),
        ("timestamp('2031-05-04T12:34:56Z').getDate()", 4),
        ("timestamp('2031-05-04T12:34:56Z').getDayOfWeek()", 0),
        ("timestamp('2031-05-04T12:34:56Z').getHours('+02:00')", 14),
        ("timestamp('2031-05-04T12:34:56Z').getHours('Europe/Berlin')", 14),
        ("duration('90m').getHours()", 1),
        ("b'abc'", "YWJj"),
        ("[timestamp('2031-05-01T12:00:00Z')]", ["2031-05-01T12:00:00Z"]),
    ],
)
def test_times_and_bytes_come_out_as_json(source: str, expected: Any) -> None:
    assert repr(value(source)) == repr(expected)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("inputs.order.totl", "no key 'totl' in inputs.order, which has: total, rate, note"),
        ("inputs.order.totl", r"ask has\(inputs.order.totl\) first"),
        ("inputs.ordr.total", r"no key 'ordr' in inputs, which has: order; ask has\(inputs.ordr\)"),
        ('inputs["a-b"]', r'ask has\(inputs\["a-b"\]\) first'),
        ("inputs.order.lines[2]", r"inputs.order.lines has 2 elements, and no \[2\]"),
        ("inputs.order.lines[-1]", r"no \[-1\]"),
        ("inputs.order.lines[0.0]", r"\[0\]"),
        ("inputs.order.lines.sku", "inputs.order.lines is a list"),
        ("inputs.order.note.text", "inputs.order.note is null, which has no 'text'"),
        ("steps.skipped.output.id", "steps.skipped.output is null"),
        ("inputs.order.total.x", "inputs.order.total is int"),
        ("steps.charge.output.id[0]", "is string"),
        ("nobody", "no 'nobody' here; there are: inputs, vars, steps, item, index"),
        ("has(inputs.ordr.total)", "no key 'ordr'"),
        ("has(steps.skipped.output.id)", "steps.skipped.output is null"),
        (
            "inputs.order.lines.map(l, l.skew)",
            r"no key 'skew' in l, which has: sku; ask has\(l.skew\)",
        ),
        ("inputs.order.total * 1.5", r"\* for int and double; say double\(x\)"),
        ("'n' + 1", r"\+ for string and int; say string\(x\)"),
        ("inputs.order.note + 1", "ask x != null first"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("9223372036854775807 + 1", "overflow"),
        ("-(-9223372036854775807 - 1)", "overflow"),
        ("int(1e30)", "overflow"),
        ("1.0 / 0.0", "inf, which is no number in JSON"),
        ("[0.0 / 0.0]", "nan"),
        ("1 ? 2 : 3", "true or false is needed, and there is int"),
        ("1 && true", "true or false"),
        ("!1", "true or false"),
        ("-'a'", "before a number, not string"),
        ("[1] < [2]", "< for list and list"),
        ("1 in 'abc'", "not string"),
        ("5.map(x, x)", "not int"),
        ("[1].filter(x, x)", "true or false"),
        ("[0].exists(x, 1 / x == 1)", "division by zero"),
        ("{1: 2}", "the key 1; in JSON keys are texts"),
        ("{1.5: 2}", "not double"),
        ("{'a': 1}[true]", "bool is none"),
        ("size(1)", r"size\(\) does not take int"),
        ("int('x')", r"int\(\) does not take string 'x'"),
        ("double('1_0')", "double"),
        ("string([1])", "list"),
        ("string(b'\\xff')", "UTF-8"),
        ("timestamp('tomorrow')", "'tomorrow' is no timestamp; it is written as in"),
        ("timestamp('2031-13-01T00:00:00Z')", "no timestamp"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('24h')", "years go from 1 to 9999"),
        ("timestamp(99999999999999)", "years"),
        ("duration('soon')", "is no duration"),
        ("timestamp(0).getHours('Nowhere/Land')", "no time zone"),
        ("(1).getHours()", "asks a timestamp, not int"),
        ("'abc'.substring(2, 9)", "0 to 3"),
        ("[1].join()", r"join\(\) does not take int"),
    ],
)
def test_an_expression_without_an_answer_says_why(source: str, said: str) -> None:
    with pytest.raises(Unanswerable, match=said):
        value(source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "1 to"),
        ("1" * (EXPRESSION_CHARS_MAX + 1), str(EXPRESSION_CHARS_MAX)),
        ("1 +", "at character 4 a value is expected, and there is none"),
        ("(1", r"'\)' is expected"),
        ("1 2", "the end is expected, and '2' stands there"),
        ("inputs.", "a name is expected"),
        ("inputs.in", "a name is expected"),
        ("a # b", "'#' at character 3"),
        ("'open", "at character 1"),
        ("if", "'if' at character 1 is a reserved word"),
        (r"'\q'", "is no escape"),
        (r"'\ud800'", "is no character"),
        ("'\ud800'", "surrogate"),
        ("9223372036854775808", "64 bits"),
        ("-(9223372036854775808)", "64 bits"),
        ("1u", "leave the u away"),
        ("'a'.matches('a')", "no function 'matches'; there are: "),
        ("has(inputs)", r"has\(\) asks for a field"),
        ("has(inputs.a[0])", r"has\(\) asks for a field"),
        ("size()", "arguments"),
        ("'a'.size(1)", "arguments"),
        ("contains('a', 'b')", r"called as x.contains\(\)"),
        ("inputs.all(x)", "all takes a name"),
        ("inputs.all(x.y, true)", "all takes a name"),
        ("inputs.all(x, true, true)", "not 3 arguments"),
        ("Order{total: 1}", "the end is expected"),
        ("inputs.?order", "a name is expected"),
        ("steps", "must name the step"),
        ("steps[item]", "must name the step"),
        ("steps[0]", "must name the step"),
        ("steps.map(s, s)", "must name the step"),
        ("[steps][0].charge", "must name the step"),
        ("inputs.map(steps, steps.x)", "another name"),
        ("(" * 33 + "1" + ")" * 33, f"deeper than {EXPRESSION_DEPTH_MAX}"),
    ],
)
def test_what_is_no_expression_is_refused_when_it_is_compiled(source: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        compile_expression(source)


@pytest.mark.parametrize(
    ("source", "names", "steps"),
    [
        ("1 + 2", set(), set()),
        ("inputs.a + vars.b", {"inputs", "vars"}, set()),
        ("steps.a.output + steps['b c'].output", {"steps"}, {"a", "b c"}),
        ("has(steps.a)", {"steps"}, {"a"}),
        ("has(steps.a.output.x) ? steps.b.output : item", {"steps", "item"}, {"a", "b"}),
        ("inputs.l.map(x, steps.a.output[x])", {"inputs", "steps"}, {"a"}),
        ("inputs.l.map(x, x.y).filter(item, item > index)", {"inputs", "index"}, set()),
        ("x.map(x, x)", {"x"}, set()),
        ("inputs.l.map(x, 1) + [x]", {"inputs", "x"}, set()),
        ("'steps.a' + inputs.steps.b // steps.c", {"inputs"}, set()),
        ("type(inputs.a) == int", {"inputs"}, set()),
        ("{'steps': inputs.b}.steps.c", {"inputs"}, set()),
    ],
)
def test_what_it_asks_for_is_known_beforehand(
    source: str, names: set[str], steps: set[str]
) -> None:
    expression = compile_expression(source)
    assert expression.names == names
    assert expression.steps == steps


def test_the_paths_in_it_are_known_too() -> None:
    expression = compile_expression("has(steps.a.output.x) || inputs.l[0].all(x, x.y == vars.z)")
    assert expression.paths == {
        ("steps", "a", "output", "x"),
        ("inputs", "l", 0),
        ("vars", "z"),
    }


class Lazy(Mapping[str, Any]):
    """Steps that are read when they are asked for."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known, self.asked = known, list[str]()

    def __getitem__(self, key: str) -> Any:
        self.asked.append(key)
        return self.known[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)

    def __contains__(self, key: object) -> bool:
        return key in self.known


@pytest.mark.parametrize(
    "source", ["steps.a.output", "steps.a.output + 1", "has(steps.a.output)", "[steps.a.state]"]
)
def test_steps_may_be_looked_up_as_they_are_asked_for(source: str) -> None:
    steps = Lazy({"a": Lazy({"output": 1, "state": "x"}), "b": Lazy({"output": 2})})
    compile_expression(source).evaluate({"steps": steps})
    assert set(steps.asked) == {"a"}


def test_a_lazy_step_can_be_had_whole_and_its_absence_is_told() -> None:
    steps = Lazy({"a": Lazy({"output": [1]})})
    assert compile_expression("steps.a").evaluate({"steps": steps}) == {"output": [1]}
    assert compile_expression("[steps.a]").evaluate({"steps": steps}) == [{"output": [1]}]
    assert compile_expression("has(steps.b)").evaluate({"steps": steps}) is False
    with pytest.raises(Unanswerable, match="no key 'b' in steps, which has: a"):
        compile_expression("steps.b.output").evaluate({"steps": steps})


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Colour.RED, "red"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2031, 5, 1, 12, tzinfo=UTC), "2031-05-01T12:00:00Z"),
        (datetime(2031, 5, 1, 12), "2031-05-01T12:00:00Z"),
        ((1, 2), [1, 2]),
    ],
)
def test_a_few_other_values_of_python_are_understood(given: Any, expected: Any) -> None:
    for source in ("x", "true ? x : x", "y.z"):
        found = compile_expression(source).evaluate({"x": given, "y": {"z": given}})
        assert repr(found) == repr(expected)


def test_the_rest_are_not() -> None:
    with pytest.raises(Unanswerable, match="object has no meaning"):
        compile_expression("x").evaluate({"x": object()})


def test_half_of_a_surrogate_pair_has_no_bytes() -> None:
    with pytest.raises(Unanswerable, match="half of a surrogate pair"):
        compile_expression("bytes(a)").evaluate({"a": "\ud800"})


def test_fields_keep_their_order() -> None:
    names = [f"n{number}" for number in range(50)]
    given = {"x": dict.fromkeys(names, 1)}
    assert list(compile_expression("true ? x : x").evaluate(given)) == names


def test_whole_numbers_beyond_64_bits_pass_through_but_are_not_reckoned_with() -> None:
    assert compile_expression("x").evaluate({"x": 2**70}) == 2**70
    with pytest.raises(Unanswerable, match="overflow"):
        compile_expression("x + 1").evaluate({"x": 2**70})


def test_an_expression_is_compiled_once() -> None:
    assert compile_expression("inputs.a") is compile_expression("inputs.a")


def test_the_value_is_the_callers_own_unless_it_is_a_plain_path() -> None:
    scope = {"x": {"a": [1]}}
    compile_expression("true ? x : x").evaluate(scope)["a"].append(2)
    assert scope == {"x": {"a": [1]}}
