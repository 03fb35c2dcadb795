"""Schedules of a cluster, and whether its ledger is what their rules say."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from tests.engine.hands import patiently
from tests.engine.schedules.scheduling import draft
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.schedules.schedules import put_schedule
from windlass.store.database import Record

EVERY_SECOND = {"cron": "* * * * * *"}
ANNOUNCE_SECONDS = 0.5


async def put_secondly(cluster: Cluster, count: int, **fields: Any) -> list[str]:
    """So many schedules that are due every second, and whose jobs take no time.

    Somebody fires by now: an instant that nobody fired for ten seconds would be a missed one.
    """
    names = [f"s{number:03}" for number in range(count)]
    for name in names:
        await patiently(
            partial(put_schedule, cluster.database, draft(name, EVERY_SECOND, **fields))
        )

    async def all_fire() -> bool:
        cluster.announcer.schedules(names)  # it may be lost, so it is said again
        fired = "FROM windlass.schedule WHERE last_at IS NOT NULL"
        return await cluster.count(fired) == count

    await until(all_fire, what="each of them fires", poll_seconds=ANNOUNCE_SECONDS)
    return names


async def firings(cluster: Cluster, name: str) -> list[Record]:
    return await cluster.fetch(
        "SELECT f.* FROM windlass.firing f JOIN windlass.schedule s ON s.id = f.schedule_id "
        "WHERE s.name = $1 ORDER BY instant",
        name,
    )


async def until_fired(cluster: Cluster, name: str, after: datetime) -> None:
    async def is_fired() -> bool:
        found = await firings(cluster, name)
        return bool(found) and found[-1]["instant"] > after and found[-1]["job_id"] is not None

    await until(is_fired, what=f"{name} fires after {after}")


async def now(cluster: Cluster) -> datetime:
    [row] = await cluster.database.run("database_now")
    found: datetime = row["now"]
    return found


async def faults_of(cluster: Cluster, names: list[str], *, all_made: bool) -> list[str]:
    """Sentences, empty when every second has one row, and every row that made a job has its own."""
    found: list[str] = []
    job_ids: Counter[Any] = Counter()
    for name in names:
        rows = await firings(cluster, name)
        instants = [row["instant"] for row in rows]
        seconds = int((instants[-1] - instants[0]).total_seconds())
        expected = {instants[0] + timedelta(seconds=n) for n in range(seconds + 1)}
        found += [f"{name} missed {gap}" for gap in sorted(expected - set(instants))]
        found += [f"{name} was not due at {odd}" for odd in sorted(set(instants) - expected)]
        found += [f"{name} made nothing at {row['instant']}: {row['reason']}"
                  for row in rows if all_made and row["job_id"] is None]  # fmt: skip
        job_ids.update(row["job_id"] for row in rows if row["job_id"] is not None)
    found += [
        f"{job_id} belongs to {times} firings" for job_id, times in job_ids.items() if times > 1
    ]
    jobs = await cluster.fetch(
        "SELECT id FROM windlass.job UNION ALL SELECT id FROM windlass.job_history"
    )
    there = Counter(row["id"] for row in jobs)
    found += [f"{job_id} has no firing" for job_id in there - job_ids]
    found += [f"{job_id} was fired and is gone" for job_id in job_ids - there]
    return found
