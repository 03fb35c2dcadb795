"""What the first digits of an id can mean: among unfinished jobs and finished ones, and nodes."""

from __future__ import annotations

from typing import Any

from tests.api.acting_node import ActingNode
from tests.api.executions.test_approvals import asked
from tests.api.served import Served
from tests.engine.hands import sql
from windlass.limits import ID_MATCHES_MAX


async def matches(api: Served, text: str, nouns: str = "job") -> list[dict[str, Any]]:
    found = await api.get(f"/v1/ids/{text}?noun={nouns}")
    return list(found["matches"])


async def test_the_beginning_of_an_id_means_the_job_whether_it_waits_or_has_ended(
    api: Served,
) -> None:
    ended, waits = await api.submit(), await api.submit(delay="1h")
    await api.post(f"/v1/jobs/{ended['id']}/cancel")
    for job, state in ((ended, "cancelled"), (waits, "queued")):
        [found] = await matches(api, job["id"][:30])
        assert (found["id"], found["noun"], found["name"]) == (job["id"], "job", "noop")
        kept = await api.get(f"/v1/jobs/{job['id']}")
        assert (found["state"], found["created_at"]) == (state, kept["created_at"])
        # Its prefix need not be said.
        assert await matches(api, job["id"][4:30]) == [found]


async def test_what_begins_alike_is_listed_newest_first_and_no_more_than_can_be_read(
    api: Served,
) -> None:
    made = [await api.submit(delay="1h") for _ in range(ID_MATCHES_MAX + 2)]
    found = await api.get("/v1/ids/0?noun=job")
    assert [one["id"] for one in found["matches"]] == [
        job["id"] for job in reversed(made[-ID_MATCHES_MAX:])
    ]
    assert found["has_more"]
    assert not (await api.get(f"/v1/ids/{made[0]['id']}"))["has_more"]


async def test_a_whole_id_means_one_thing_of_all_there_are(api: Served) -> None:
    job = await api.submit()
    [found] = (await api.get(f"/v1/ids/{job['id']}"))["matches"]
    assert found["id"] == job["id"]
    assert await matches(api, job["id"], "execution&noun=approval") == []


async def test_what_is_no_beginning_of_an_id_means_nothing(api: Served) -> None:
    for text in ("job_", "hello", "job_g", "0" * 33, "%F0%9F%8E%89", "exe_0"):
        assert await matches(api, text) == []
    await api.get("/v1/ids/01?noun=cat", status=422)
    await api.get(f"/v1/ids/{'0' * 200}", status=422)


async def test_a_node_is_found_by_its_name_and_a_dead_one_does_not_shadow_it(
    api: Served, node: ActingNode
) -> None:
    node_id = f"node_{node.node_id.hex}"
    [listed] = (await api.get("/v1/nodes"))["data"]
    dead = await ActingNode(database=api.database).join()
    await sql(
        api.database,
        "UPDATE windlass.node SET state = 'lost', name = (SELECT name FROM windlass.node "
        f"WHERE id = '{node.node_id}') WHERE id = '{dead.node_id}'",
    )
    for text in (listed["name"], node_id, node_id[5:20]):
        [found] = await matches(api, text, "node")
        assert (found["id"], found["name"], found["state"]) == (node_id, listed["name"], "active")
    # A dead one is found where no living one is meant, and two living ones are both named.
    [found] = await matches(api, dead.node_id.hex, "node")
    assert found["state"] == "lost"
    await sql(api.database, "UPDATE windlass.node SET state = 'active'")
    assert len(await matches(api, listed["name"], "node")) == 2


async def test_executions_operations_and_decisions_are_found_by_theirs(
    api: Served, node: ActingNode
) -> None:
    execution, approval = await asked(api)
    operation = await api.post(f"/v1/nodes/node_{node.node_id.hex}/pause", status=202)
    for one, name, state in (
        (execution, execution["workflow"], execution["state"]),
        (approval, "May I?", "open"),
        (operation, "pause", "pending"),
    ):
        [found] = (await api.get(f"/v1/ids/{one['id'][:34]}"))["matches"]
        assert (found["id"], found["name"], found["state"]) == (one["id"], name, state)


async def test_a_change_of_all_nodes_is_found_although_it_is_only_its_parts(
    api: Served, node: ActingNode
) -> None:
    change = await api.call("PATCH", "/v1/cluster", 202, json={"workers": 2})
    [found] = await matches(api, change["id"][:30], "operation")
    assert (found["id"], found["name"], found["state"]) == (change["id"], "resize", None)
