"""Queues over HTTP: limits, pause, counts."""

from __future__ import annotations

from tests.api.acting_node import ActingNode
from tests.api.served import Served


async def test_limits_are_set_whole_and_taken_away(api: Served) -> None:
    path = "/v1/queues/mail"
    await api.get(path, 404)
    limits = {"max_jobs": 10, "max_bytes": 1000, "max_running": 2, "rate": 1.5}
    put = await api.call("PUT", path, 200, json=limits)
    assert {name: put[name] for name in limits} == limits
    put = await api.call("PUT", path, 200, json={"max_jobs": None})
    assert [put[name] for name in limits] == [None] * 4


async def test_a_paused_queue_starts_nothing_until_it_is_resumed(
    api: Served, node: ActingNode
) -> None:
    await api.submit(queue="mail")
    paused = await api.post("/v1/queues/mail/pause")
    assert paused["is_paused"]
    assert paused["paused_at"] is not None
    assert paused["counts"]["queued"] == 1
    assert await node.claim() == []
    woken: list[tuple[str, int]] = []
    api.parts.announcer.on_line(lambda line, _at: woken.append(line))
    resumed = await api.post("/v1/queues/mail/resume")
    assert (resumed["is_paused"], resumed["paused_at"]) == (False, None)
    assert ("mail", 1) in woken
    assert len(await node.claim()) == 1
    await api.post("/v1/queues/nowhere/pause", status=404)


async def test_queues_are_listed_by_name_in_pages(api: Served) -> None:
    for name in ("c", "a", "b"):
        await api.submit(queue=name)
    first = await api.get("/v1/queues?limit=2")
    assert [queue["name"] for queue in first["data"]] == ["a", "b"]
    rest = await api.get(f"/v1/queues?limit=2&cursor={first['next_cursor']}")
    assert [queue["name"] for queue in rest["data"]] == ["c"]
    assert rest["next_cursor"] is None
