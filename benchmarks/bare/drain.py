"""The bare speed of a drain: claim 500, complete 500, until nothing is left.

Two UPDATEs and no history, on one connection. No engine that keeps its promises reaches it; it
says what this PostgreSQL and this driver can do at all. The shape is the fastest we found that
somebody might really use:

- the claim walks a partial index that holds nothing but due rows;
- `= ANY (ARRAY (…))` where `IN (…)` would do: of the latter the planner makes a hash join over
  the whole table, at two thirds of the rate;
- pages are half empty, so that a row's two new versions stay on its own page;
- both statements are prepared once.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import asyncpg

from benchmarks import child
from benchmarks.limits import DRAIN_BATCH, DRAIN_JOBS
from benchmarks.measure import Sample
from benchmarks.rows import PAYLOAD_TEXT
from benchmarks.schema import fresh_schema, settle

TABLE = """
CREATE TABLE job (
    id      bigint PRIMARY KEY,
    state   smallint NOT NULL DEFAULT 0,  -- 0 queued, 1 running, 2 done
    run_at  timestamptz NOT NULL DEFAULT now(),
    payload jsonb NOT NULL
) WITH (fillfactor = 50)
"""
DUE_INDEX = "CREATE INDEX job_due ON job (run_at, id) WHERE state = 0"
FILL = "INSERT INTO job (id, payload) SELECT n, $2::text::jsonb FROM generate_series(1, $1::int) n"
CLAIM = """
UPDATE job SET state = 1
WHERE id = ANY (ARRAY (
    SELECT id FROM job
    WHERE state = 0 AND run_at <= now()
    ORDER BY run_at, id
    LIMIT $1
    FOR UPDATE SKIP LOCKED))
RETURNING id, payload
"""
COMPLETE = "UPDATE job SET state = 2 WHERE id = ANY ($1::bigint[])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    jobs: int


async def measure(dsn: str, *, jobs: int = DRAIN_JOBS) -> Sample:
    """Rows per second through claim and complete, from a process of its own."""
    return await child.call(
        child.python("benchmarks.bare.drain"), Request(dsn=dsn, jobs=jobs), Sample
    )


async def measure_here(request: Request) -> Sample:
    async with fresh_schema(request.dsn, "bare_drain") as connection:
        await connection.execute(TABLE)
        await connection.execute(FILL, request.jobs, PAYLOAD_TEXT)
        await connection.execute(DUE_INDEX)
        await settle(connection, "job")
        started = perf_counter()
        done = await drain(connection)
        seconds = perf_counter() - started
        assert done == request.jobs, f"drained {done} of {request.jobs}"
        return Sample.rate(done, seconds, "rows/s")


async def drain(connection: asyncpg.Connection) -> int:
    claim = await connection.prepare(CLAIM)
    complete = await connection.prepare(COMPLETE)
    done = 0
    while claimed := await claim.fetch(DRAIN_BATCH):
        await complete.fetch([row["id"] for row in claimed])
        done += len(claimed)
    return done


if __name__ == "__main__":
    child.answer(Request, measure_here)
