"""A job's past: its events, the job as it was at an instant, and why it is where it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from tests.engine.hands import lapse
from windlass import ids
from windlass.engine.jobs.claim import release
from windlass.engine.jobs.history import database_now
from windlass.engine.jobs.rescue import recover
from windlass.model.job.outcome import Failed, Snoozed

# What no event tells, because it is only about the present.
COMPARED = (
    "state",
    "attempt",
    "run_at",
    "started_at",
    "finished_at",
    "node_id",
    "error",
    "outcome",
)


class Lived:
    """A job, and what was seen of it at instants of its life."""

    def __init__(self, api: Served, job_id: str) -> None:
        self.api, self.id = api, job_id
        self.seen: list[tuple[str, dict[str, Any]]] = []

    async def look(self) -> None:
        job = await self.api.get(f"/v1/jobs/{self.id}")
        at = (await database_now(self.api.database)).isoformat().replace("+00:00", "Z")
        self.seen.append((at, {name: job[name] for name in COMPARED}))

    async def compare(self) -> None:
        for at, was in self.seen:
            then = await self.api.get(f"/v1/jobs/{self.id}?at={at}")
            assert {name: then[name] for name in COMPARED} == was, at


async def test_a_job_is_shown_as_it_was_at_every_instant_of_a_long_life(
    api: Served, node: ActingNode
) -> None:
    parent = await api.submit(queue="parents")
    retry = {"max_attempts": 5, "initial": 0, "jitter": False}
    made = await api.submit(depends_on=[parent["id"]], retry=retry)
    lived = Lived(api, made["id"])
    job_id = ids.parse("job", made["id"])

    async def released() -> None:
        await release(api.database, await node.claim())

    async def died() -> None:
        lost = await ActingNode(database=api.database).join()
        assert len(await lost.claim()) == 1
        await lived.look()
        await lapse(api.database, lost.node_id)
        await _until_rescued(api, job_id)

    steps: list[Callable[[], Awaitable[Any]]] = [
        node.run,  # the parent ends, the job is unblocked
        released,
        lambda: node.run(Failed("x", "first")),
        lambda: node.run(Snoozed(3600)),
        lambda: api.post(f"/v1/jobs/{made['id']}/promote"),
        died,
        lambda: node.bury("y", "second"),
        lambda: api.post(f"/v1/jobs/{made['id']}/retry"),
        node.run,
    ]
    await lived.look()
    for step in steps:
        await step()
        await lived.look()
    await lived.compare()
    types = [e["type"] for e in (await api.get(f"/v1/jobs/{made['id']}/events"))["data"]]
    assert types == [
        *("created", "unblocked", "started", "released", "started", "retried", "started"),
        *("snoozed", "promoted", "started", "rescued", "started", "finished", "replayed"),
        *("started", "finished"),
    ]
    await api.get(f"/v1/jobs/{made['id']}?at=2020-01-01T00:00:00Z", 404)


async def _until_rescued(api: Served, job_id: UUID) -> None:
    while True:
        done = await recover(api.database)
        if job_id in {row["id"] for row in done.requeued}:
            return


async def test_events_of_a_job_have_ids_that_stay_and_sort(api: Served, node: ActingNode) -> None:
    made = await api.submit()
    path = f"/v1/jobs/{made['id']}/events"
    await node.bury()
    before = (await api.get(path))["data"]
    assert [event["type"] for event in before] == ["created", "started", "finished"]
    await api.post(f"/v1/jobs/{made['id']}/retry")
    # What had been columns of the finished job are rows now, under the same ids.
    after = (await api.get(path))["data"]
    assert [event["id"] for event in after[:3]] == [event["id"] for event in before]
    assert [event["data"] for event in after[1:3]] == [event["data"] for event in before[1:]]
    assert [event["id"] for event in after] == sorted(event["id"] for event in after)


async def why(api: Served, job_id: str) -> tuple[list[str], dict[str, Any]]:
    found = await api.get(f"/v1/jobs/{job_id}/why")
    return [gate["gate"] for gate in found["gates"]], found


async def test_every_gate_that_holds_a_job_back_is_told(api: Served) -> None:
    first = await api.submit()
    assert (await why(api, first["id"]))[0] == ["no_worker"]
    node = await ActingNode(database=api.database).join(workers=1)
    gates, found = await why(api, first["id"])
    assert gates == []
    assert found["estimated_start"] is not None

    behind = await api.submit()
    assert (await why(api, behind["id"]))[0] == ["behind"]
    later = await api.submit(delay="1h")
    gates, found = await why(api, later["id"])
    assert gates[0] == "not_due"
    assert found["gates"][0]["until"] == (await api.get(f"/v1/jobs/{later['id']}"))["run_at"]
    child = await api.submit(depends_on=[first["id"]])
    gates, found = await why(api, child["id"])
    assert gates[0] == "blocked"
    assert first["id"] in found["gates"][0]["reason"]
    assert found["estimated_start"] is None

    await api.post("/v1/queues/default/pause")
    gates, found = await why(api, first["id"])
    assert gates == ["paused"]
    assert found["gates"][0]["since"] is not None
    await api.post("/v1/queues/default/resume")

    [attempt] = await node.claim(1)
    gates, found = await why(api, first["id"])
    assert gates == ["running"]
    assert f"node_{node.node_id.hex}" in found["gates"][0]["reason"]
    gates, found = await why(api, behind["id"])
    assert gates == ["slots"]
    assert "1 of queue 'default'" in found["gates"][0]["reason"]
    await api.submit(queue="urgent", priority="critical")
    gates, found = await why(api, behind["id"])
    assert gates == ["slots", "behind"]
    assert "1 of queue 'urgent'" in found["gates"][1]["reason"]
    await api.call("PUT", "/v1/queues/default", 200, json={"max_running": 1, "rate": 0.001})
    gates, found = await why(api, behind["id"])
    assert gates == ["max_running", "slots", "behind"]
    assert first["id"] in found["gates"][0]["reason"]
    await api.post(f"/v1/jobs/{first['id']}/cancel", status=202)
    assert (await why(api, first["id"]))[0] == ["running", "cancel_requested"]
    await node.settle(attempt, Failed("x", "y"))
    gates, found = await why(api, first["id"])
    assert gates == ["ended"]
    assert "cancelled" in found["summary"]


async def test_a_rest_before_a_retry_names_the_last_error(api: Served, node: ActingNode) -> None:
    made = await api.submit(retry={"initial": "1h", "max": "1h"})
    await node.run(Failed("http 503", "the receiver is down"))
    gates, found = await why(api, made["id"])
    assert gates == ["retry"]
    assert "the receiver is down" in found["gates"][0]["reason"]
    assert found["gates"][0]["until"] == found["estimated_start"]
