"""Changes of nodes over HTTP: what is asked, refused, estimated and called back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from windlass import ids
from windlass.engine.cluster.operation_steps import end, end_orphans, next_operation, step
from windlass.model.job.outcome import Succeeded


def path_of(node: ActingNode, verb: str = "") -> str:
    return f"/v1/nodes/{ids.show('node', node.node_id)}{verb}"


async def resize(api: Served, node: ActingNode, status: int = 202, **body: Any) -> Any:
    return await api.call("PATCH", path_of(node), status, json=body)


async def test_a_resize_is_accepted_at_once_and_found_by_its_node(
    api: Served, node: ActingNode
) -> None:
    asked = await resize(api, node, workers=0, drain_timeout="90s", on_timeout="finish")
    assert asked["id"].startswith("op_")
    shown = {"kind": "resize", "phase": "pending", "from_workers": 4, "to_workers": 0}
    assert shown.items() <= asked.items()
    assert (asked["drain_seconds"], asked["on_timeout"]) == (90.0, "finish")
    found = await next_operation(api.database, node.node_id)
    assert found is not None
    assert ids.show("operation", found.id) == asked["id"]
    assert await api.get(f"/v1/operations/{asked['id']}") == asked
    listed = await api.get(f"/v1/operations?node_id={asked['node_id']}")
    assert listed["data"] == [asked]
    assert (await api.get("/v1/operations?phase=draining,pending"))["data"] == [asked]
    assert (await api.get("/v1/operations?phase=done&phase=rolled_back"))["data"] == []
    refused = await api.get("/v1/operations?phase=over", 422)
    assert refused["errors"][0]["pointer"] == "?phase"


async def test_what_a_phase_changes_is_written_with_it(api: Served, node: ActingNode) -> None:
    await resize(api, node, workers=2)
    found = await next_operation(api.database, node.node_id)
    assert found is not None
    assert await step(api.database, found, "pending", "applying", {"in_flight": 1}) == "go_on"
    assert (await api.get(path_of(node)))["workers"] == 2
    # An answer that was lost is asked for again; a step from elsewhere is refused.
    assert await step(api.database, found, "pending", "applying", {}) == "go_on"
    assert await step(api.database, found, "pausing", "draining", {}) == "ended"
    assert await end(api.database, found, "rolled_back", {}, "a reason")
    assert (await api.get(path_of(node)))["workers"] == 4
    assert not await end(api.database, found, "done", {})
    shown = await api.get(f"/v1/operations/{ids.show('operation', found.id)}")
    assert (shown["phase"], shown["reason"]) == ("rolled_back", "a reason")


async def test_a_second_change_of_a_node_is_refused_and_names_the_first(
    api: Served, node: ActingNode
) -> None:
    first = await resize(api, node, workers=2)
    for call in (
        resize(api, node, 409, workers=3),
        api.post(path_of(node, "/pause"), status=409),
        api.call("PATCH", "/v1/cluster", 409, json={"workers": 3}),
    ):
        refused = await call
        assert (refused["code"], refused["operation_id"]) == ("node_busy", first["id"])


async def test_a_change_that_nobody_has_begun_is_called_back_at_once(
    api: Served, node: ActingNode
) -> None:
    first = await resize(api, node, workers=2)
    back = await api.post(f"/v1/operations/{first['id']}/abort")
    assert (back["phase"], back["is_abort_asked"]) == ("rolled_back", True)
    again = await api.post(f"/v1/operations/{first['id']}/abort", status=409)
    assert again["code"] == "not_abortable"
    await resize(api, node, workers=3)


async def test_one_that_has_begun_hears_of_the_abort_at_its_next_step(
    api: Served, node: ActingNode
) -> None:
    asked = await resize(api, node, workers=2)
    found = await next_operation(api.database, node.node_id)
    assert found is not None
    await step(api.database, found, "pending", "pausing", {})
    shown = await api.post(f"/v1/operations/{asked['id']}/abort")
    assert (shown["phase"], shown["is_abort_asked"]) == ("pausing", True)
    assert await step(api.database, found, "pausing", "draining", {}) == "abort"


async def test_a_drain_that_has_begun_is_not_called_back(api: Served, node: ActingNode) -> None:
    asked = await api.post(path_of(node, "/drain"), {"drain_timeout": 7}, 202)
    assert (asked["kind"], asked["drain_seconds"]) == ("drain", 7.0)
    found = await next_operation(api.database, node.node_id)
    assert found is not None
    await step(api.database, found, "pending", "pausing", {})
    refused = await api.post(f"/v1/operations/{asked['id']}/abort", status=409)
    assert "is not called back" in refused["detail"]


async def test_a_paused_node_claims_nothing_until_it_is_resumed(
    api: Served, node: ActingNode
) -> None:
    job = await api.submit()
    await carry_out(api, node, "pause", "pausing")
    shown = await api.get(path_of(node))
    assert shown["is_paused"]
    assert shown["paused_at"] is not None
    assert await node.claim() == []
    why = await api.get(f"/v1/jobs/{job['id']}/why")
    assert "nodes_paused" in [gate["gate"] for gate in why["gates"]]
    await carry_out(api, node, "resume", "resuming")
    assert (await api.get(path_of(node)))["paused_at"] is None
    assert len(await node.claim()) == 1


async def carry_out(api: Served, node: ActingNode, verb: str, phase: Any) -> None:
    await api.post(path_of(node, f"/{verb}"), status=202)
    found = await next_operation(api.database, node.node_id)
    assert found is not None
    await step(api.database, found, "pending", phase, {})
    await end(api.database, found, "done", {})


async def test_a_dry_run_asks_for_nothing_and_says_what_it_would_wait_for(
    api: Served, node: ActingNode
) -> None:
    for _ in range(6):
        await api.submit(kind="wait", input={"seconds": 1})
    taken = await node.claim()
    told = await resize(api, node, 200, workers=1, dry_run=True)
    assert told["would_drain"] == 3, "four slots are busy, one may stay so"
    assert (told["in_flight"], told["estimated_seconds"]) == (6, None)
    await node.settle(taken[0], Succeeded(b"1"))
    told = await resize(api, node, 200, workers=1, dry_run=True)
    assert told["estimated_seconds"] > 0
    told = await resize(api, node, 200, workers=9, dry_run=True)
    assert (told["would_drain"], told["estimated_seconds"]) == (0, 0)
    whole = await api.call("PATCH", "/v1/cluster", 200, json={"workers": 1, "dry_run": True})
    assert [found["node_id"] for found in whole["estimates"]] == [ids.show("node", node.node_id)]
    assert (await api.get("/v1/operations"))["data"] == []


async def test_a_change_of_the_whole_cluster_has_an_operation_for_each_active_node(
    api: Served, node: ActingNode
) -> None:
    other = await ActingNode(database=api.database).join()
    gone = await ActingNode(database=api.database).join()
    await api.database.run("node_set_state", gone.node_id, "left")
    asked = await api.call("PATCH", "/v1/cluster", 202, json={"workers": 6})
    nodes = {ids.show("node", found.node_id) for found in (node, other)}
    assert {operation["node_id"] for operation in asked["operations"]} == nodes
    assert {operation["parent_id"] for operation in asked["operations"]} == {asked["id"]}
    assert await api.get(f"/v1/operations/{asked['id']}") == asked
    found = await next_operation(api.database, node.node_id)
    assert found is not None
    await end(api.database, found, "done", {})
    assert (await api.get(f"/v1/operations/{asked['id']}"))["phase"] == "pending"
    back = await api.post(f"/v1/operations/{asked['id']}/abort")
    assert back["phase"] == "rolled_back"
    phases = {operation["node_id"]: operation["phase"] for operation in back["operations"]}
    assert phases == {
        ids.show("node", node.node_id): "done",
        ids.show("node", other.node_id): "rolled_back",
    }


async def test_a_node_that_is_gone_is_not_changed_and_what_it_was_doing_is_rolled_back(
    api: Served, node: ActingNode
) -> None:
    asked = await resize(api, node, workers=2)
    await api.database.run("node_set_state", node.node_id, "left")
    refused = await resize(api, node, 409, workers=2)
    assert refused["code"] == "node_busy"
    await end_orphans(api.database)
    assert (await api.get(f"/v1/operations/{asked['id']}"))["phase"] == "rolled_back"
    refused = await resize(api, node, 409, workers=2)
    assert refused["code"] == "node_gone"
    assert (await resize(api, node, 409, workers=2, dry_run=True))["code"] == "node_gone"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/workers"),
        ({"workers": -1}, "/workers"),
        ({"workers": 10_001}, "/workers"),
        ({"workers": 1.5}, "/workers"),
        ({"workers": True}, "/workers"),
        ({"workers": 1, "drain_timeout": "soon"}, "/drain_timeout"),
        ({"workers": 1, "drain_timeout": -1}, "/drain_timeout"),
        ({"workers": 1, "on_timeout": "hope"}, "/on_timeout"),
        ({"workers": 1, "dry_run": 1}, "/dry_run"),
        ({"workers": 1, "slots": 1}, "/slots"),
        ({"workers": 1, "a/b~": 1}, "/a~1b~0"),
        ([], ""),
    ],
)
async def test_a_resize_that_makes_no_sense_is_refused_and_says_where(
    door: Served, body: Any, pointer: str
) -> None:
    for path in (f"/v1/nodes/{ids.show('node', ids.uuid7())}", "/v1/cluster"):
        refused = await door.call("PATCH", path, 422, json=body)
        assert [problem["pointer"] for problem in refused["errors"]] == [pointer]


async def test_with_no_node_active_there_is_nobody_to_ask(api: Served) -> None:
    refused = await api.call("PATCH", "/v1/cluster", 409, json={"workers": 3})
    assert (refused["code"], (await api.get("/v1/operations"))["data"]) == ("no_node", [])


async def test_what_is_not_there_is_not_found(door: Served) -> None:
    nobody, nothing = ids.show("node", ids.uuid7()), ids.show("operation", ids.uuid7())
    await door.call("PATCH", f"/v1/nodes/{nobody}", 404, json={"workers": 1})
    for verb in ("pause", "resume", "drain"):
        await door.post(f"/v1/nodes/{nobody}/{verb}", status=404)
    await door.get(f"/v1/operations/{nothing}", 404)
    await door.post(f"/v1/operations/{nothing}/abort", status=404)
    await door.get("/v1/operations/op_1", 422)
