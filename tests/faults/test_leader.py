"""The leader is killed, frozen, cut off, asked to leave: another leads soon, and work goes on."""

from __future__ import annotations

import re

from tests.faults.check import faults_found
from tests.faults.cluster import Cluster
from tests.faults.jobs import task
from tests.faults.leaders import candidate, elections, followed_within, leader_after, named
from tests.faults.until import until

KILLED_SECONDS_MAX, FROZEN_SECONDS_MAX, LEFT_SECONDS_MAX = 2.0, 5.0, 1.0
KILLS = 3
START_SECONDS_MAX = 10.0
CUTS = 5
TASKS = 200


async def test_another_leads_within_two_seconds_of_each_kill(cluster: Cluster) -> None:
    nodes = [await candidate(cluster) for _ in range(KILLS + 1)]
    led = await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    for _ in range(KILLS):
        await named(nodes, led).kill()
        term = led["term"]
        led, seconds = await followed_within(cluster, term, within_seconds=KILLED_SECONDS_MAX)
        print(f"term {led['term']} after {seconds:.3f} s")
        assert led["term"] == term + 1
        assert named(nodes, led).is_alive
    terms = await elections(cluster)
    assert [term for term, _ in terms] == list(range(1, KILLS + 2))
    assert len({node for _, node in terms}) == KILLS + 1


async def test_a_frozen_leader_is_followed_and_powerless_when_it_thaws(cluster: Cluster) -> None:
    nodes = [await candidate(cluster) for _ in range(3)]
    led = await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    frozen = named(nodes, led)
    await frozen.freeze()
    after, seconds = await followed_within(cluster, led["term"], within_seconds=FROZEN_SECONDS_MAX)
    print(f"term {after['term']} after {seconds:.3f} s")
    assert named(nodes, after) is not frozen

    frozen.thaw()

    async def has_stepped_down() -> bool:
        return "leadership_lost" in frozen.log

    await until(has_stepped_down, what="the thawed leader steps down")

    # The one that followed goes on leading.
    async def has_renewed() -> bool:
        now = await leader_after(cluster, led["term"], within_seconds=1)
        return bool(now["lease_until"] > after["lease_until"])

    await until(has_renewed, what="the new leader renews its lease")
    assert [term for term, _ in await elections(cluster)] == [led["term"], after["term"]]
    assert len(re.findall("leader_elected", frozen.log)) == 1


async def test_no_execution_stops_when_leaders_come_and_go(cluster: Cluster) -> None:
    nodes = [await candidate(cluster) for _ in range(2)]
    led = await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    accepted = await cluster.submit([task("note", f"t{n}", 0.1) for n in range(TASKS)])
    for _ in range(CUTS):
        await cluster.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'windlass leadership' AND datname = current_database()"
        )
        led = await leader_after(cluster, led["term"], within_seconds=FROZEN_SECONDS_MAX)
    await cluster.until_ended()

    rows = await cluster.rows(accepted)
    assert {(row["state"], row["attempt"]) for row in rows.values()} == {("succeeded", 1)}
    assert {row["node_id"] for row in rows.values()} == {node.node_id for node in nodes}
    assert len(await elections(cluster)) > CUTS
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_a_leader_that_is_asked_to_leave_hands_over_before_its_work_is_done(
    cluster: Cluster,
) -> None:
    nodes = [await candidate(cluster) for _ in range(2)]
    led = await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    leaving = named(nodes, led)
    held = await cluster.submit([task("note", f"t{n}", 3.0) for n in range(8)])
    await cluster.until_started(held)
    leaving.terminate()
    await followed_within(cluster, led["term"], within_seconds=LEFT_SECONDS_MAX)
    assert leaving.is_alive
    assert await leaving.ends() == 0
    await cluster.until_ended()
    assert await cluster.states(held) == {"succeeded": 8}


async def test_a_node_without_the_role_never_leads(cluster: Cluster) -> None:
    await cluster.start_node()
    only = await candidate(cluster)
    led = await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    assert named([only], led) is only
    await only.kill()

    async def is_led_by_nobody() -> bool:
        rows = await cluster.database.read("leader_read")
        return rows[0]["node_id"] is None

    await until(is_led_by_nobody, what="the lease of the only candidate lapses")
    assert [term for term, _ in await elections(cluster)] == [1]
