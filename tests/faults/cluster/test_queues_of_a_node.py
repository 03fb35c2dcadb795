"""Nodes with different apps and different queues share a database, and cost each other nothing."""

from __future__ import annotations

from tests.as_node_role import by_hand
from tests.faults.door import open_door
from tests.faults.job_objects import noop, task
from tests.faults.nodes import APP, NodeProcess
from tests.faults.real_cluster import Cluster
from windlass import ids

OTHER_APP = "tests.faults.jobs.writing_app:app"
NOTES = [f"note-{n}" for n in range(60)]
WRITES = [f"write-{n}" for n in range(60)]


async def start(cluster: Cluster, app: str = APP, **settings: str) -> NodeProcess:
    told = {f"WINDLASS_{name.upper()}": text for name, text in settings.items()}
    return await cluster.nodes.start(
        cluster.database.url, cluster.redis_url, settings=told, app=app
    )


async def make_effects(cluster: Cluster) -> None:
    async with by_hand(cluster.database) as connection:
        await connection.execute(
            "CREATE TABLE public.effect (marker text, attempt int4);"
            "GRANT SELECT, INSERT ON public.effect TO PUBLIC"
        )


async def assert_nothing_was_put_off(cluster: Cluster) -> None:
    rows = await cluster.rows([*NOTES, *WRITES])
    ended = {(row["state"], row["attempt"], row["snoozes"]) for row in rows.values()}
    assert ended == {("succeeded", 1, 0)}


async def test_two_apps_on_one_queue_take_each_their_own(cluster: Cluster) -> None:
    await make_effects(cluster)
    await start(cluster)
    await start(cluster, OTHER_APP)
    mixed = [
        job
        for note, write in zip(NOTES, WRITES, strict=True)
        for job in (task("note", note), task("write_quickly", write, 0))
    ]
    await cluster.submit(mixed)
    await cluster.until_ended()
    await assert_nothing_was_put_off(cluster)


async def test_two_apps_on_two_queues_take_each_their_own(cluster: Cluster) -> None:
    await make_effects(cluster)
    notes = await start(cluster, queues="notes")
    writes = await start(cluster, OTHER_APP, queues="writes")
    await cluster.submit([task("note", marker, queue="notes") for marker in NOTES])
    await cluster.submit([task("write_quickly", marker, 0, queue="writes") for marker in WRITES])
    await cluster.until_ended()
    await assert_nothing_was_put_off(cluster)
    rows = await cluster.rows([*NOTES, *WRITES])
    assert {rows[marker]["node_id"] for marker in NOTES} == {notes.node_id}
    assert {rows[marker]["node_id"] for marker in WRITES} == {writes.node_id}


async def test_a_queue_that_nobody_serves_is_told_and_waits_for_who_does(cluster: Cluster) -> None:
    node = await start(cluster, queues="mail=3,reports")
    async with open_door(cluster, roles="api") as door:
        shown = await door.shown(node)
        assert (shown["queues"], shown["queues_except"]) == (["mail", "reports"], [])
        made = await cluster.submit([noop("lost", queue="mial"), noop("found", queue="mail")])
        await cluster.until_ended(["found"])
        why = await door.call("GET", f"/v1/jobs/{ids.show('job', made['lost'])}/why", 200)
        assert why["summary"] == (
            "no live node serves queue 'mial' (did you mean 'mail'?); nodes serve: mail, reports"
        )
        assert [gate["gate"] for gate in why["gates"]] == ["not_served"]
        assert why["estimated_start"] is None
        rest = await start(cluster, queues_except="mail,reports")
        assert (await door.shown(rest))["queues_except"] == ["mail", "reports"]
        await cluster.until_ended()
    rows = await cluster.rows(["lost", "found"])
    assert rows["lost"]["node_id"] == rest.node_id
    assert rows["found"]["node_id"] == node.node_id


async def test_what_a_node_accepts_for_a_queue_that_it_does_not_serve_is_left(
    cluster: Cluster,
) -> None:
    """It begins at once what it accepts itself; of other queues and tasks it does not."""
    async with open_door(cluster, roles="api,worker", WINDLASS_QUEUES="mail") as door:
        for body in (
            {"kind": "noop", "queue": "reports"},
            {"kind": "python", "queue": "mail", "input": {"task": "write_quickly"}},
        ):
            made = await door.call("POST", "/v1/jobs", 201, body)
            done = await door.call("POST", "/v1/jobs", 201, {"kind": "noop", "queue": "mail"})
            await door.call("GET", f"/v1/jobs/{done['id']}?wait=30s", 200)
            left = await door.call("GET", f"/v1/jobs/{made['id']}", 200)
            assert (left["state"], left["attempt"]) == ("queued", 0)
