"""/v1/shards and /v1/system/refresh."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from tests.engine.execution_rows import job, put
from tests.until import until
from windlass import ids
from windlass.engine.executions.refresh import Refreshed
from windlass.model.workflow.refresh import SHARDS, owner_of, shard_of


async def test_every_shard_has_its_node_and_what_is_to_be_done(
    patient_lane: None, api: Served, node: ActingNode
) -> None:
    other = await ActingNode(database=api.database).join()
    leaving = await ActingNode(database=api.database).join()
    await api.database.run("node_set_state", leaving.node_id, "draining")
    execution_id = ids.uuid7()
    await until(lambda: api.parts.marks.is_up, within_seconds=10)
    await api.parts.marks.leave([execution_id], is_urgent=True)
    shards = (await api.get("/v1/shards"))["data"]
    assert [one["shard"] for one in shards] == list(range(SHARDS))
    for one in shards:
        owner = owner_of(one["shard"], [node.node_id, other.node_id])
        assert owner is not None
        assert one["node_id"] == ids.show("node", owner)
        assert one["marks"] == (one["shard"] == shard_of(execution_id))
        assert one["inflight"] == 0


async def test_without_nodes_nobody_has_a_shard(api: Served) -> None:
    assert {one["node_id"] for one in (await api.get("/v1/shards"))["data"]} == {None}


async def test_what_a_node_has_refreshed_is_told(api: Served) -> None:
    before = await api.get("/v1/system/refresh")
    assert (before["executions"], before["last"], before["oldest_seconds"]) == (0, None, None)
    assert before["interval_seconds"] == 30.0
    minute_ago = datetime.now(UTC) - timedelta(minutes=1)
    await put(api.database, [job("running")], refreshed_at=minute_ago)
    tally = api.parts.tally
    tally.refreshed(400, Refreshed(ended=[ids.uuid7()], gone=2, losses=1), 0.02)
    tally.refreshed(200, Refreshed(), 0.01)
    tally.malformed += 3
    told = await api.get("/v1/system/refresh")
    assert (told["executions"], told["batches"], told["ended"]) == (600, 2, 1)
    assert (told["gone"], told["malformed"], told["fences_lost"]) == (2, 3, 1)
    assert (told["last"]["executions"], told["per_second"]) == (200, 10.0)
    assert told["node_id"] == ids.show("node", api.facts.node_id)
    assert 60 <= told["oldest_seconds"] < 120
