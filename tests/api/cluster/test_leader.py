"""Who leads, as the API tells it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served

pytestmark = pytest.mark.usefixtures("patient_probes")


async def test_before_the_first_election_nobody_leads(api: Served) -> None:
    assert await api.get("/v1/leader") == {
        "node_id": None,
        "name": None,
        "term": 0,
        "elected_at": None,
        "lease_until": None,
    }
    assert (await api.get("/health"))["leader"] is None


async def test_the_leader_is_shown_with_its_term_while_its_lease_stands(
    api: Served, node: ActingNode
) -> None:
    await api.database.run("leader_take", node.node_id, 60.0, False)
    shown = await api.get("/v1/leader")
    assert (shown["node_id"], shown["term"]) == (f"node_{node.node_id.hex}", 1)
    assert shown["name"] == "test"
    assert datetime.fromisoformat(shown["elected_at"]) < datetime.now(UTC)
    assert shown["lease_until"] > shown["elected_at"]
    assert (await api.get("/health"))["leader"] == shown["node_id"]

    await api.database.run("leader_resign", node.node_id, 1)
    after = await api.get("/v1/leader")
    assert (after["node_id"], after["name"], after["term"]) == (None, None, 1)
    assert (await api.get("/health"))["leader"] is None


async def test_an_election_is_an_event_of_its_node(api: Served, node: ActingNode) -> None:
    await api.database.run("leader_take", node.node_id, 60.0, False)
    [elected] = (await api.get("/v1/events?type=elected"))["data"]
    assert elected["subject"] == f"node_{node.node_id.hex}"
    assert elected["data"] == {"term": 1}


async def test_a_lease_that_stands_is_taken_only_from_somebody_who_is_gone(
    api: Served, node: ActingNode
) -> None:
    other = await ActingNode(database=api.database).join()
    assert await api.database.run("leader_take", node.node_id, 60.0, False)
    assert await api.database.run("leader_take", other.node_id, 60.0, False) == []
    assert await api.database.run("leader_take", other.node_id, 60.0, True)
    # The older term renews and resigns nothing any more.
    assert await api.database.run("leader_renew", node.node_id, 1, 60.0) == []
    assert await api.database.run("leader_resign", node.node_id, 1) == []
    assert (await api.get("/v1/leader"))["term"] == 2


async def test_nodes_say_what_they_use(api: Served, node: ActingNode) -> None:
    [shown] = (await api.get("/v1/nodes"))["data"]
    assert (shown["memory_bytes"], shown["cpu_percent"]) == (None, None)
    await api.database.run("node_renew", node.node_id, 60.0, 3, 80_000_000, 12.5)
    [shown] = (await api.get("/v1/nodes"))["data"]
    assert (shown["memory_bytes"], shown["cpu_percent"]) == (80_000_000, 12.5)
    assert (shown["in_flight"], shown["beat_age_seconds"] < 10) == (3, True)
