"""A transaction is open for long and holds rows that some jobs need: the others do not wait."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import asyncpg

from tests.faults.door import Door, open_door
from tests.faults.job_objects import noop, wait
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass import ids
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


async def test_executions_that_somebody_holds_keep_no_other_from_going_on(
    cluster: Cluster,
) -> None:
    """Of each kind that is looked after: one that ends, one that fans out, one that has a child."""
    each = {"kind": "noop", "queue": "held"}
    steps = [
        {"id": "fan", "kind": "map", "items": "${inputs.items}", "step": each},
        {"id": "child", "kind": "workflow", "needs": ["fan"], "input": {"workflow": "leaf"}},
        {"id": "end", "kind": "noop", "needs": ["child"]},
    ]
    async with open_door(cluster, roles="api,worker,leader") as door:
        leaf = {"name": "leaf", "steps": [{"id": "only", "kind": "noop"}], "output": {"a": 1}}
        await door.call("POST", "/v1/workflows", 201, leaf)
        await door.call("POST", "/v1/workflows", 201, {"name": "tree", "steps": steps})
        await door.call("PUT", "/v1/queues/held", 200, {})
        await door.call("POST", "/v1/queues/held/pause", 200)
        given = {"input": {"items": [1, 2, 3]}}
        held = [
            (await door.call("POST", "/v1/workflows/tree/executions", 201, given))["id"]
            for _ in range(6)
        ]
        fans = "FROM windlass.job WHERE queue = 'held'"

        async def all_fan_out() -> bool:
            return await cluster.count(fans) == 3 * len(held)

        await until(all_fan_out, what="they fan out")
        user: Any = await asyncpg.connect(cluster.database.url)
        try:
            await user.execute("BEGIN")
            await user.execute("SELECT FROM windlass.execution FOR UPDATE")
            await user.execute("SELECT FROM windlass.fan FOR UPDATE")
            await door.call("POST", "/v1/queues/held/resume", 200)
            # One after the other: each of them would have to wait for those that are held.
            for _ in range(3):
                begun = monotonic()
                body = {"input": {"items": [1, 2]}}
                free = await door.call("POST", "/v1/workflows/tree/executions", 201, body)
                path = f"/v1/executions/{free['id']}"
                await until(partial(has_succeeded, door, path), what="it goes on")
                assert monotonic() - begun < ANSWER_SECONDS_MAX
            for execution_id in held:
                shown = await door.call("GET", f"/v1/executions/{execution_id}", 200)
                assert shown["finished_at"] is None
            await user.execute("COMMIT")
        finally:
            await user.close(timeout=5)
        for execution_id in held:
            path = f"/v1/executions/{execution_id}"
            await until(partial(has_succeeded, door, path), what="what was held goes on")


async def test_whatever_is_asked_of_an_execution_that_somebody_holds_the_door_is_open_to_others(
    cluster: Cluster,
) -> None:
    async with open_door(cluster, roles="api,worker") as door:
        steps = [{"id": "wait", "kind": "signal", "input": {"name": "go"}}]
        await door.call("POST", "/v1/workflows", 201, {"name": "waits", "steps": steps})
        made = await door.call("POST", "/v1/workflows/waits/executions", 201, {})
        path = f"/v1/executions/{made['id']}"
        user: Any = await asyncpg.connect(cluster.database.url)
        try:
            await user.execute("BEGIN")
            await user.execute("SELECT FROM windlass.execution FOR UPDATE")
            verbs: dict[str, Any] = {"signals/go": {}, "pause": None, "cancel": None}
            asked = [
                asyncio.create_task(door.call("POST", f"{path}/{verb}", 503, body))
                for verb, body in list(verbs.items()) * 3
            ]
            longest = 0.0
            while not all(task.done() for task in asked):
                begun = monotonic()
                await door.call("POST", "/v1/jobs", 201, {"kind": "noop"})
                longest = max(longest, monotonic() - begun)
            await asyncio.gather(*asked)
            assert longest < ANSWER_SECONDS_MAX
            await user.execute("COMMIT")
        finally:
            await user.close(timeout=5)
        await door.call("POST", f"{path}/signals/go", 201, {})
        await until(partial(has_succeeded, door, path), what="it hears the signal")


async def test_a_job_claimed_ahead_that_somebody_holds_does_not_stop_its_node(
    cluster: Cluster,
) -> None:
    await cluster.start_node(workers=1)
    await cluster.submit([wait("long", 7.0), wait("ahead", 0.0)])

    async def are_claimed() -> bool:
        return await cluster.count("FROM windlass.job WHERE state = 'running'") == 2

    await until(are_claimed, what="one runs, and one is claimed ahead")
    user: Any = await asyncpg.connect(cluster.database.url)
    try:
        await user.execute("BEGIN")
        child = {"kind": "noop", "depends_on": [ids.show("job", cluster.accepted["ahead"])]}
        await user.fetchval(ENQUEUE, json.dumps(child))
        # No slot takes it in time, so it is to go back; and then there is a slot.
        await cluster.until_ended(["long"])
        await cluster.submit([noop("other")])
        await cluster.until_ended(["other"], within_seconds=ANSWER_SECONDS_MAX)
        await user.execute("COMMIT")
    finally:
        await user.close(timeout=5)
    await cluster.until_ended(["ahead"])
    assert await cluster.states(["long", "ahead", "other"]) == {"succeeded": 3}


async def has_succeeded(door: Door, path: str) -> bool:
    state: str = (await door.call("GET", path, 200))["state"]
    return state == "succeeded"


async def fired(cluster: Cluster, name: str) -> int:
    return await cluster.count(
        "FROM windlass.firing f JOIN windlass.schedule s ON s.id = f.schedule_id"
        " WHERE s.name = $1 AND f.state IN ('fired', 'late')",
        name,
    )


async def has_fired(cluster: Cluster, name: str, times: int) -> bool:
    return await fired(cluster, name) >= times
