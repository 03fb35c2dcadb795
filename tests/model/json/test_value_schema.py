"""Schemas of single values say what their readers do: nothing is valid and then refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.duration import UNIT_SECONDS, parse_seconds
from windlass.limits import DURATION_SECONDS_MAX, TIMEOUT_SECONDS_MAX
from windlass.model.job.submission import read_instant, read_text
from windlass.model.job.target import URL_SCHEMA
from windlass.model.json.duration_pattern import text_pattern
from windlass.model.json.printable import is_printable
from windlass.model.json.value_schema import INSTANT_SCHEMA, instant_before, text_schema
from windlass.model.json.whole import whole
from windlass.model.schedule.cron import YEAR_MAX
from windlass.model.schedule.read import read_rule
from windlass.strategies.http.input import check_input

BOUNDS = [
    (DURATION_SECONDS_MAX, 0),
    (TIMEOUT_SECONDS_MAX, 0.001),
    (DURATION_SECONDS_MAX, 1.0),
    (24 * 3600.0, 0.1),
    (60.0, 0),
    (0.5, 0.25),
]
NUMBERS = st.from_regex(r"[0-9]{1,9}(\.[0-9]{1,6})?", fullmatch=True)


def is_taken(read: Callable[[], Any]) -> bool:
    try:
        read()
    except ValueError:
        return False
    return True


def is_valid(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@given(
    st.sampled_from(BOUNDS),
    st.sampled_from(sorted(UNIT_SECONDS)),
    NUMBERS | st.sampled_from(["edge"]),
    st.sampled_from([0, 1, -1, 1e-6, -1e-6]),
    st.integers(0, 6),
)
def test_the_pattern_of_a_duration_takes_what_is_read_and_nothing_else(
    bounds: tuple[float, float], unit: str, number: str, beside: float, digits: int
) -> None:
    seconds_max, seconds_min = bounds
    if number == "edge":
        edge = (seconds_max if digits % 2 else seconds_min) / UNIT_SECONDS[unit]
        number = f"{max(0.0, edge + beside):.{digits}f}"
    text = number + unit
    found = re.search(text_pattern(seconds_max, seconds_min), text) is not None
    try:
        seconds = parse_seconds(text, seconds_max)
    except ValueError:
        assert not found
    else:
        assert found == (seconds >= seconds_min)


@given(
    st.sampled_from([1969, 1970, 1971, 2023, 2024, 2100, 9989, 9990, 9999]),
    st.integers(0, 13),
    st.sampled_from([0, 1, 28, 29, 30, 31, 32]),
    st.integers(0, 24),
    st.sampled_from(["", ".5", ".123456789", "." + "1" * 20]),
    st.sampled_from(["Z", "z", "+00:00", "-00:00", "+05:30", "-08:00", "-23:59", "+24:00"]),
)
def test_an_instant_that_is_valid_is_read(
    year: int, month: int, day: int, hour: int, fraction: str, offset: str
) -> None:
    text = f"{year}-{month:02}-{day:02}T{hour:02}:59:00{fraction}{offset}"
    assert is_taken(lambda: read_instant(text)) or not is_valid(INSTANT_SCHEMA, text)
    if is_valid(instant_before(YEAR_MAX), text):
        read_rule({"at": text}, name="x")


@pytest.mark.parametrize(
    "text",
    [
        *("1970-01-01T00:00:00Z", "1970-01-01T00:00:00+00:00", "9999-12-31T23:59:59Z"),
        *("2024-02-29T12:00:00.123+02:00", "2000-02-29t00:00:00z"),
    ],
)
def test_the_instants_that_people_write_are_valid_and_read(text: str) -> None:
    read_instant(text)
    assert is_valid(INSTANT_SCHEMA, text)


@given(st.text(st.characters(codec="utf-8"), max_size=6))
def test_text_is_valid_exactly_if_it_is_read(text: str) -> None:
    assert is_valid(text_schema(5), text) == is_taken(lambda: read_text(text, 5))


@pytest.mark.parametrize("text", ["a\nb", "\x85", "\u202e", "\u200b", "\ufeff", "\u2028", "\ud800"])
def test_what_is_hidden_or_breaks_a_line_cannot_be_shown(text: str) -> None:
    assert not is_printable(text)


@pytest.mark.parametrize("text", ["", "Zoë", "👩\u200d💻", "a\u00a0b", "می\u200cخواهم", "日本"])
def test_emoji_and_scripts_that_need_joiners_can(text: str) -> None:
    assert is_printable(text)


@pytest.mark.parametrize(
    ("url", "is_address"),
    [
        ("https://shop.example/hooks?a=b#c", True),
        ("HTTP://localhost:8080", True),
        ("http://a:", True),
        ("http://x.y.execute-api.eu-west-1.amazonaws.com/p", True),
        ("http://192.0.2.1:99/x", True),
        ("http://[2001:db8::1]:8080/", True),
        ("http://[::ffff:192.0.2.1]", True),
        ("http://3cx:5000/é", True),
        ("http://0f3b2.", True),
        ("http://", False),
        ("ftp://a", False),
        ("http://a:0", False),
        ("http://a:65536", False),
        ("http://a@b/", False),
        ("http://a..b", False),
        ("http://0177.1", False),
        ("http://0x7f.1", False),
        ("http://7", False),
        ("http://192.0.2.1.", False),
        ("http://" + "a" * 64, False),
        ("http://" + "a." * 130 + "b", False),
        ("http://a/\n", False),
    ],
)
def test_an_address_is_valid_exactly_if_it_can_be_called(url: str, is_address: bool) -> None:
    assert (check_input({"url": url}) == []) is is_address
    assert is_valid(URL_SCHEMA, url) is is_address


@pytest.mark.parametrize(
    ("value", "number"), [(5, 5), (5.0, 5), (5.5, None), (True, None), ("5", None), (None, None)]
)
def test_a_whole_number_is_one_however_it_is_written(value: Any, number: int | None) -> None:
    assert whole(value) == number
