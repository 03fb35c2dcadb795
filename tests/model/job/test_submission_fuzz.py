"""Whatever is sent to the reader of submissions, it answers: a draft, or what is wrong."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.model.job.submissions import CONTEXT, NOW
from windlass import ids
from windlass.errors import FieldProblem, InvalidInput
from windlass.model.job.submission import read_batch, read_instant, read_job

PARENT = ids.show("job", ids.uuid7())

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    | st.sampled_from(["5s", "2030-02-01T00:00:00Z", "#0", "#1", PARENT, "http", "run", "a.b"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)  # fmt: skip
names = "input queue priority run_at delay deadline timeout retry depends_on on_parent_failure"
field_names = st.sampled_from(f"{names} key tags correlation_id locks".split())
inputs = st.dictionaries(
    st.sampled_from(["url", "method", "headers", "json", "text", "form", "base64", "seconds"])
    | st.sampled_from(["duration", "task", "args", "kwargs"]),
    anything,
)
jobs = st.builds(
    lambda kind, given, fields: {"kind": kind, "input": given, **fields},
    st.sampled_from(["noop", "http", "python", "wait"]),
    inputs,
    st.dictionaries(field_names | st.text(), anything, max_size=6),
)


@given(jobs | anything)
def test_reading_a_job_says_invalid_input_or_gives_a_draft(value: Any) -> None:
    problems: tuple[FieldProblem, ...] = ()
    try:
        read_job(value, CONTEXT, NOW).input.encode()
    except InvalidInput as trouble:
        problems = trouble.problems
    assert all(p.pointer == "" or p.pointer.startswith("/") for p in problems)
    assert all(len(p.pointer) < 200 and len(p.detail) < 500 for p in problems)


@given(st.lists(jobs | anything, max_size=4) | anything)
def test_reading_a_batch_says_invalid_input_or_gives_drafts(value: Any) -> None:
    for body in (value, {"jobs": value}):
        try:
            drafts = read_batch(body, CONTEXT, NOW)
        except InvalidInput:
            continue
        assert isinstance(value, list)
        assert len(drafts) == len(value)


@given(st.text() | st.datetimes().map(datetime.isoformat) | anything)
def test_reading_an_instant_says_value_error_or_gives_one_in_utc(value: Any) -> None:
    try:
        instant = read_instant(value)
    except ValueError:
        return
    assert instant.utcoffset() == timedelta(0)
