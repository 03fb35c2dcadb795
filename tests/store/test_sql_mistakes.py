"""windlass.enqueue(jsonb): every mistake names its field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.engine.hands import counted, sql, value
from tests.store.sql_call import CALL, enqueue
from windlass.errors import MalformedBody
from windlass.model.json import strict as strict_json
from windlass.model.json.printable import is_printable
from windlass.model.workflow.step_kinds import ENGINE_KINDS
from windlass.store.database import Database, Refused

LATER = (datetime.now(UTC) + timedelta(days=30)).replace(microsecond=0)


PAST = "2001-01-01T00:00:00Z"


def deep(levels: int) -> list[Any]:
    return [] if levels == 0 else [deep(levels - 1)]


BAD: dict[str, list[Any]] = {
    "kind": ["", "e-mail", "Email", "9lives", "e" * 65, *sorted(ENGINE_KINDS), 5, None],
    "input": [
        *(None, [], "text", 5, {"a": "x" * 1048576}),
        *({"a": [10**4000]}, {"a": -(10**400)}, {"a": deep(63)}, {"a": deep(900)}),
    ],
    "queue": ["", "a b", "é", "-x", 5, [], "x" * 129, "a\n"],
    "priority": ["", "urgent", 1, True, []],
    "run_at": ["tomorrow", 5, "2030-01-31T12:00:00", "2030-02-30T12:00:00Z", [], "", "infinity"],
    "deadline": ["tomorrow", 5, PAST, "2030-01-31", {}, "now"],
    "delay": [-1, "5 s", "soon", [], True, "999999999d", 1e300, "-5s"],
    "timeout": [-1, 0, "0s", "8d", "soon", 0.0001, 1e300],
    "retry": [5, "5", [], True],
    "retry/max_attempts": [0, 1001, 1.5, "5", None, True, 1e300],
    "retry/initial": ["soon", -1, None, []],
    "retry/max": ["soon", -1, None, 1e300],
    "retry/factor": [0.5, 101, "2", None],
    "retry/jitter": [1, "yes", None],
    "retry/tries": [5],
    "depends_on": ["job_1", 5, {}, ["job_1"], ["#0"], ["job_" + "A" * 32], ["job_" + "0" * 32]],
    "depends_on/0": [[5], [None], [""]],
    "on_parent_failure": ["", "ignore", 5, "run"],
    "key": ["", 5, [], "a\nb", "x" * 257, "a\u200bb", "\u00ad", "\u202e", "\u2028"],
    "tags": ["a", 5, {}, ["a"] * 33],
    "tags/1": [["a", ""], ["a", 5], ["a", None], ["a", "x" * 129]],
    "correlation_id": ["", 5, "a\tb", "x" * 257],
    "locks": ["a", 5, {}, ["a"] * 17],
    "locks/0": [
        [""],
        [5],
        [None],
        ["a/b"],
        ["-a"],
        ["x" * 129],
        ["a\u200bb"],
        [{}],
        [{"name": 5}],
        [{"name": "a", "x": 1}],
    ],
    "locks/1": [["a", {"name": "b", "capacity": bad}] for bad in (0, -1, 1.5, "2", True, 10001)],
    "limits": ["a", 5, {}, [{"name": "a", "max_running": 1}] * 5],
    "limits/0": [["a"], [5], [None], [{}], [{"name": "a"}], [{"name": "a", "rate": None}]],
    "limits/0/x": [[{"name": "a", "max_running": 1, "x": 1}]],
    "limits/0/name": [[{"name": bad, "max_running": 1}] for bad in ("", "a/b", 5, "x" * 129, "-")],
    "limits/0/max_running": [
        [{"name": "a", "max_running": bad}] for bad in (0, -1, 1.5, "2", True, 10001, 1e300)
    ],
    "limits/0/rate": [
        [{"name": "a", "rate": bad}] for bad in (0, -1, 1e-6, 1001, "2", True, 1e300)
    ],
    "limits/0/per": [
        [{"name": "a", "rate": 1, "per": bad}]
        for bad in ("a", [], ["a"], [5], ["/a"] * 5, ["/" + "x" * 256])
    ],
    "unique_for": ["1s"],
    "debounce": ["1s"],
    "debounce_max": ["1s"],
    "nice": [19],
}
PER_TO = {"name": "a", "rate": 1, "per": ["/to"]}
BAD_VALUES = [(field, bad) for field, values in BAD.items() for bad in values]


@pytest.mark.parametrize(
    ("field", "bad"), BAD_VALUES, ids=[f"{name}={str(bad)[:30]!a}" for name, bad in BAD_VALUES]
)
async def test_a_mistake_names_its_field(database: Database, field: str, bad: Any) -> None:
    outer, _, inner = field.partition("/")
    fields = {outer: {inner: bad} if outer == "retry" and inner else bad}
    with pytest.raises(Refused, match=f"windlass: /{field}: ") as refused:
        await enqueue(database, **fields)
    assert isinstance(refused.value.__cause__, asyncpg.InvalidParameterValueError)
    assert await counted(database) == {}


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("delay", {"delay": 5, "run_at": LATER.isoformat()}),
        ("deadline", {"deadline": LATER.isoformat(), "run_at": LATER.isoformat()}),
        ("deadline", {"deadline": LATER.isoformat(), "delay": "60d"}),
        ("run_at", {"run_at": (LATER + timedelta(days=366)).isoformat()}),
        ("unique_for", {"key": "k", "unique_for": 0}),
        ("debounce", {"key": "k", "debounce": "0s"}),
        ("debounce", {"key": "k", "debounce": 1, "unique_for": 1}),
        ("debounce", {"key": "k", "debounce": 1, "delay": 1}),
        ("debounce", {"key": "k", "debounce": 1, "run_at": LATER.isoformat()}),
        ("debounce", {"key": "k", "debounce": 1, "depends_on": []}),
        ("debounce_max", {"key": "k", "debounce": 2, "debounce_max": 1}),
        ("limits/0/per", {"limits": [PER_TO], "input": {"to": 1.5}}),
        ("limits/0/per", {"limits": [PER_TO], "input": {"to": [{"a": 1}]}}),
    ],
)
async def test_fields_that_do_not_go_together_are_refused(
    database: Database, field: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(Refused, match=f"windlass: /{field}: "):
        await enqueue(database, **fields)


@pytest.mark.parametrize("text", ["null", "[]", '"noop"', "5", None])
async def test_what_is_no_object_is_no_job(database: Database, text: str | None) -> None:
    with pytest.raises(Refused, match="a job is a JSON object"):
        await value(database, CALL, text)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "noop", "input": {"a": 1e100000}}',
        '{"kind": "noop", "input": {"a": -1e309}}',
        r'{"kind": "noop", "input": {"a": "\u0000"}}',
        r'{"kind": "noop", "input": {"\ud800": 1}}',
    ],
)
async def test_what_http_refuses_in_a_value_is_refused_in_sql(
    database: Database, text: str
) -> None:
    with pytest.raises((MalformedBody, ValueError)):
        strict_json.write(strict_json.parse(text.encode()))
    with pytest.raises(Refused):
        await value(database, CALL, text)
    assert await counted(database) == {}


async def test_what_http_takes_is_taken_in_sql(database: Database) -> None:
    inputs = [{"a": 1.7e308}, {"a": "9" * 400}, {"a": 10**300}, {"a": deep(62)}, {"a": ["["] * 99}]
    for given in inputs:
        strict_json.write(given)
        assert (await enqueue(database, input=given))["state"] == "queued"
    for text in ("Größe 42, 東京 😀", "👩\u200d🚀", "12\u00a0km", "東\u3000京", "\ue000"):
        assert is_printable(text)
        made = await enqueue(
            database, key=text, correlation_id=text, tags=[text], locks=["a" + text]
        )
        assert (made["key"], made["correlation_id"]) == (text, text)


async def test_the_same_characters_are_hidden_for_http_and_sql(database: Database) -> None:
    rows = await sql(
        database,
        "SELECT c FROM generate_series(1, 1114111) AS c"
        " WHERE c NOT BETWEEN 55296 AND 57343 AND windlass.is_hidden(chr(c))",
    )
    halves = range(55296, 57344)
    hidden = {code for code in range(1, 1114112) if not is_printable(chr(code))}
    assert {row["c"] for row in rows} == hidden.difference(halves)
