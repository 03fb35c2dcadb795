"""Locks when nodes die, freeze or have but one slot; the tasks themselves say who was inside."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from uuid import uuid4

from tests.engine.locks.locking import nothing_left
from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.cluster.reborn import reborn_as
from tests.faults.job_objects import Job, noop, task
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.engine.locks.acquire import LockCall, LockHold, acquire, give_back
from windlass.engine.locks.locks import read_lock
from windlass.errors import NotFound

JOBS = 200
CAPACITY = {"a": 1, "b": 3, "c": 2}


def most_at_once(cluster: Cluster, markers: set[str]) -> int:
    """How many of these were inside at the same time, as they wrote it down."""
    inside: set[str] = set()
    most = 0
    for line in cluster.witness.lines():
        if line.marker in markers:
            (inside.add if line.moment == "start" else inside.discard)(line.marker)
            most = max(most, len(inside))
    return most


async def held_by_a_caller(cluster: Cluster, name: str, ttl_seconds: float) -> LockHold:
    held, _ = await acquire(
        cluster.database, LockCall(name=name, ticket=uuid4(), ttl_seconds=ttl_seconds)
    )
    assert held is not None
    return held


async def until_waiting(cluster: Cluster, name: str, count: int) -> None:
    async def are_waiting() -> bool:
        try:
            return (await read_lock(cluster.database, name)).waiting == count
        except NotFound:
            return False

    await until(are_waiting, what=f"{count} wait for lock {name}")


def of_random_locks(chance: random.Random) -> dict[str, Job]:
    jobs = {}
    for n in range(JOBS):
        names = chance.sample(sorted(CAPACITY), chance.choice((1, 1, 2, 3)))
        locks = [{"name": name, "capacity": CAPACITY[name]} for name in names]
        seconds = round(chance.uniform(0, 0.03), 3)
        name = chance.choice(("note", "note_async"))
        jobs[f"j{n}"] = task(
            name, f"j{n}", seconds, locks=locks, priority=chance.choice(("low", "normal", "high"))
        )
    return jobs


async def run_on_two_nodes(cluster: Cluster) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    jobs = of_random_locks(random.Random(seed))
    await cluster.start_node(workers=16)
    await cluster.start_node(workers=16)
    for start in range(0, JOBS, 40):
        await cluster.submit(list(jobs.values())[start : start + 40])
    await cluster.until_ended()
    for name, capacity in CAPACITY.items():
        inside = {
            marker
            for marker, job in jobs.items()
            if name in {lock["name"] for lock in job["locks"]}
        }
        assert 1 <= most_at_once(cluster, inside) <= capacity, name
    assert await cluster.states(jobs) == {"succeeded": JOBS}
    assert Counter(line.marker for line in cluster.witness.lines("start")) == Counter(jobs.keys())
    assert await nothing_left(cluster.database)
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_there_are_never_more_inside_than_the_capacity(cluster: Cluster) -> None:
    await run_on_two_nodes(cluster)


async def test_without_redis_there_are_never_more_inside_than_the_capacity(
    database_url: str, tmp_path: Path
) -> None:
    async with open_cluster(database_url, None, tmp_path) as cluster:
        await run_on_two_nodes(cluster)


async def test_a_killed_node_s_job_keeps_its_lock_until_it_has_run_elsewhere(
    cluster: Cluster,
) -> None:
    dying = await cluster.start_mortal_node()
    await cluster.submit([task("note_held", "holder", locks=["a"])])
    await cluster.until_started(["holder"])
    await cluster.submit([task("note", f"next{n}", 0.05, locks=["a"]) for n in range(3)])
    await dying.kill()
    await cluster.start_node()
    await cluster.until_started(["holder"], times=2)
    # While it runs the node takes another job, but none that needs the lock.
    await cluster.until_ended(await cluster.submit([noop("free")]))
    gate(cluster.witness.path).touch()
    await cluster.until_ended()
    told = [(line.moment, line.marker) for line in cluster.witness.lines()]
    assert told[:3] == [("start", "holder"), ("start", "holder"), ("end", "holder")]
    nexts = [(moment, f"next{n}") for n in range(3) for moment in ("start", "end")]
    assert told[3:] == nexts, "one after the other, in the order in which they came"
    assert (await cluster.rows(["holder"]))["holder"]["attempt"] == 2
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_a_frozen_node_that_thaws_does_not_release_what_is_no_longer_its_own(
    cluster: Cluster,
) -> None:
    frozen = await cluster.start_mortal_node()
    await cluster.submit([task("note", "holder", 4.0, locks=["a"])])
    await cluster.until_started(["holder"])
    await cluster.submit([task("note", "next", 0.05, locks=["a"])])
    await frozen.freeze()
    other = await cluster.start_node()
    await cluster.until_started(["holder"], times=2)
    frozen.thaw()
    await reborn_as(cluster, frozen)
    await cluster.until_ended()
    # The thawed one may end its own as well, and on a busy machine as the last of them.
    [ended] = [line for line in cluster.witness.lines("end", "holder") if line.pid == other.pid]
    [begun] = cluster.witness.lines("start", "next")
    assert begun.at > ended.at, "the attempt that counts had ended"
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_jobs_that_wait_for_a_lock_hold_no_slot(cluster: Cluster) -> None:
    await cluster.start_node(workers=1)
    held = await held_by_a_caller(cluster, "a", 600)
    await cluster.submit([task("note", f"w{n}", locks=["a"]) for n in range(20)])
    await until_waiting(cluster, "a", 20)
    others = [noop("n"), *(task("note", f"o{n}") for n in range(5))]
    await cluster.submit(others)
    await cluster.until_ended([job["correlation_id"] for job in others])
    assert await cluster.count("FROM windlass.job WHERE parked_for = 'lock'") == 20
    await give_back(cluster.database, "a", held.token)
    await cluster.until_ended()
    assert await nothing_left(cluster.database)


async def test_a_hold_that_runs_out_lets_the_next_job_start(cluster: Cluster) -> None:
    """Nobody gives it back, and no caller waits: the nodes keep the time."""
    await cluster.start_node()
    await held_by_a_caller(cluster, "a", 1.0)
    await cluster.submit([task("note", "next", locks=["a"])])
    await cluster.until_ended(within_seconds=20)
    assert (await read_lock(cluster.database, "a")).held == 0


async def test_a_job_that_is_due_later_takes_its_lock_then(cluster: Cluster) -> None:
    await cluster.start_node()
    await cluster.submit(
        [
            task("note", "later", locks=["a"], delay="4s"),
            task("note", "now", locks=["a"]),
        ]
    )
    await cluster.until_ended()
    # Had it taken its lock when it came, the other would have waited for its end.
    told = [(line.moment, line.marker) for line in cluster.witness.lines()]
    assert told == [(moment, name) for name in ("now", "later") for moment in ("start", "end")]
    later = (await cluster.rows(["later"]))["later"]
    assert later["started_at"] >= later["run_at"]
