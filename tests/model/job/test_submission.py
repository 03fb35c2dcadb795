"""Reading a job: what is right becomes a draft, what is wrong is named by its pointer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.model.job.submissions import CONTEXT, NOW, job, pointers, refused
from windlass import ids
from windlass.limits import (
    INPUT_BYTES_MAX,
    JOB_LIMITS_MAX,
    KEY_CHARS_MAX,
    LOCKS_MAX,
    NAME_CHARS_MAX,
    PARENTS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
)
from windlass.model.job.lock import LockAsk
from windlass.model.job.submission import PROBLEMS_MAX, read_instant, read_job

# The same in every process that collects these tests.
PARENT = ids.show("job", UUID("01a1e256-9425-7000-becf-48da06000001"))


def test_a_job_needs_nothing_but_its_kind() -> None:
    draft = read_job({"kind": "noop"}, CONTEXT, NOW)
    assert (draft.kind, draft.queue, draft.priority, draft.input) == ("noop", "default", 1, "{}")
    assert (draft.run_at, draft.delay_seconds, draft.deadline) == (None, 0, None)
    assert (draft.max_attempts, draft.retry, draft.timeout_ms) == (5, None, None)
    assert (draft.owner, draft.is_plain) == ("key_1", True)


def test_every_field_is_read() -> None:
    draft = read_job(
        {
            "kind": "http",
            "input": {"url": "https://example.org/hook", "json": {"a": "ä"}},
            "queue": "mail-out_2.eu:x",
            "priority": "critical",
            "run_at": "2030-02-01T13:00:00+01:00",
            "deadline": "2030-02-02T00:00:00Z",
            "timeout": "1.5s",
            "retry": {"max_attempts": 3, "initial": "1m", "jitter": False},
            "depends_on": [PARENT, PARENT],
            "on_parent_failure": "run",
            "key": "order 42",
            "tags": ["a", "b", "a"],
            "correlation_id": "c-1",
            "locks": ["a", {"name": "b", "capacity": 3}, "a"],
        },
        CONTEXT,
        NOW,
    )
    assert json.loads(draft.input) == {"url": "https://example.org/hook", "json": {"a": "ä"}}
    assert (draft.queue, draft.priority, draft.timeout_ms) == ("mail-out_2.eu:x", 3, 1500)
    assert draft.run_at == datetime(2030, 2, 1, 12, tzinfo=UTC)
    assert draft.deadline == datetime(2030, 2, 2, tzinfo=UTC)
    assert draft.max_attempts == 3
    assert json.loads(draft.retry or "")["initial"] == 60
    assert draft.depends_on == (ids.parse("job", PARENT),), "a parent named twice is one parent"
    assert (draft.on_parent_failure, draft.key, draft.tags) == ("run", "order 42", ("a", "b"))
    assert (draft.correlation_id, draft.is_plain) == ("c-1", False)
    assert draft.locks == (LockAsk(name="a"), LockAsk(name="b", capacity=3))


def test_null_is_as_good_as_leaving_a_field_out() -> None:
    fields = ["queue", "priority", "run_at", "delay", "deadline", "timeout", "retry", "depends_on"]
    fields += ["on_parent_failure", "key", "tags", "correlation_id", "locks"]
    assert job(**dict.fromkeys(fields)) == job()


def test_a_webhook_has_the_tries_of_its_ladder_unless_told_otherwise() -> None:
    hook = {"kind": "http", "input": {"url": "https://example.org"}}
    assert read_job(hook, CONTEXT, NOW).max_attempts == 10
    draft = read_job({**hook, "retry": {"max_attempts": 2}}, CONTEXT, NOW)
    assert (draft.max_attempts, draft.retry) == (2, '{"max_attempts":2}')


LONG = "x" * 1_000
INSTANTS: list[Any] = [0, 1893456000, True, [], "", "tomorrow", "2030-02-30T00:00:00Z"]
INSTANTS += ["2030-02-01T00:00:00", "2030-02-01", "1" * 5_000, "1969-12-31T23:59:59Z"]
INSTANTS += ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"]
DURATIONS: list[Any] = [-1, -0.001, 10**9, 10**400, True, "5 s", "soon", "-5s", "", [], {}]
TEXTS: list[Any] = ["", 5, [], "a\nb", "\x00", "\ud800", "x" * (KEY_CHARS_MAX + 1)]
BAD: dict[str, list[Any]] = {
    "kind": [None, "", "NOOP", "email", 5, [], {}],
    "input": [None, [], "text", 1, {"a": "\x00"}, {"\ud800": 1}],
    "queue": ["", 5, [], " ", "-x", "a b", "é", LONG, "a\n", "\x00", "a/b"],
    "priority": ["", "urgent", 1, True, [], {}, "LOW"],
    "run_at": [*INSTANTS, "2032-01-31T12:00:00Z"],
    "deadline": [*INSTANTS, "2030-01-31T12:00:00Z", "2001-01-01T00:00:00Z"],
    "delay": [*DURATIONS, "999999999d"],
    "timeout": [*DURATIONS, 0, "0s", 0.0001, "8d"],
    "retry": [5, "5", [], True],
    "depends_on": [PARENT, {}, 1, [PARENT] * (PARENTS_MAX + 1), ["#0"]],
    "on_parent_failure": ["", "ignore", 1, [], {}],
    "key": TEXTS,
    "correlation_id": TEXTS,
    "tags": ["a", {}, 5, ["a"] * (TAGS_MAX + 1)],
    "locks": ["a", {}, 0, ["a"] * (LOCKS_MAX + 1)],
    "limits": ["a", {}, 0, [{"name": "a", "max_running": 1}] * (JOB_LIMITS_MAX + 1)],
    "unique_for": [*DURATIONS, 0, "1s"],
    "debounce": [*DURATIONS, 0, "1s"],
    "debounce_max": [*DURATIONS, 0, "1s"],
}
BAD_VALUES = [(name, value) for name, values in BAD.items() for value in values]


@pytest.mark.parametrize(
    ("field", "value"), BAD_VALUES, ids=[f"{name}={str(v)[:30]!a}" for name, v in BAD_VALUES]
)
def test_a_bad_value_is_named_by_its_field(field: str, value: Any) -> None:
    found = refused(lambda: job(**{field: value}))
    assert {pointer for pointer, _ in found} == {f"/{field}"}
    assert all(0 < len(detail) < 300 for _, detail in found)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"retry": {"max_attempts": 0}}, "/retry/max_attempts"),
        ({"retry": {"initial": "soon"}}, "/retry/initial"),
        ({"retry": {"tries": 1}}, "/retry/tries"),
        ({"tags": ["a", ""]}, "/tags/1"),
        ({"tags": [5]}, "/tags/0"),
        ({"tags": ["x" * (TAG_CHARS_MAX + 1)]}, "/tags/0"),
        ({"depends_on": [PARENT, "job_1"]}, "/depends_on/1"),
        ({"depends_on": [5]}, "/depends_on/0"),
        ({"depends_on": [ids.show("node", ids.uuid7())]}, "/depends_on/0"),
        ({"depends_on": ["#-1"]}, "/depends_on/0"),
        ({"depends_on": ["#1234567"]}, "/depends_on/0"),
        ({"nice": 19}, "/nice"),
        ({"a/b": 1}, "/a~1b"),
        ({"a~b": 1}, "/a~0b"),
        ({"retry": {"a/b": 1}}, "/retry/a~1b"),
    ],
)
def test_a_problem_inside_a_field_is_named_by_its_whole_pointer(
    fields: dict[str, Any], pointer: str
) -> None:
    assert pointers(lambda: job(**fields)) == [pointer]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"run_at": "2030-02-01T00:00:00Z", "delay": 5}, "/delay"),
        ({"run_at": "2030-02-02T00:00:00Z", "deadline": "2030-02-01T00:00:00Z"}, "/deadline"),
        ({"delay": "1h", "deadline": "2030-01-31T12:59:00Z"}, "/deadline"),
        ({"on_parent_failure": "run"}, "/on_parent_failure"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(fields: dict[str, Any], pointer: str) -> None:
    assert pointers(lambda: job(**fields)) == [pointer]


def test_all_problems_are_told_at_once() -> None:
    wrong = {"queue": "", "priority": 9, "tags": [""], "delay": -1, "odd": 1, "retry": {"max": ""}}
    assert pointers(lambda: job(**wrong)) == [
        "/queue", "/priority", "/tags/0", "/delay", "/odd", "/retry/max",
    ]  # fmt: skip


def test_a_job_with_countless_mistakes_is_told_of_a_hundred() -> None:
    assert len(refused(lambda: job(**{f"odd{n}": 1 for n in range(10_000)}))) == PROBLEMS_MAX


@pytest.mark.parametrize("value", [None, [], "noop", 5, True])
def test_what_is_no_object_is_no_job(value: Any) -> None:
    assert pointers(lambda: read_job(value, CONTEXT, NOW)) == [""]


def test_the_limits_are_the_last_values_that_are_taken() -> None:
    assert len(job(queue="q" * NAME_CHARS_MAX).queue) == NAME_CHARS_MAX
    assert len(job(key="k" * KEY_CHARS_MAX).key or "") == KEY_CHARS_MAX
    assert len(job(tags=[f"{n}" for n in range(TAGS_MAX)]).tags) == TAGS_MAX
    parents = [ids.show("job", made) for made in ids.uuid7_many(PARENTS_MAX)]
    assert len(job(depends_on=parents).depends_on) == PARENTS_MAX
    assert job(timeout="7d").timeout_ms == 7 * 86_400_000
    assert job(timeout="1ms").timeout_ms == 1
    assert job(delay="366d").delay_seconds == 366 * 86400


def test_input_is_measured_in_bytes_not_in_characters() -> None:
    shell = len('{"a":""}')
    assert job(input={"a": "x" * (INPUT_BYTES_MAX - shell)}).input
    assert pointers(lambda: job(input={"a": "x" * (INPUT_BYTES_MAX - shell + 1)})) == ["/input"]
    assert pointers(lambda: job(input={"a": "é" * (INPUT_BYTES_MAX // 2)})) == ["/input"]


def test_a_run_at_in_the_past_is_due_now() -> None:
    assert job(run_at="2001-01-01T00:00:00Z").run_at == datetime(2001, 1, 1, tzinfo=UTC)


def test_the_year_ahead_is_open_and_the_day_after_it_is_not() -> None:
    last = NOW + timedelta(days=366)
    assert job(run_at=last.isoformat()).run_at == last
    assert pointers(lambda: job(run_at=(last + timedelta(seconds=1)).isoformat())) == ["/run_at"]


@pytest.mark.parametrize(
    ("kind", "given", "pointer"),
    [
        ("wait", {}, "/input"),
        ("wait", {"seconds": 1, "duration": "1s"}, "/input"),
        ("wait", {"seconds": -1}, "/input/seconds"),
        ("wait", {"duration": "soon"}, "/input/duration"),
        ("wait", {"seconds": 1, "odd": 1}, "/input/odd"),
        ("python", {}, "/input/task"),
        ("python", {"task": ""}, "/input/task"),
        ("python", {"task": "t", "args": {}}, "/input/args"),
        ("python", {"task": "t", "kwargs": []}, "/input/kwargs"),
        ("python", {"task": "t", "odd": []}, "/input/odd"),
        ("http", {}, "/input/url"),
        ("http", {"url": "ftp://example.org"}, "/input/url"),
        ("http", {"url": "http://"}, "/input/url"),
        ("http", {"url": "http://[::1"}, "/input/url"),
        ("http", {"url": "http://example.org:99999"}, "/input/url"),
        ("http", {"url": "http://me:secret@example.org"}, "/input/url"),
        ("http", {"url": "http://example.org/\r\nx"}, "/input/url"),
        ("http", {"url": "http://example.org/" + "x" * 5_000}, "/input/url"),
        ("http", {"url": "http://h", "method": "BREW"}, "/input/method"),
        ("http", {"url": "http://h", "method": []}, "/input/method"),
        ("http", {"url": "http://h", "headers": []}, "/input/headers"),
        ("http", {"url": "http://h", "headers": {"a": 1}}, "/input/headers"),
        ("http", {"url": "http://h", "headers": {"a b": "c"}}, "/input/headers/a b"),
        ("http", {"url": "http://h", "headers": {"a": "b\r\nc: d"}}, "/input/headers/a"),
        (
            "http",
            {"url": "http://h", "headers": {f"h{n}": "" for n in range(65)}},
            "/input/headers",
        ),
        ("http", {"url": "http://h", "text": "a", "json": 1}, "/input"),
        ("http", {"url": "http://h", "text": 1}, "/input/text"),
        ("http", {"url": "http://h", "form": {"a": 1}}, "/input/form"),
        ("http", {"url": "http://h", "base64": "%%%"}, "/input/base64"),
        ("http", {"url": "http://h", "base64": "é"}, "/input/base64"),
        ("http", {"url": "http://h", "base64": 5}, "/input/base64"),
        ("http", {"url": "http://h", "body": ""}, "/input/body"),
    ],
)
def test_each_kind_says_what_is_wrong_with_its_input(
    kind: str, given: dict[str, Any], pointer: str
) -> None:
    assert pointers(lambda: read_job({"kind": kind, "input": given}, CONTEXT, NOW)) == [pointer]


@pytest.mark.parametrize(
    "text",
    ["2030-W05-4T12:00:00Z", "2030W054T120000Z", "20300131T120000Z", "2030-01-31T12:00:00,5Z"],
)
def test_an_instant_is_written_as_rfc_3339_has_it(text: str) -> None:
    with pytest.raises(ValueError, match="must be an instant"):
        read_instant(text)
    assert read_instant("2030-01-31T12:00Z") == read_instant("2030-01-31t13:00:00.0+01:00")
