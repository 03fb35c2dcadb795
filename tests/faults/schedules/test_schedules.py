"""Leaders die, believe too long, or are all gone: each instant fires once, or says why not."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import pytest

from tests.engine.hands import patiently
from tests.engine.schedules.scheduling import draft
from tests.faults.check import faults_found
from tests.faults.cluster.leaders import candidate, leader_after, named
from tests.faults.nodes import ROOT
from tests.faults.real_cluster import Cluster
from tests.faults.schedules.scheduling import (
    EVERY_SECOND,
    faults_of,
    firings,
    now,
    put_secondly,
    until_fired,
)
from tests.until import until
from windlass.engine.doctor.doctor import doctor
from windlass.engine.schedules.schedules import put_schedule
from windlass.model.schedule.decision import Misfire

KILLS, SCHEDULES = 6, 10
# What becomes of the instants that nobody fired in time.
WANTED: Final[dict[Misfire, str]] = {
    "fire_once": "coalesced",
    "fire_all": "late",
    "skip": "skipped",
}
START_SECONDS_MAX = 20.0
BELIEVERS = 3
# Fires whatever is due, as a leader would who does not know that another leads.
BELIEVE = """
import asyncio, sys
from windlass.engine.schedules.fire import fire_due
from windlass.engine.schedules.decide import FireOptions
from windlass.store.database import Database

async def main() -> None:
    database = Database(sys.argv[1])
    await database.open()
    print("ready", flush=True)
    while True:
        await fire_due(database, FireOptions())
        await asyncio.sleep(0.005)

asyncio.run(main())
"""


@pytest.mark.timeout(300)  # one after another they start, lead and are killed
async def test_leaders_are_killed_one_after_another_and_no_second_is_missed_or_doubled(
    cluster: Cluster,
) -> None:
    nodes = [await candidate(cluster, redis_url=cluster.redis_url) for _ in range(2)]
    await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    names = await put_secondly(cluster, SCHEDULES)
    term = 0
    for _ in range(KILLS):
        led = await leader_after(cluster, term, within_seconds=START_SECONDS_MAX)
        # A moment into its lead: somewhere in the middle of what a leader does.
        await until_fired(cluster, names[-1], await now(cluster))
        term = led["term"]
        await named(nodes, led).kill()
        nodes.append(await candidate(cluster, redis_url=cluster.redis_url))
    await leader_after(cluster, term, within_seconds=START_SECONDS_MAX)
    await until_fired(cluster, names[-1], await now(cluster))
    await _stop_all(cluster, names)
    assert await faults_of(cluster, names, all_made=True) == []
    assert (await doctor(cluster.database)).findings == []


async def test_believing_leaders_of_several_processes_fire_once(cluster: Cluster) -> None:
    believers = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", BELIEVE, cluster.database.url),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(BELIEVERS)
    ]
    try:
        for process in believers:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        names = await put_secondly(cluster, SCHEDULES)
        began_at = await now(cluster)
        await until_fired(cluster, names[-1], began_at + timedelta(seconds=5))
    finally:
        for process in believers:
            process.kill()
            await process.wait()
    await _paused(cluster)
    assert await faults_of(cluster, names, all_made=True) == []


async def test_after_a_time_without_any_node_each_policy_is_obeyed_and_the_next_instant_fires(
    cluster: Cluster,
) -> None:
    for misfire in WANTED:
        await put_schedule(cluster.database, draft(misfire, EVERY_SECOND, misfire=misfire))
    node = await candidate(cluster)
    for misfire in WANTED:
        await until_fired(cluster, misfire, await now(cluster))
    await node.kill()
    gone_at: datetime = max([(await firings(cluster, name))[-1]["instant"] for name in WANTED])

    async def is_missed() -> bool:
        return await now(cluster) > gone_at + timedelta(seconds=15)

    await until(is_missed, what="seconds pass that nobody fires")
    # The next leader decides at some moment after this one, perhaps long before it says it is here.
    missed_until = await now(cluster)
    await candidate(cluster)
    back_at = await now(cluster)
    for misfire in WANTED:
        await until_fired(cluster, misfire, back_at + timedelta(seconds=1))
    await _paused(cluster)

    assert await faults_of(cluster, list(WANTED), all_made=False) == []
    assert all(row["job_id"] for row in await firings(cluster, "fire_all"))
    for misfire, wanted in WANTED.items():
        missed = [
            row["state"]
            for row in await firings(cluster, misfire)
            if gone_at < row["instant"] < missed_until - timedelta(seconds=11)
        ]
        assert len(missed) >= 2
        assert set(missed) == {wanted}
    assert (await doctor(cluster.database)).findings == []


async def test_a_schedule_edited_at_its_instant_loses_and_doubles_nothing(
    cluster: Cluster,
) -> None:
    await candidate(cluster, redis_url=cluster.redis_url)
    await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    [name] = await put_secondly(cluster, 1)
    began_at = await now(cluster)
    rules = [EVERY_SECOND, {"cron": "*/1 * * * * *"}]
    edits = 0
    while edits < 2 or await now(cluster) < began_at + timedelta(seconds=5):
        # Up to the very instant, where the leader wakes too.
        moment = await now(cluster)
        await asyncio.sleep(1 - moment.microsecond / 1_000_000 - 0.005)
        edits += 1
        # The leader may have it in hand for longer than an editor waits.
        await patiently(partial(put_schedule, cluster.database, draft(name, rules[edits % 2])))
        cluster.announcer.schedules([name])
    await until_fired(cluster, name, await now(cluster))
    await _paused(cluster)
    assert await faults_of(cluster, [name], all_made=True) == []


async def test_without_redis_a_new_schedule_is_found_and_fired(cluster: Cluster) -> None:
    await candidate(cluster)
    await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    [clock] = await cluster.database.run("database_now")
    at = clock["now"] + timedelta(seconds=3)
    await put_schedule(cluster.database, draft("once", {"at": at.isoformat()}))

    async def is_fired() -> bool:
        return bool(await firings(cluster, "once"))

    await until(is_fired, what="it fires")
    [row] = await firings(cluster, "once")
    assert row["instant"] == at
    assert row["job_id"] is not None


async def _paused(cluster: Cluster) -> None:
    """Nothing more falls due, and what was decided is committed."""
    await cluster.fetch("UPDATE windlass.schedule SET paused_at = now()")


async def _stop_all(cluster: Cluster, names: list[str]) -> None:
    await _paused(cluster)

    async def is_done() -> bool:
        return not await cluster.count("FROM windlass.job")

    await until(is_done, what=f"the jobs of {len(names)} schedules end")
    rows = await cluster.fetch("SELECT job_id FROM windlass.firing WHERE job_id IS NOT NULL")
    assert await faults_found(cluster.database, [row["job_id"] for row in rows]) == []
