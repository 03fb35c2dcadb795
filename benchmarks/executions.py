"""Executions by the hundred thousand, as nodes that lost every mark would have left them.

Of twenty, sixteen succeeded, one failed, one was cancelled, one still runs, and one had a failure
that its definition foresaw. What is open is due tomorrow, so that nobody performs it. The steps of
ten thousand executions are mixed with each other, as those of executions that run at once are.
"""

from __future__ import annotations

import asyncpg

from benchmarks.limits import EXECUTION_JOBS, READY_SECONDS_MAX, REFRESH_FILL_SECONDS_MAX
from benchmarks.rows import PAYLOAD_TEXT
from benchmarks.schema import settle
from windlass.store.migrate import migrate

NUMBERED = """
CREATE UNLOGGED TABLE windlass.numbered AS
SELECT n, uuidv7() AS id, n % 20 AS fate FROM generate_series(1, $1::int) n ORDER BY n
"""
QUEUE = "INSERT INTO windlass.queue (name) VALUES ('default') ON CONFLICT DO NOTHING"
EXECUTIONS = """
INSERT INTO windlass.execution (id, begun_at, version, workflow, shard)
SELECT id, now(), 1, 'bench', get_byte(uuid_send(id), 15) % 64 FROM windlass.numbered ORDER BY n
"""
ENDED = """
INSERT INTO windlass.job_history (
    id, run_at, created_at, started_at, claim_id, execution_id, attempt, max_attempts, waits_for,
    was_blocked, priority, queue, kind, state, input, step, is_foreseen, finished_at, outcome)
SELECT
    uuidv7(), now(), now(), CASE WHEN s.state <> 'skipped' THEN clock_timestamp() END,
    CASE WHEN s.state <> 'skipped' THEN gen_random_uuid() END, e.id,
    CASE WHEN s.state <> 'skipped' THEN 1 ELSE 0 END, 5, (s.state = 'skipped')::int,
    s.state = 'skipped', 1, 'default', 'noop', s.state, $2::text::json, 's' || step,
    e.fate = 19, clock_timestamp(),
    CASE s.state WHEN 'skipped' THEN NULL WHEN 'dead' THEN 'failed' ELSE s.state END
FROM windlass.numbered e
CROSS JOIN generate_series(1, $1::int) step
CROSS JOIN LATERAL (SELECT CASE
    WHEN step = 3 AND e.fate IN (16, 19) THEN 'dead'
    WHEN step = 3 AND e.fate = 17 THEN 'cancelled'
    WHEN step > 3 AND e.fate IN (16, 17) THEN 'skipped'
    ELSE 'succeeded' END AS state) s
WHERE NOT (e.fate = 18 AND step = $1)
ORDER BY e.n / 10000, step, e.n
"""
OPEN = """
INSERT INTO windlass.job (
    id, run_at, execution_id, max_attempts, priority, queue, kind, state, input, step)
SELECT uuidv7(), now() + interval '1 day', id, 5, 1, 'default', 'noop', 'queued', $2::text::json,
    's' || $1::int
FROM windlass.numbered WHERE fate = 18 ORDER BY n
"""


async def fill(dsn: str, executions: int) -> None:
    """Make them in a database that need not have tables yet."""
    await migrate(dsn)
    connection = await asyncpg.connect(
        dsn, timeout=READY_SECONDS_MAX, command_timeout=REFRESH_FILL_SECONDS_MAX
    )
    try:
        await connection.execute(NUMBERED.replace("$1", str(executions)))
        await connection.execute(QUEUE)
        await connection.execute(EXECUTIONS)
        await connection.execute(ENDED, EXECUTION_JOBS, PAYLOAD_TEXT)
        await connection.execute(OPEN, EXECUTION_JOBS, PAYLOAD_TEXT)
        for table in ("execution", "job", "job_history"):
            await settle(connection, f"windlass.{table}")
    finally:
        await connection.close()
