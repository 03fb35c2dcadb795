"""The leader is killed, frozen, cut off, asked to leave: another leads soon, and work goes on."""

from __future__ import annotations

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.cluster.leaders import candidate, elections, followed_within, leader_after, named
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.cluster.nodes import Tenure, is_current

# A benchmark measures how soon (see benchmarks/figures/failover.py); here any process may pause.
KILLED_SECONDS_MAX, FROZEN_SECONDS_MAX, LEFT_SECONDS_MAX = 8.0, 10.0, 15.0
KILLS = 3
START_SECONDS_MAX = 10.0
CUTS = 5
TASKS = 200


async def test_another_leads_soon_after_each_kill(cluster: Cluster) -> None:
    nodes = [await candidate(cluster) for _ in range(KILLS + 1)]
    led = await leader_after(cluster, 0, within_seconds=START_SECONDS_MAX)
    killed: dict[str, int] = {}  # how many terms there were by then
    for _ in range(KILLS):
        await named(nodes, led).kill()
        killed[led["node_id"].hex] = len(await elections(cluster))
        term = led["term"]
        led, seconds = await followed_within(cluster, term, within_seconds=KILLED_SECONDS_MAX)
        print(f"term {led['term']} after {seconds:.3f} s")
        assert led["term"] > term
        assert named(nodes, led).is_alive
    whose = await each_term_once(cluster)
    assert len(set(whose)) == KILLS + 1
    for node, count in killed.items():
        assert node not in whose[count:], "who was killed never leads again"


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

    # The one that followed goes on leading, unless it paused for too long itself.
    async def has_renewed() -> bool:
        now = await leader_after(cluster, led["term"], within_seconds=FROZEN_SECONDS_MAX)
        return bool(now["lease_until"] > after["lease_until"])

    await until(has_renewed, what="the new leader renews its lease")
    assert not await is_current(
        cluster.database, Tenure(node_id=frozen.node_id, term=led["term"])
    ), "what names the term of the thawed leader is refused"
    whose = await each_term_once(cluster)
    assert whose[led["term"] - 1] == frozen.node_id.hex
    assert whose[after["term"] - 1] == after["node_id"].hex


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
    # More than the other has slots for.
    held = await cluster.submit([task("note_held", f"t{n}") for n in range(16)])

    async def has_work() -> bool:
        return any(line.pid == leaving.pid for line in cluster.witness.lines("start"))

    await until(has_work, what="the leader has work")
    leaving.terminate()
    await followed_within(cluster, led["term"], within_seconds=LEFT_SECONDS_MAX)
    assert leaving.is_alive
    gate(cluster.witness.path).touch()
    assert await leaving.ends() == 0
    await cluster.until_ended()
    assert await cluster.states(held) == {"succeeded": 16}


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
    assert set(await each_term_once(cluster)) == {only.node_id.hex}


async def each_term_once(cluster: Cluster) -> list[str]:
    """Whose each term was. There may be more than the test made: a leader that paused for too long
    steps down.
    """
    terms = await elections(cluster)
    assert [term for term, _ in terms] == list(range(1, len(terms) + 1))
    return [node for _, node in terms]
