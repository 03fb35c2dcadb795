"""The bare speed of a batch submit: `INSERT … SELECT unnest`, 10,000 rows a statement.

Every column of every row travels, as it must when the rows are somebody's jobs; a primary key
of time-ordered UUIDs and the one index a claim could not do without are kept up to date.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter, time_ns
from uuid import UUID

import asyncpg

from benchmarks import child
from benchmarks.limits import INSERT_BATCH, INSERT_STATEMENTS
from benchmarks.measure import Sample
from benchmarks.rows import PAYLOAD_TEXT
from benchmarks.schema import fresh_schema

TABLE = """
CREATE TABLE job (
    id       uuid PRIMARY KEY,
    queue    text NOT NULL,
    priority smallint NOT NULL,
    run_at   timestamptz NOT NULL,
    payload  jsonb NOT NULL
)
"""
CLAIM_INDEX = "CREATE INDEX job_claim ON job (queue, priority, run_at)"
INSERT = """
INSERT INTO job (id, queue, priority, run_at, payload)
SELECT id, queue, priority, run_at, payload::jsonb
FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::timestamptz[], $5::text[])
  AS given (id, queue, priority, run_at, payload)
"""

# One array per column, in the order of INSERT's parameters.
Columns = tuple[list[UUID], list[str], list[int], list[datetime], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    statements: int
    batch: int


async def measure(
    dsn: str, *, statements: int = INSERT_STATEMENTS, batch: int = INSERT_BATCH
) -> Sample:
    """Rows per second into one table, from a process of its own."""
    return await child.call(
        child.python("benchmarks.bare.insert"),
        Request(dsn=dsn, statements=statements, batch=batch),
        Sample,
    )


async def measure_here(request: Request) -> Sample:
    batches = [_columns(request.batch) for _ in range(request.statements)]
    async with fresh_schema(request.dsn, "bare_insert") as connection:
        await connection.execute(TABLE)
        await connection.execute(CLAIM_INDEX)
        started = perf_counter()
        await insert(connection, batches)
        seconds = perf_counter() - started
        rows = await connection.fetchval("SELECT count(*) FROM job")
        assert rows == request.statements * request.batch, f"inserted {rows}"
        return Sample.rate(rows, seconds, "rows/s")


async def insert(connection: asyncpg.Connection, batches: list[Columns]) -> None:
    statement = await connection.prepare(INSERT)
    for columns in batches:
        await statement.fetch(*columns)


def _columns(count: int) -> Columns:
    now = datetime.now(UTC)
    return (
        list(_ordered_ids(count)),
        ["default"] * count,
        [1] * count,
        [now] * count,
        [PAYLOAD_TEXT] * count,
    )


def _ordered_ids(count: int) -> Iterator[UUID]:
    """UUIDs of version 7: by time, then by number, then by chance."""
    assert count <= 1 << 20, "the number would run into the version"
    prefix = (time_ns() // 1_000_000) << 80 | 7 << 76 | 2 << 62
    for number in range(count):
        high, low = divmod(number, 1 << 10)
        yield UUID(int=prefix | high << 64 | low << 52 | secrets.randbits(52))


if __name__ == "__main__":
    child.answer(Request, measure_here)
