"""Templates: JSON with expressions in its texts."""

from __future__ import annotations

import json
import time
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.limits import JSON_DEPTH_MAX, TEMPLATE_BYTES_MAX, TEMPLATE_EXPRESSIONS_MAX
from windlass.model.expression import Unanswerable
from windlass.model.expression.template import compile_template
from windlass.model.json import strict as strict_json

SCOPE: dict[str, Any] = {
    "inputs": {"id": 7, "name": "Zoë", "rate": 1.0, "ok": True, "none": None, "tags": ["a", "b"]},
    "steps": {"a": {"output": {"id": "ch_1"}}},
    "item": 3,
}


def filled(value: Any) -> Any:
    return compile_template(value).fill(SCOPE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${inputs.id}", 7),
        ("${ inputs.rate }", 1.0),
        ("${inputs.ok}", True),
        ("${inputs.none}", None),
        ("${inputs.tags}", ["a", "b"]),
        ("${inputs.name}", "Zoë"),
        ("${inputs.id * 2}", 14),
        ("${{'a': {'b': inputs.id}}}", {"a": {"b": 7}}),
        ("${'}' + \"}${\"}", "}}${"),
    ],
)
def test_a_text_that_is_wholly_an_expression_gives_way_to_its_value(
    text: str, expected: Any
) -> None:
    assert repr(filled(text)) == repr(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Order ${inputs.id} of ${inputs.name}!", "Order 7 of Zoë!"),
        ("${inputs.id}${item}", "73"),
        (" ${inputs.id}", " 7"),
        ("${inputs.id} ", "7 "),
        ("${inputs.rate} ${inputs.ok} ${inputs.none}", "1.0 true null"),
        ("tags=${inputs.tags}", 'tags=["a","b"]'),
        ("${ {'a': '}'} } and ${'${'}", '{"a":"}"} and ${'),
        ("a\n${'''}\n'''}b", "a\n}\nb"),
    ],
)
def test_inside_other_text_a_value_is_written(text: str, expected: str) -> None:
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$${inputs.id}", "${inputs.id}"),
        ("$${", "${"),
        ("$$${inputs.id}", "$${inputs.id}"),
        ("costs $5 and $$5 {x} $", "costs $5 and $$5 {x} $"),
        ("$${a} ${inputs.id} $${b}", "${a} 7 ${b}"),
    ],
)
def test_a_doubled_dollar_keeps_what_follows_as_it_is(text: str, expected: str) -> None:
    assert filled(text) == expected


def test_a_template_is_filled_wherever_its_expressions_stand() -> None:
    value = {
        "url": "https://x.example/${inputs.id}",
        "json": {"id": "${steps.a.output.id}", "n": ["${item}", 1, {"deep": "${inputs.tags}"}]},
        "constant": {"a": [1, 2.5, None, True, "x"], "empty": {}, "none": []},
    }
    template = compile_template(value)
    assert json.loads(template.fill_json(SCOPE)) == template.fill(SCOPE)
    assert template.fill(SCOPE) == {
        "url": "https://x.example/7",
        "json": {"id": "ch_1", "n": [3, 1, {"deep": ["a", "b"]}]},
        "constant": {"a": [1, 2.5, None, True, "x"], "empty": {}, "none": []},
    }
    assert list(template.fill(SCOPE)) == ["url", "json", "constant"]
    assert template.names == {"inputs", "steps", "item"}
    assert template.steps == {"a"}
    assert not template.is_constant
    assert [pointer for pointer, _ in template.expressions] == [
        "/url",
        "/json/id",
        "/json/n/0",
        "/json/n/2/deep",
    ]


def test_a_constant_needs_no_scope() -> None:
    template = compile_template({"a": ["$${x}", 1]})
    assert template.is_constant
    assert template.fill_json({}) == '{"a":["${x}",1]}'
    template.fill({})["a"].append(2)
    assert template.fill({}) == {"a": ["${x}", 1]}


@pytest.mark.parametrize(
    ("value", "pointer", "said"),
    [
        ({"a": ["${"]}, "/a/0", "no closing brace"),
        ({"a/b": "${1 + }"}, "/a~1b", r"\$\{1 \+ \} is not CEL: at character 4"),
        ("${}", "", "1 to"),
        ("x ${inputs.a", "", "no closing brace; .* stands for"),
        ("${'open}", "", "is not CEL"),
        ("${steps[item]}", "", "must name the step"),
        ("${" + "1" * 5_000 + "}", "", "no closing brace|characters"),
        ({"${inputs.a}": 1}, "/${inputs.a}", "in values only"),
        ({1: 2}, "", "the field 1"),
        ({"a": date(2031, 5, 1)}, "/a", "is date, which is not JSON"),
        ([float("nan")], "/0", "not JSON|no number"),
        ([float("inf")], "/0", "no number in JSON"),
        (["a\x00"], "/0", r"U\+0000"),
        (["\ud800"], "/0", "surrogate"),
        ({"\ud800": 1}, "/\ud800", "surrogate"),
        (["${1}"] * (TEMPLATE_EXPRESSIONS_MAX + 1), "", "more than 1000 expressions"),
    ],
)
def test_what_is_wrong_with_a_template_is_told_with_its_pointer(
    value: Any, pointer: str, said: str
) -> None:
    template = compile_template(value)
    assert [found for found, _ in template.problems] == [pointer]
    with pytest.raises(Unanswerable, match=said):
        template.fill_json(SCOPE)


