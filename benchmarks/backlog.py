"""Jobs that wait, by the hundred thousand: written by SQL, as if submitted one by one.

Ids and due times rise together, as they do when jobs come in over time.
"""

from __future__ import annotations

from typing import Literal

import asyncpg

from benchmarks.limits import FILL_SECONDS_MAX, READY_SECONDS_MAX
from benchmarks.rows import PAYLOAD_TEXT
from benchmarks.schema import settle
from windlass.store.migrate import migrate

# Why they wait: nobody has taken them yet, their queue is paused, or their time has not come.
Waiting = Literal["due", "paused", "future"]

QUEUE = "INSERT INTO windlass.queue (name, is_paused) VALUES ($1, $2) ON CONFLICT DO NOTHING"
FILL = """
INSERT INTO windlass.job
    (id, run_at, max_attempts, priority, queue, kind, state, input, input_bytes)
SELECT uuidv7(), clock_timestamp() + $2::float8 * interval '1 second', 5, 1, $3, 'noop',
    'queued', $4::text::json, octet_length($4::text)
FROM generate_series(1, $1::int)
"""


async def fill(dsn: str, waiting: dict[Waiting, int]) -> None:
    """Make so many jobs wait for each reason, in a database that need not have tables yet."""
    await migrate(dsn)
    connection = await asyncpg.connect(
        dsn, timeout=READY_SECONDS_MAX, command_timeout=FILL_SECONDS_MAX
    )
    try:
        for reason, jobs in waiting.items():
            queue = "paused" if reason == "paused" else "default"
            await connection.execute(QUEUE, queue, reason == "paused")
            day = 86_400.0
            await connection.execute(
                FILL, jobs, day if reason == "future" else 0.0, queue, PAYLOAD_TEXT
            )
        await settle(connection, "windlass.job")
    finally:
        await connection.close()
