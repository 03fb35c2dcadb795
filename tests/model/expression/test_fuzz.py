"""Whatever an expression meets, it has an answer that is JSON, or says why there is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from windlass.model.expression import Unanswerable, compile_expression
from windlass.model.expression.functions import FUNCTIONS
from windlass.model.json import strict as strict_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
    | st.sampled_from([10**400, 2**63, -(2**63), 1e308, "5", "1.5", "2031-05-01T12:00:00Z", "90m"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
TIMES = (datetime.max, datetime.min.replace(tzinfo=UTC), timedelta.max, timedelta.min)
VALUES = JSON | st.sampled_from(TIMES)
SIGNS: Final = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||")
LOOPS: Final = ("all", "exists", "exists_one", "map", "filter")
FORMS: Final = (
    *(f"x {sign} y" for sign in SIGNS),
    *("x[y]", "x.a", "x[0]", 'x["a"].b', "has(x.a)", "-x", "!x", "x ? y : z", "[x, y]"),
    *("{'a': x}", "{x: y}", "{x: y}[z]", "type(x)"),
    *(f"x.{loop}(i, i {sign} y)" for loop in LOOPS for sign in ("==", "<", "+")),
    *(f"{name}(x)" for name, function in FUNCTIONS.items() if function.is_global),
    *(
        f"x.{name}({', '.join('yz'[: count - 1])})"
        for name, function in FUNCTIONS.items()
        if function.is_method
        for count in function.arguments
    ),
)


@given(st.sampled_from(FORMS), VALUES, VALUES, VALUES)
def test_an_answer_is_json_or_there_is_none(source: str, x: Any, y: Any, z: Any) -> None:
    try:
        value = compile_expression(source).evaluate({"x": x, "y": y, "z": z})
    except Unanswerable as why:
        said = str(why)
        said.encode()
    else:
        is_json(value)


def is_json(value: Any) -> None:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            is_json(part)
    assert isinstance(value, dict | list | str | int | float | None)


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_is_refused(source: str) -> None:
    try:
        compile_expression(source)
    except ValueError as trouble:
        strict_json.write(str(trouble))
