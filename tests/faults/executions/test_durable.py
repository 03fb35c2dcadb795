"""A node is killed in the middle of durable functions: another goes on where they were."""

from __future__ import annotations

import msgspec

from tests.faults.executions.durable_app import relay
from tests.faults.nodes import MORTAL, NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.workflows import publish
from windlass.model.workflow.read import trust_definition

# So much that some are in the middle although whoever looks, or kills, pauses for a second.
RUNNERS, LEGS = 24, 20


async def start_node(cluster: Cluster, **settings: str) -> NodeProcess:
    return await cluster.nodes.start(
        cluster.database.url,
        cluster.redis_url,
        app="tests.faults.executions.durable_app:app",
        settings=settings,
    )


async def test_what_was_kept_is_never_done_again_although_its_node_was_killed(
    cluster: Cluster,
) -> None:
    doomed = await start_node(cluster, **MORTAL)
    await start_node(cluster)
    await publish(cluster.database, trust_definition(relay.definition()), by=None)
    starts = [
        Start(workflow="relay", input={"runner": f"r{n}", "legs": LEGS}) for n in range(RUNNERS)
    ]
    await start_many(cluster.database, starts)

    async def is_in_the_middle() -> bool:
        kept = await cluster.count(
            "FROM windlass.checkpoint c JOIN windlass.job j ON j.id = c.job_id"
            " WHERE j.node_id = $1",
            doomed.node_id,
        )
        return kept > LEGS

    await until(is_in_the_middle, what="the node has kept some steps of functions that it runs")
    await doomed.kill()

    async def have_all_ended() -> bool:
        return await cluster.count("FROM windlass.job_history") == RUNNERS

    await until(have_all_ended, what="all functions have ended")
    rows = await cluster.fetch(
        "SELECT state, attempt, result::text AS result, input::text AS input"
        " FROM windlass.job_history"
    )
    for row in rows:
        runner = msgspec.json.decode(row["input"])["kwargs"]["runner"]
        wanted = [f"{runner}-{n}" for n in range(LEGS)]
        assert (row["state"], msgspec.json.decode(row["result"])) == ("succeeded", wanted)
    lost = sum(row["attempt"] > 1 for row in rows)
    assert lost > 0
    # Of each function that was lost one step may have been under way; nothing else is done twice.
    ends = cluster.witness.by_marker("end")
    assert len(ends) == RUNNERS * LEGS
    twice = {marker for marker, lines in cluster.witness.by_marker("start").items() if lines[1:]}
    assert len(twice) <= lost
    kept = await cluster.fetch("SELECT name FROM windlass.checkpoint WHERE attempt = 1")
    assert twice.isdisjoint({row["name"] for row in kept})
