"""Where the common library for CEL has an answer, ours is the same.

It counts the bytes of a text where the language counts characters, negates truths as if they were
numbers, takes the smallest number for its own opposite and does not compare what is not a number;
those are left out here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import cel
from hypothesis import assume, given
from hypothesis import strategies as st

from windlass.model.expression import Unanswerable, compile_expression
from windlass.model.expression.parse import parse

SCOPE: dict[str, Any] = {
    "n": 7,
    "z": 0,
    "d": 2.5,
    "s": "abc",
    "t": True,
    "u": None,
    "l": [1, 2, 3],
    "e": [],
    "m": {"a": 1, "b": {"c": [True, None, "x"]}},
    "o": [{"id": 1, "ok": True}, {"id": 2, "ok": False}],
}
NEGATED_TRUTH: Final = "- stands before a number, not bool"
Sources: TypeAlias = st.SearchStrategy[str]


def written(form: str, *parts: Sources) -> Sources:
    """The form with an expression in every `·`."""
    pieces = form.split("·")
    return st.tuples(*parts).map(
        lambda found: "".join(
            piece + part for piece, part in zip(pieces, (*found, ""), strict=True)
        )
    )


def signed(part: Sources, *signs: str) -> Sources:
    return st.one_of([written(f"(· {sign} ·)", part, part) for sign in signs])


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """Expressions of each type. `x` is bound by loops, and nobody's outside of them."""

    whole: Sources
    double: Sources
    text: Sources
    truth: Sources
    many: Sources

    @property
    def any(self) -> Sources:
        others = st.sampled_from(["null", "u", "m", "x", "nobody", "{'a': 1}"])
        return st.one_of(self.whole, self.double, self.text, self.truth, self.many, others)


ATOMS: Final = Kinds(
    whole=st.sampled_from(
        [
            *("n", "z", "m.a", "l[0]", "l[9]", "o[1].id", "m.x", "x"),
            *("0", "1", "-3", "0x10", "9223372036854775807"),
        ]
    ),
    double=st.sampled_from(["d", "0.0", "2.0", "-0.5", "1e3", ".5"]),
    text=st.sampled_from(["s", "'b'", "''", "m.b.c[2]", r"'\n\x41\u00e9'", r"r'\n'", '"5"', "m.a"]),
    truth=st.sampled_from(["t", "true", "false", "has(m.a)", "has(m.x)", "has(m.b.c)", "has(u.x)"]),
    many=st.sampled_from(["l", "[]", "[1, 2.0]", "m.b.c", "o"]),
)


def grown(small: Kinds) -> Kinds:
    """Expressions made of smaller ones, and those."""
    whole, double, text, truth, many, anything = (
        *(small.whole, small.double, small.text, small.truth, small.many),
        small.any,
    )
    return Kinds(
        whole=st.one_of(
            whole,
            signed(whole, "+", "-", "*", "/", "%"),
            written("-(·)", whole),
            written("(· ? · : ·)", truth, whole, whole),
            written("(·)[·]", many, whole),
            written("int(·)", double),
            written("int(·)", text),
            written("size(·)", many),
            written("{'a': ·, 'b': ·}.a", whole, anything),
            written("{1: ·, 7: ·}[·]", whole, anything, whole),
        ),
        double=st.one_of(
            double,
            signed(double, "+", "-", "*"),
            written("double(·)", whole),
            written("-(·)", double),
        ),
        text=st.one_of(
            text,
            signed(text, "+"),
            written("string(·)", whole),
            written("(· ? · : ·)", truth, text, text),
        ),
        truth=st.one_of(
            truth,
            signed(anything, "==", "!="),
            *(signed(part, "<", "<=", ">", ">=") for part in (whole, double, text, truth)),
            written("(· < ·)", whole, double),
            signed(truth, "&&", "||"),
            written("!(·)", truth),
            written("· && · || ·", truth, truth, truth),
            written("(· in ·)", anything, many),
            written("(· in m)", text),
            written("type(·) == type(·)", anything, anything),
            *(
                written(f"(·).{way}(·)", text, text)
                for way in ("contains", "startsWith", "endsWith")
            ),
            *(written(f"(·).{way}(x, ·)", many, truth) for way in ("all", "exists", "exists_one")),
        ),
        many=st.one_of(
            many,
            written("[·, ·]", anything, anything),
            signed(many, "+"),
            written("(·).filter(x, ·)", many, truth),
            written("(·).map(x, ·)", many, anything),
            written("(·).map(x, ·, ·)", many, truth, anything),
            written("[{'k': ·, 'j': ·}]", anything, anything),
        ),
    )


EXPRESSIONS: Final = grown(grown(grown(ATOMS))).any


def by_the_library(source: str) -> tuple[bool, Any]:
    """Whether it has an answer, and which."""
    try:
        return True, cel.compile(source).execute(SCOPE)
    except Exception:
        return False, None


def has_json_form(value: Any) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case list():
            return all(map(has_json_form, value))
        case dict():
            return all(isinstance(key, str) and has_json_form(value[key]) for key in value)
        case _:
            return not isinstance(value, bytes)


def by_us(source: str) -> tuple[bool, Any]:
    """Whether we have an answer; and which, or why not."""
    try:
        return True, compile_expression(source).evaluate(SCOPE)
    except Unanswerable as trouble:
        return False, str(trouble)


@given(EXPRESSIONS)
def test_our_answer_is_that_of_the_library(source: str) -> None:
    is_answered, theirs = by_the_library(source)
    if is_answered and has_json_form(theirs):
        is_answered_by_us, ours = by_us(source)
        assume(ours != NEGATED_TRUTH)  # a list's element may be one
        assert is_answered_by_us, source
        assert typed(ours) == typed(theirs), source


@given(EXPRESSIONS)
def test_what_the_library_cannot_answer_we_do_not_answer_either(source: str) -> None:
    if not by_the_library(source)[0]:
        assert not by_us(source)[0], source


def typed(value: Any) -> Any:
    """True is not 1, and 1 is not 1.0."""
    if isinstance(value, list):
        return [typed(part) for part in value]
    if isinstance(value, dict):
        return {key: typed(part) for key, part in value.items()}
    return type(value), value


SCRAPS = st.lists(
    st.sampled_from(
        [
            *("n", "m", ".", ",", "(", ")", "[", "]", "{", "}", "?", ":", "+", "-", "!", "&&"),
            *("==", "in", "true", "1", "2.5", ".5", "0x1", "1e3", "1.e3", "as", "a1", "_", "//"),
            *("'a'", '"b"', "r'\\'", "b'x'", "'''a'b'''", "x.y", "has(m.a)", "l.map(x,x)"),
        ]
    ),
    max_size=12,
)


@given(SCRAPS, st.sampled_from(["", " ", "\n"]))
def test_what_we_take_for_an_expression_is_one_to_the_library(
    scraps: list[str], between: str
) -> None:
    source = between.join(scraps)
    try:
        parse(source)
    except ValueError:
        return
    cel.compile(source)
