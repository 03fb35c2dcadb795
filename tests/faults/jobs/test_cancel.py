"""Cancelling jobs that run in another process: G7."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.job_objects import Job, task, wait
from tests.faults.real_cluster import Cluster, open_cluster
from windlass import ids
from windlass.clock import monotonic

ROUNDS, TRIES_MAX = 6, 60  # so many in a row are quick, although some met a pause
# Two polls of a second are within it, and what any process on a busy machine may pause.
SECONDS = 12.0
CONTROL_SECONDS = 0.5  # for a task whose time is up to notice it
RACES = 200
ROUNDS_MAX = 10


async def test_with_the_fast_lane_a_running_job_stops_at_once(cluster: Cluster) -> None:
    await cluster.start_node()

    async def seconds_of(marker: str) -> float:
        await cluster.submit([task("note_held", marker)])
        await cluster.until_started([marker])
        begun = monotonic()
        await cluster.cancel([cluster.accepted[marker]])
        await cluster.until_ended([marker])
        return monotonic() - begun

    # Polling alone takes half a second on average (see CANCEL_POLL_SECONDS): so many that are quick
    # one after the other are none of its doing. After a late answer of Redis a node does without it
    # for a second.
    took: list[float] = []
    while len(took) < TRIES_MAX and (len(took) < ROUNDS or max(took[-ROUNDS:]) >= 0.3):
        took.append(await seconds_of(f"t-{len(took)}"))
    assert max(took[-ROUNDS:]) < 0.3, took
    gate(cluster.witness.path).touch()  # whatever goes on in spite of it ends now
    await was_really_stopped(cluster, 0.0)


async def test_without_the_fast_lane_running_jobs_stop_at_the_next_poll(
    database_url: str, tmp_path: Path
) -> None:
    async with open_cluster(database_url, None, tmp_path) as cluster:
        await cluster.start_node()

        def two(name: str) -> list[Job]:
            return [task(name, f"{name}-{n}", SECONDS) for n in range(2)]

        # Their interpreters take a while to start, and the others must not end meanwhile.
        await cluster.until_started(await cluster.submit(two("note_isolated")))
        others = [*two("note"), *two("note_async")]
        await cluster.submit([wait("wait", SECONDS), *others])
        await cluster.until_started(job["correlation_id"] for job in others)
        asked = await cluster.cancel(list(cluster.accepted.values()))
        assert asked.stopping.keys() == set(cluster.accepted.values())
        await cluster.until_ended()
        await was_really_stopped(cluster, SECONDS)


async def was_really_stopped(cluster: Cluster, seconds: float) -> None:
    """By the time the control has ended, each cancelled task, of `seconds`, would have too."""
    cancelled = list(cluster.accepted)
    last = max(line.at for line in cluster.witness.lines("start"))
    left = max(0.0, last + seconds - monotonic())
    await cluster.submit([task("note", "control", left + CONTROL_SECONDS)])
    await cluster.until_ended(["control"])
    assert {line.marker for line in cluster.witness.lines("end")} == {"control"}
    rows = await cluster.rows(cancelled)
    assert {(row["state"], row["outcome"]) for row in rows.values()} == {("cancelled", "cancelled")}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_a_cancel_that_was_answered_is_never_followed_by_success(cluster: Cluster) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    await cluster.start_node()
    await cluster.start_node()
    dropped: set[str] = set()
    asked: set[str] = set()
    late: set[str] = set()

    async def cancel_one(marker: str) -> None:
        job_id = cluster.accepted[marker]
        answer = await cluster.cancel([job_id])
        if job_id in answer.ended:
            dropped.add(marker)
        elif job_id in answer.stopping:
            asked.add(marker)
        else:
            late.add(marker)

    # Who wins is the scheduler's affair: there are more races until each side has won one.
    for number in range(ROUNDS_MAX):
        if dropped and asked:
            break
        markers = [f"r{number}-{n}" for n in range(RACES)]
        await cluster.submit(
            [
                task(chance.choice(("note", "note_async")), marker, chance.choice((0, 0.02, 0.05)))
                for marker in markers
            ]
        )
        for some in _races(markers, chance):
            await asyncio.gather(*map(cancel_one, some))
        await cluster.until_ended()

    rows = await cluster.rows(list(cluster.accepted))
    assert {rows[marker]["state"] for marker in dropped | asked} == {"cancelled"}
    assert {rows[marker]["state"] for marker in late} <= {"succeeded"}
    assert asked
    assert dropped
    starts = cluster.witness.by_marker("start")
    assert all(marker not in starts for marker in dropped), "what was dropped never began"
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


def _races(markers: list[str], chance: random.Random) -> Iterator[list[str]]:
    """Somewhat at random, a few at a time: from the oldest, which nodes take first, as from the
    newest, which they have not reached.
    """
    left = list(markers)
    while left:
        yield [left.pop(chance.randrange(-4, 8) % len(left)) for _ in range(min(5, len(left)))]


async def test_a_forged_cancel_hint_stops_nothing(cluster: Cluster) -> None:
    """A signal carries no truth: what nobody asked PostgreSQL for does not happen."""
    node = await cluster.start_node()
    made = await cluster.submit([task("note", "spared", 1.5)])
    await cluster.until_started(["spared"])
    forged = {"jobs": [ids.show("job", made["spared"])]}
    said = await cluster.signaller.signal([node.node_id], "cancel", forged, 10.0)
    assert list(said.answers.values()) == [{"stopped": 0}]
    await cluster.until_ended()
    assert await cluster.states(["spared"]) == {"succeeded": 1}
