"""Ids: in the order of their making, and shown with what they are."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass import ids


def test_ids_of_one_batch_ascend_however_many_there_are() -> None:
    made = ids.uuid7_many(10_000)
    assert made == sorted(made)
    assert len(set(made)) == 10_000


def test_ids_of_one_process_ascend_however_soon_one_follows_another() -> None:
    made = [one for count in (1, 5000, 1, 1, 70) for one in ids.uuid7_many(count)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(("seconds", "goes_on"), [(0.5, True), (1.5, False), (3600, False)])
def test_a_clock_that_is_set_back_far_is_followed(
    monkeypatch: pytest.MonkeyPatch, seconds: float, goes_on: bool
) -> None:
    before = ids.uuid7()
    earlier = time.time_ns() - int(seconds * 1e9)
    monkeypatch.setattr(time, "time_ns", lambda: earlier)
    after, next_one = ids.uuid7(), ids.uuid7()
    assert (before < after) == goes_on
    assert after < next_one


def test_ids_of_a_later_millisecond_are_higher() -> None:
    earlier = ids.uuid7()
    while ids.created_at(later := ids.uuid7()) == ids.created_at(earlier):
        pass
    assert earlier < later


def test_an_id_is_a_uuid_of_version_7_that_tells_when_it_was_made() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    made = ids.uuid7()
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert before <= ids.created_at(made) <= datetime.now(UTC)


def test_the_lowest_id_of_an_instant_lies_below_all_ids_made_then() -> None:
    made = ids.uuid7_many(100)
    assert all(ids.uuid7_at(ids.created_at(one)) <= one for one in made)
    later = ids.created_at(made[0]) + timedelta(milliseconds=1)
    assert ids.uuid7_at(later) > made[0]


@given(number=st.integers(0, 2**128 - 1), noun=st.sampled_from(sorted(ids.PREFIXES)))
def test_what_is_shown_is_read_back(number: int, noun: str) -> None:
    value = UUID(int=number)
    assert ids.parse(noun, ids.show(noun, value)) == value


@pytest.mark.parametrize("noun", sorted(set(ids.PREFIXES) - {"job"}))
def test_an_id_of_another_kind_is_not_a_job_id(noun: str) -> None:
    with pytest.raises(ValueError, match="is not a job id; one looks like job_<32 hex digits>"):
        ids.parse("job", ids.show(noun, ids.uuid7()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "job_",
        "job",
        "0" * 32,
        "job_" + "0" * 31,
        "job_" + "0" * 33,
        "job_" + "A" * 32,
        "job_" + "g" * 32,
        "job_" + "١" * 32,  # digits, but not ours
        "job_{" + "0" * 30 + "}",
        "job_urn:uuid:" + "0" * 23,
        " job_" + "0" * 32,
        "job_" + "0" * 32 + "\n",
        "JOB_" + "0" * 32,
    ],
)
def test_what_is_almost_an_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a job id"):
        ids.parse("job", text)


def test_the_refusal_is_a_sentence_whatever_the_noun() -> None:
    with pytest.raises(ValueError, match="'x' is not an operation id; one looks like op_<32"):
        ids.parse("operation", "x")


def test_the_refusal_of_a_long_text_is_short() -> None:
    with pytest.raises(ValueError, match="is not a job id") as refused:
        ids.parse("job", "x" * 1_000_000)
    assert len(str(refused.value)) < 200


@given(st.text())
def test_reading_an_id_says_value_error_or_nothing(text: str) -> None:
    try:
        ids.parse("job", text)
    except ValueError:
        return
    assert text.startswith("job_")