def test_all_that_is_wrong_is_told() -> None:
    template = compile_template({"a": "${", "b": ["${x}", "${1 +}"], "c": "${ ( }"})
    assert [pointer for pointer, _ in template.problems] == ["/a", "/b/1", "/c"]
    assert template.names == {"x"}


def test_a_template_that_is_too_deep_is_a_problem_and_not_a_crash() -> None:
    value: Any = "${item}"
    for _ in range(5_000):
        value = [value]
    [(_, detail)] = compile_template(value).problems
    assert str(JSON_DEPTH_MAX) in detail


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": ["${inputs.idd}"]}, "at /a/0: there is no key 'idd' in inputs, which has: id, name"),
        ({"a": "x ${1 / 0}"}, "at /a: division by zero"),
        ("${1 / 0}", "^division by zero"),
        ("${'\\x00'}", r"U\+0000"),
        ("a ${'\\x00'}", r"U\+0000"),
    ],
)
def test_what_cannot_be_filled_says_where_and_why(value: Any, said: str) -> None:
    with pytest.raises(Unanswerable, match=said):
        filled(value)


def test_what_is_filled_is_not_deeper_than_json_may_be() -> None:
    def nested(levels: int) -> Any:
        value: Any = []
        for _ in range(levels - 1):
            value = [value]
        return value

    template = compile_template({"a": ["${x}"]})
    assert template.fill({"x": nested(JSON_DEPTH_MAX - 2)})
    with pytest.raises(Unanswerable, match="deeper"):
        template.fill({"x": nested(JSON_DEPTH_MAX - 1)})


def test_what_is_filled_has_its_bounds_in_bytes() -> None:
    third = "é" * (TEMPLATE_BYTES_MAX // 6)
    scope = {"x": third}
    assert len(compile_template(["${x}", "${x}"]).fill_json(scope)) < TEMPLATE_BYTES_MAX
    for value in (["${x}"] * 4, "${x}" * 4, ["${x}"] * 900, "${x}" * 900, "${x}${x + x + x}"):
        with pytest.raises(Unanswerable, match=f"more than {TEMPLATE_BYTES_MAX} bytes"):
            compile_template(value).fill_json(scope)


def test_expressions_of_one_template_share_their_allowance_of_work() -> None:
    heavy = "${list.all(a, small.all(b, true))}"
    scope = {"list": list(range(5_000)), "small": list(range(20))}
    assert compile_template([heavy]).fill(scope) == [True]
    with pytest.raises(Unanswerable, match="too much work"):
        compile_template([heavy] * 100).fill(scope)


STORABLE = st.characters(codec="utf-8", exclude_characters="\x00")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(STORABLE),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(STORABLE, max_size=5).filter(lambda name: "${" not in name),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, list):
        return [escaped(part) for part in value]
    return {k: escaped(v) for k, v in value.items()} if isinstance(value, dict) else value


@given(JSON)
def test_constants_come_out_as_they_went_in(value: Any) -> None:
    template = compile_template(escaped(value))
    assert not template.problems
    assert template.is_constant
    assert repr(template.fill({})) == repr(value)
    assert template.fill_json({}) == strict_json.write(value)


@given(JSON)
def test_a_value_keeps_its_type_wherever_it_is_filled_in(value: Any) -> None:
    scope = {"x": {"y": [value]}}
    for source in ("x.y[0]", "true ? x.y[0] : null", "[x.y[0]][0]"):
        template = compile_template({"a": ["${" + source + "}"]})
        assert repr(template.fill(scope)) == repr({"a": [value]})


@given(st.text(), st.text(st.sampled_from("${}'\"\\ ax.[]()\n"), max_size=20), JSON)
def test_whatever_it_is_it_is_filled_or_says_why(before: str, text: str, value: Any) -> None:
    template = compile_template({"t": [before + "${" + text + "}", text]})
    try:
        made = template.fill_json({"x": value, "a": {"x": value}})
    except Unanswerable:
        return
    assert not template.problems
    strict_json.parse(made.encode())


def test_a_text_of_nothing_but_expressions_is_refused_without_reading_them_all() -> None:
    began = time.process_time()
    [(pointer, detail)] = compile_template(
        ["${x" + "}${x".join(map(str, range(100_000))) + "}"]
    ).problems
    assert (pointer, detail) == ("", f"has more than {TEMPLATE_EXPRESSIONS_MAX} expressions")
    assert time.process_time() - began < 1
