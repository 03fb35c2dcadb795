"""What an operation of an expression is charged is what it costs.

The allowance is counted in units of work. An operation that takes much longer for a unit than the
others do is a way to freeze a node, so each is measured here beside a plain loop, in time of the
processor; fifty times as long, as reading an unknown time zone once was, must not come back.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from windlass.limits import EXPRESSION_CHARS_MAX, EXPRESSION_WORK_MAX
from windlass.model.expression import KEPT, Run, Spent, Unanswerable, compile_expression
from windlass.model.workflow.plan import plan_of
from windlass.model.workflow.read import trust_definition
from windlass.model.workflow.step_decision import decide_step

UNITS = 20_000
# The costliest are charged a third of what they take; a busy machine adds to one or the other.
TIMES_MAX = 15
TEXT, FOREIGN = "x" * 1_000_000, "é" * 1_000_000
SCOPE: dict[str, Any] = {
    "list": list(range(100_000)),
    "text": TEXT,
    "other": TEXT[:-1] + "y",
    "foreign": FOREIGN,
    "foreign_too": FOREIGN[:-1] + "x",
    "objects": [{"id": n, "name": "abcdefghij"} for n in range(20_000)],
    "same": [{"id": n, "name": "abcdefghij"} for n in range(20_000)],
    "wide": {f"k{n}": n for n in range(1_000)},
    "nested": [[[[[1]]]]] * 5_000,
    "words": ["x" * 100] * 1_000,
    "long": "1h2m3s" * 16,
    "digits": "1" * 400,
    "no_number": "1" * 800 + "x",
    "no_number_too": "1" * 400 + "." + "1" * 400 + "x",
    "stray": "x" * 100,
    "nothing": None,
    "large": 1.5e300,
    "big": int("7" * 4_000),
    "half": int("3" * 2_000),
    "hay": "a" * 2_499,
    "needle": "a" * 624 + "b" + "a" * 624,
    "hay_too": "a" * 400_000,
    "needle_too": "a" * 999 + "b" + "a" * 999,
}
TIME = "timestamp('2031-05-01T12:00:00Z')"
EACH = [
    f"{TIME}.getHours('Nowhere/AtAll') == 1 || true",
    f"{TIME}.getHours('Nowhere/' + string(a)) == 1 || true",
    f"{TIME}.getHours(stray) == 1 || true",
    f"{TIME}.getHours('../passwd') == 1 || true",
    f"{TIME}.getHours('Europe/Berlin') >= 0",
    f"{TIME}.getHours('+05:30') >= 0",
    f"{TIME}.getDayOfYear() >= 0",
    f"{TIME} + duration('1s') > {TIME}",
    f"string({TIME}) != ''",
    "timestamp('2031-05-01T12:00:00.123456789+05:30') == timestamp(a)",
    "timestamp(stray) == 1 || true",
    "duration(long) == duration(long)",
    "duration(stray) == 1 || true",
    "string(duration('1h')) != ''",
    "duration('1s').getMilliseconds() >= 0",
    "text < other",
    "foreign <= foreign_too",
    "text == other || true",
    "wide.nope == 1 || true",
    "wide.nope.deep.er == 1 || true",
    "wide[string(a)] == 1 || true",
    "nope == 1 || true",
    "list[-1] == 1 || true",
    "a + 'x' == 1 || true",
    "nothing + 1 == 1 || true",
    "a / 0 == 1 || true",
    "a || true",
    "has(text.x) || true",
    "has(wide.k1)",
    "double(digits) > 0.0",
    "double(no_number) == 1.0 || true",
    "double(no_number_too) == 1.0 || true",
    "string(large) != ''",
    "string(a) != ''",
    "int('123') > 0",
    "int(stray) == 1 || true",
    "bool('true')",
    "type(a) == int",
    "size(wide) > 0",
    "'k1' in wide",
    "-1 in list || true",
    "'zz' in words || true",
    "objects == same",
    "nested == nested.map(x, x)",
    "[].all(b, true)",
    "foreign.substring(a % 1000, a % 1000 + 1) != ''",
    "foreign.upperAscii() != ''",
    "text.upperAscii() != ''",
    "'abc'.lowerAscii() != ''",
    "text.contains('x' + 'y') || true",
    "text.replace('x', 'yy') != ''",
    "text.split('x') != []",
    "words.join(',') != ''",
    "bytes(foreign) != b''",
    "[a, a, a] != []",
    "{string(a): a} != {}",
    "wide.all(k, true)",
    "(a > 0 ? -a : a) <= 0",
    "big % half == 1 || true",
    "big / half == 1 || true",
    "big * big == 1 || true",
    "hay.contains(needle) || true",
    "hay.indexOf(needle) < 0",
    "hay.split(needle) != []",
    "hay.replace(needle, '') != ''",
    "hay_too.split(needle_too) != []",
]


def seconds_a_unit(source: str) -> float:
    """The best of three."""
    expression, found = compile_expression(source), []
    for _ in range(3):
        run, began = Run(SCOPE, UNITS), time.process_time()
        try:
            expression.evaluate(SCOPE, run)
        except Spent:
            pass
        found.append((time.process_time() - began) / (UNITS - max(0, run.left)))
    return min(found)


@pytest.mark.parametrize("body", EACH)
def test_a_unit_of_work_takes_about_as_long_whatever_is_done(body: str) -> None:
    usual = seconds_a_unit("list.all(a, a >= 0)")
    assert seconds_a_unit(f"list.all(a, {body})") < TIMES_MAX * usual


@pytest.mark.parametrize(
    "source",
    [
        "list.map(a, text)",
        "list.map(a, {'a': text})",
        "list.map(a, {text: 1})",
        "[bytes(text.substring(0, 300000))].map(b, list.map(a, b))",
        "list.map(a, big)",
    ],
)
def test_what_is_made_once_and_written_often_is_charged_as_often(source: str) -> None:
    """Written out, it was gigabytes, on the loop."""
    scope = {**SCOPE, "list": list(range(1_000))}
    with pytest.raises(Spent):
        compile_expression(source).evaluate(scope, Run(scope, 20_000))


def test_the_expressions_of_a_step_share_one_allowance() -> None:
    cases = [{"if": "${inputs.list.all(a, a >= 0) && false}", "go": [f"s{n}"]} for n in range(20)]
    steps = [
        {"id": "choose", "kind": "switch", "cases": cases, "default": []},
        *({"id": f"s{n}", "kind": "noop", "needs": ["choose"]} for n in range(20)),
    ]
    plan = plan_of(trust_definition({"name": "w", "steps": steps}))
    scope: dict[str, Any] = {"inputs": {"list": list(range(20_000))}, "vars": {}}
    run = Run(scope)
    decision = decide_step(plan.vertices["choose"], scope, run)
    assert (decision.state, decision.is_spent) == ("dead", True)
    assert run.left < 0 <= run.left + EXPRESSION_WORK_MAX


def test_what_a_part_without_an_answer_says_is_made_when_it_is_read() -> None:
    source = "objects.exists(o, o.nope == 1) || objects.size() > 0"
    run = Run(SCOPE, 20_000 * 40)
    assert compile_expression(source).evaluate(SCOPE, run) is True
    with pytest.raises(Unanswerable, match="there is no key 'nope' in o, which has: id, name"):
        compile_expression("objects.all(o, o.nope == 1)").evaluate(
            {"objects": [{"id": 1, "name": 2}]}
        )


def test_long_expressions_that_are_kept_are_few() -> None:
    """Each takes a hundred kilobytes and more; ten thousand of them were gigabytes."""
    for number in range(300):
        compile_expression(f"{number} > 0 || " + " || ".join(["true"] * 100))
    *_, (chars, kept) = KEPT
    assert chars == EXPRESSION_CHARS_MAX
    assert kept.cache_info().currsize <= 100
