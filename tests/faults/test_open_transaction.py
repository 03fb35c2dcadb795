"""A transaction is open for long and holds rows that some jobs need: the others do not wait."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from tests.faults.cluster import Cluster
from tests.faults.door import open_door
from tests.faults.until import until
from windlass.clock import monotonic

QUEUE = {"max_jobs": 1_000}
KEYED = {"kind": "noop", "key": "held"}
# Far below the half minute that a statement may wait, and above what a busy machine takes.
ANSWER_SECONDS_MAX = 15.0
ENQUEUE = "SELECT windlass.enqueue($1::text::jsonb)"


async def test_an_open_transaction_keeps_neither_the_door_nor_a_schedule(cluster: Cluster) -> None:
    everything = "api,worker,leader"
    async with open_door(cluster, roles=everything, WINDLASS_RETRY_MAX_ATTEMPTS="3") as door:
        await door.call("PUT", "/v1/queues/narrow", 200, QUEUE)
        await door.call("PUT", "/v1/queues/locked", 200, QUEUE)
        schedule = {"name": "beside", "every": "1s", "job": {"kind": "noop"}, "misfire": "fire_all"}
        await door.call("POST", "/v1/schedules", 201, schedule)
        for queue in ("narrow", "locked"):
            held = {"name": queue, "every": "1s", "job": {"kind": "noop", "queue": queue}}
            await door.call("POST", "/v1/schedules", 201, held)
        await until(lambda: has_fired(cluster, "beside", 1), what="the schedule fires")

        user: Any = await asyncpg.connect(cluster.database.url)
        try:
            await user.execute("BEGIN")
            await user.fetchval(ENQUEUE, '{"kind": "noop", "queue": "narrow", "key": "held"}')
            await user.execute("SELECT FROM windlass.queue WHERE name = 'locked' FOR UPDATE")
            before = await fired(cluster, "beside")
            stuck = [
                asyncio.create_task(door.call("POST", "/v1/jobs", 503, body))
                for body in [KEYED, {"kind": "noop", "queue": "locked"}] * 4
            ]
            longest = 0.0
            while not all(task.done() for task in stuck):
                for body in ({"kind": "noop"}, {"kind": "noop", "queue": "narrow"}):
                    begun = monotonic()
                    await door.call("POST", "/v1/jobs", 201, body)
                    longest = max(longest, monotonic() - begun)
            await asyncio.gather(*stuck)
            assert longest < ANSWER_SECONDS_MAX
            await until(lambda: has_fired(cluster, "beside", before + 5), what="it goes on firing")
            await user.execute("COMMIT")
        finally:
            await user.close(timeout=5)
        assert await cluster.count(
            "FROM windlass.firing WHERE state IN ('skipped', 'coalesced') AND schedule_id ="
            " (SELECT id FROM windlass.schedule WHERE name = 'beside')"
        ) == 0  # fmt: skip
        await until(lambda: has_fired(cluster, "locked", 1), what="what was held fires again")
        # The door's settings hold for SQL as well.
        job = await cluster.fetch(
            "SELECT max_attempts FROM windlass.job WHERE key = 'held' UNION ALL"
            " SELECT max_attempts FROM windlass.job_history WHERE key = 'held'"
        )
        assert [row["max_attempts"] for row in job] == [3]


async def fired(cluster: Cluster, name: str) -> int:
    return await cluster.count(
        "FROM windlass.firing f JOIN windlass.schedule s ON s.id = f.schedule_id"
        " WHERE s.name = $1 AND f.state IN ('fired', 'late')",
        name,
    )


async def has_fired(cluster: Cluster, name: str, times: int) -> bool:
    return await fired(cluster, name) >= times
