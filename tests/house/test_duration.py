"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.duration import parse_seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(0, 0), (30, 30), (1.5, 1.5), ("250ms", 0.25), ("30s", 30), ("1.5m", 90), ("2h", 7200)],
)
def test_seconds_and_units_are_understood(value: object, seconds: float) -> None:
    assert parse_seconds(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "5",
        "5 s",
        "s",
        "-5s",
        "1w",
        "1e3s",
        "\u0665s",
        "9" * 400 + "s",
        -1,
        -0.1,
        True,
        None,
        [],
    ],
)
def test_what_is_not_a_duration_is_refused_in_words(value: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration.*give seconds or text such as"):
        parse_seconds(value)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**5000, -(10**5000), "999999999d"],
    ids=["nan", "infinity", "huge", "huge and negative", "long"],
)
def test_absurd_numbers_are_refused_and_can_still_be_told(value: object) -> None:
    with pytest.raises(ValueError, match=r"not a duration|longer than") as caught:
        parse_seconds(value)
    assert len(str(caught.value)) < 200


@given(st.integers(0, 366), st.sampled_from(["s", "m", "h", "d"]))
def test_a_number_with_a_unit_is_that_many_of_it(count: int, unit: str) -> None:
    assert parse_seconds(f"{count}{unit}") == count * parse_seconds(f"1{unit}")
