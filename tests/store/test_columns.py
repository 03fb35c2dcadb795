"""The one list of a job's columns beside the database's own; statements beside their headers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.engine.hands import door, end, register, sql, submit, take_one
from tests.store.sql_call import enqueue
from windlass.engine.jobs.replay import replay
from windlass.model.job.draft import COLUMNS, GIVEN, ColumnUse, names
from windlass.model.job.outcome import Failed
from windlass.model.job.submission import FIELDS, SubmissionContext, read_job
from windlass.store.database import Database, Record
from windlass.store.statements import bind, parameters, statement

SQL = Path(__file__).parents[2] / "src" / "windlass" / "store" / "sql"
STATEMENTS = sorted(path.stem for path in SQL.rglob("*.sql"))
LATER = (datetime.now(UTC) + timedelta(days=30)).isoformat()
CONTEXT = SubmissionContext(kinds={"noop": lambda _: []})
# What no two jobs have in common.
OWN = {"id", "created_at", "run_at", "key", "input_bytes"}
# Each field with a value, but for those that name another job, and `kind`.
GIVEN_FIELDS: dict[str, Any] = {
    "input": {"n": "é"},
    "queue": "mail",
    "priority": "low",
    "delay": "1h",
    "deadline": LATER,
    "timeout": "1.5s",
    "retry": {"max_attempts": 7, "initial": 2.0, "factor": 1.5, "max": 60.0, "jitter": False},
    "tags": ["b", "a"],
    **{name: f"a {name}" for name, field in FIELDS.items() if field.chars_max is not None},
}


async def columns_of(database: Database, table: str) -> dict[str, str]:
    """Name and type of each, as the database has them."""
    rows = await sql(
        database,
        """SELECT column_name, udt_name FROM information_schema.columns
           WHERE table_schema = 'windlass' AND table_name = $1""",
        table,
    )
    return {found["column_name"]: _array(found["udt_name"]) for found in rows}


def _array(name: str) -> str:
    return f"{name[1:]}[]" if name.startswith("_") else name


async def whole(database: Database, job_id: UUID) -> Record:
    [found] = await sql(database, "SELECT * FROM windlass.job WHERE id = $1", job_id)
    return found


def _alike(kind: str) -> str:
    """A LIMIT is of 64 bits whatever it is called, and JSON is sent as text."""
    return {"int8": "int4", "json": "text"}.get(kind, kind)


def common(job: Record) -> dict[str, Any]:
    """JSON as values: who writes it is free in its spaces and its zeros."""
    return {
        column.name: json.loads(job[column.name] or "null")
        if column.type == "json"
        else job[column.name]
        for column in COLUMNS
        if column.name not in OWN
    }


async def test_the_list_has_every_column_of_the_table_and_no_other(database: Database) -> None:
    listed = {column.name: column.type for column in COLUMNS}
    assert listed == await columns_of(database, "job"), "COLUMNS in model/job/draft.py"
    assert len(listed) == len(COLUMNS), "each once"


async def test_the_history_has_what_lasts_and_what_is_shown(database: Database) -> None:
    history = await columns_of(database, "job_history")
    kept = {c.name: c.type for c in COLUMNS if c.use & (ColumnUse.LASTS | ColumnUse.SHOWN)}
    assert kept.items() <= history.items()


async def test_a_header_names_the_parameters_that_its_statement_has(database: Database) -> None:
    wrong = []
    async with database.side() as connection:
        for name in STATEMENTS:
            text = statement(name)
            table = f"windlass.{name.removesuffix('_thin')}_rest"
            ready = text.replace("{where}", "true").replace("{walk}", "true")
            ready = ready.replace("{partition}", table)
            prepared = await connection.prepare(ready)
            types = [_alike(kind.name) for kind in prepared.get_parameters()]
            named = [_alike(kind) for _, kind in parameters(name)]
            # Who fills in a condition may bring a parameter along with it.
            if types != (named[: len(types)] if "{where}" in text else named):
                wrong.append(f"{name} takes {types}; its header says {named}")
    assert not wrong, "\n".join(wrong)


def test_parameters_are_bound_by_their_names_and_none_may_lack_or_be_odd() -> None:
    values = {"parents_too": 10, "detail": 9, "cause": 8, "error": 7, "result": 6, "outcome": 5}
    values |= {"state": 4, "claim_id": 3, "attempt": 2, "id": 1}
    assert bind("job_end_many", values) == tuple(range(1, 11))
    with pytest.raises(TypeError, match="job_end_many has no parameter colour"):
        bind("job_end_many", values | {"colour": 1})
    del values["cause"]
    with pytest.raises(KeyError, match="cause"):
        bind("job_end_many", values)


async def test_sql_and_http_give_a_job_the_same_columns(database: Database) -> None:
    for fields in ({}, GIVEN_FIELDS):
        ours = read_job({"kind": "noop", **fields}, CONTEXT, datetime.now(UTC))
        # One by itself, for a key can be had once.
        by_sql = await whole(database, (await enqueue(database, **fields))["id"])
        ours.key = None if ours.key is None else f"{ours.key} of ours"
        by_door = await whole(database, (await door(database).submit(ours)).job_ids[0])
        assert common(by_door) == common(by_sql)


async def test_what_is_copied_has_the_columns_of_what_is_inserted(database: Database) -> None:
    fields = {name: value for name, value in GIVEN_FIELDS.items() if name != "key"}
    draft = read_job({"kind": "noop", **fields}, CONTEXT, datetime.now(UTC))
    draft.owner, draft.trace_id, draft.target = "key_1", "0af7", "example.org"
    draft.task = "send_mail"
    await sql(database, "INSERT INTO windlass.queue (name) VALUES ('mail')")
    copied = [await whole(database, job_id) for job_id in await submit(database, draft, draft)]
    inserted = await whole(database, (await door(database).submit(draft)).job_ids[0])
    assert [common(job) for job in copied] == [common(inserted)] * 2
    unusual = ("key", "limits")  # which no plain job has
    assert all(inserted[column.name] is not None for column in GIVEN if column.name not in unusual)


async def test_what_lasts_is_the_same_in_the_history_and_after_a_replay(
    database: Database,
) -> None:
    fields = {name: value for name, value in GIVEN_FIELDS.items() if name not in ("delay", "retry")}
    draft = read_job({"kind": "noop", **fields}, CONTEXT, datetime.now(UTC))
    draft.max_attempts, draft.owner, draft.trace_id = 1, "key_1", "0af7"
    [job_id] = await submit(database, draft)
    node = await register(database)
    made = lasting(await whole(database, job_id))
    await end(database, node, await take_one(database, node), Failed("ValueError", "no"))
    [dead] = await sql(database, "SELECT * FROM windlass.job_history WHERE id = $1", job_id)
    assert lasting(dead) == made
    await replay(database, [job_id])
    assert lasting(await whole(database, job_id)) == made


def lasting(job: Record) -> dict[str, Any]:
    return {name: job[name] for name in names(ColumnUse.LASTS)}
