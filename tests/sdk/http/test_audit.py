"""The audit log through the client: listed and exported, by both of its sides."""

from __future__ import annotations

from uuid import uuid4

from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.client import Client
from windlass.sdk.objects.audit import AuditEntry


async def test_what_somebody_did_is_listed_and_exported(async_client: AsyncClient) -> None:
    name = f"audited-{uuid4().hex[:12]}"
    await async_client.queues.put(name, max_running=2)
    await async_client.queues.pause(name)
    listed = [entry async for entry in async_client.audit.list(object=name, limit=10)]
    assert [entry.action for entry in listed] == ["queue.pause", "queue.put"]
    put = listed[1]
    assert isinstance(put, AuditEntry)
    assert (put.actor_kind, put.actor_name, put.object_name) == ("key", "admin", name)
    assert put.after is not None
    assert put.after["max_running"] == 2
    exported = [entry async for entry in async_client.audit.export(object=name)]
    assert exported == listed
    several = async_client.audit.list(action=["queue.put", "queue.resume"], object=name)
    assert [entry.action async for entry in several] == ["queue.put"]


def test_the_blocking_side_does_the_same(client: Client) -> None:
    name = f"audited-{uuid4().hex[:12]}"
    client.queues.put(name, max_running=2)
    assert [entry.object_name for entry in client.audit.list(object=name)] == [name]
    assert [entry.action for entry in client.audit.export(object=name)] == ["queue.put"]


async def test_a_leader_is_in_the_log_by_itself(async_client: AsyncClient) -> None:
    [elected, *_] = [entry async for entry in async_client.audit.list(action="cluster.lead")]
    assert (elected.actor_kind, elected.address, elected.request_id) == ("leader", None, None)
    assert elected.actor_id == elected.node_id
