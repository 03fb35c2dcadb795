"""A node is killed in the middle of its work: G1, G2, G5, G10."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.faults.check import faults_found
from tests.faults.job_objects import Job, mixed, task
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.limits import RESCUE_INTERVAL_SECONDS
from windlass.store.database import Record
from windlass.testing.servers import PrivateServers

JOBS = 2_000
GRAPH_JOBS = 200
# A rescue round that has just looked comes back within this; then it has to be written.
RESCUE_SECONDS_MAX = RESCUE_INTERVAL_SECONDS * 1.1 + 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happened; the tests ask about it."""

    cluster: Cluster
    killed: NodeProcess
    parents: dict[str, list[str]]  # of each job of the graph
    lost: list[Record]  # attempts


def graph(count: int, chance: random.Random) -> list[Job]:
    """Jobs of one batch, each waiting for some of the thirty before it."""
    jobs = []
    for n in range(count):
        near = range(max(0, n - 30), n)
        chosen = sorted(chance.sample(near, k=min(len(near), chance.randint(0, 3))))
        jobs.append(
            task(
                "note",
                f"g{n}",
                round(chance.uniform(0.05, 0.15), 3),
                queue="graph",
                depends_on=[f"#{parent}" for parent in chosen],
            )
        )
    return jobs


@pytest.fixture(scope="module")
async def story(
    servers: PrivateServers, template_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Story]:
    """Two nodes, 2,200 jobs; one node is killed while it holds some of both sorts."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    url = await servers.create_database(template_url)
    folder = tmp_path_factory.mktemp("killed")
    async with open_cluster(url, servers.redis_of(url), folder) as cluster:
        killed = await cluster.start_mortal_node()
        await cluster.start_node()
        connected = graph(GRAPH_JOBS, chance)
        # In one batch: the graph is not over before the others have come.
        await cluster.submit([*connected, *mixed(JOBS, chance)])

        async def is_in_the_middle() -> bool:
            ended = await cluster.count("FROM windlass.job_history")
            held = await cluster.count(
                "FROM windlass.job WHERE node_id = $1 AND queue = 'graph'", killed.node_id
            )
            return ended > chance.randint(100, 600) and held > 0

        await until(is_in_the_middle, what="the node is in the middle of its work")
        await killed.kill()
        await cluster.until_ended()
        yield Story(
            cluster=cluster,
            killed=killed,
            parents={
                job["correlation_id"]: [f"g{parent[1:]}" for parent in job["depends_on"]]
                for job in connected
            },
            lost=await cluster.fetch("SELECT * FROM windlass.attempt WHERE outcome = 'lost'"),
        )


async def test_every_accepted_job_succeeds_once_although_a_node_was_killed(story: Story) -> None:
    assert await story.cluster.states(story.cluster.accepted) == {"succeeded": JOBS + GRAPH_JOBS}
    assert await faults_found(story.cluster.database, story.cluster.accepted.values()) == []


async def test_what_the_killed_node_held_is_recorded_as_lost_and_nothing_else_is(
    story: Story,
) -> None:
    assert story.lost != []
    assert {attempt["node_id"] for attempt in story.lost} == {story.killed.node_id}
    assert await story.cluster.count("FROM windlass.attempt") == len(story.lost)


async def test_lost_jobs_run_again_within_the_lease_and_one_rescue_interval(story: Story) -> None:
    [node] = await story.cluster.fetch(
        "SELECT * FROM windlass.node WHERE id = $1", story.killed.node_id
    )
    assert node["state"] == "lost"
    latest = node["lease_until"] + timedelta(seconds=RESCUE_SECONDS_MAX)
    assert max(attempt["ended_at"] for attempt in story.lost) < latest
    assert min(attempt["ended_at"] for attempt in story.lost) >= node["lease_until"]


async def test_a_task_starts_a_second_time_only_after_its_node_was_killed(story: Story) -> None:
    witness = story.cluster.witness
    lost = {attempt["job_id"] for attempt in story.lost}
    starts, ends = witness.by_marker("start"), witness.by_marker("end")
    for marker, lines in starts.items():
        others = [line for line in lines if line.pid != story.killed.pid]
        if story.cluster.accepted[marker] in lost:
            assert len(others) == 1, marker
            assert len(lines) <= 2, marker
        else:
            assert len(lines) == len(ends[marker]) == 1, marker


async def test_no_job_starts_before_every_parent_has_ended(story: Story) -> None:
    """G5, by the witness's clock: the last end of each parent precedes the first start."""
    starts, ends = story.cluster.witness.by_marker("start"), story.cluster.witness.by_marker("end")
    early = [
        (child, parent)
        for child, parents in story.parents.items()
        for parent in parents
        if ends[parent][-1].at > starts[child][0].at
    ]
    assert sum(map(len, story.parents.values())) > GRAPH_JOBS / 2
    assert early == []
