"""Live resize under load: nothing is lost, doubled or cut off, and the node always answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime

import aiohttp

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.door import Door, open_door
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.clock import monotonic

JOBS = 400
SIZES = (0, 8, 1, 4)
EVERY_SECONDS = 2.0
DRAIN_SECONDS = 5.0


class Pulse:
    """Asks `/health/live` all the time."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.seconds: list[float] = []
        self.failures: list[str] = []

    async def beat(self) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            while True:
                begun = monotonic()
                try:
                    async with session.get(f"{self._door.node.url}/health/live") as answer:
                        assert answer.status == 200
                except (aiohttp.ClientError, TimeoutError, AssertionError) as trouble:
                    self.failures.append(repr(trouble))
                self.seconds.append(monotonic() - begun)
                await asyncio.sleep(0.01)


async def test_resizing_8_0_8_1_4_every_two_seconds_under_load_cuts_nothing_off(
    cluster: Cluster,
) -> None:
    async with open_door(cluster, roles="api,worker", workers=8) as door:
        pulse = Pulse(door)
        beating = asyncio.create_task(pulse.beat())
        await cluster.submit([task("note", f"j{n}", 0.05 + n % 7 * 0.05) for n in range(JOBS)])
        ended = []
        for size in SIZES:
            next_at = monotonic() + EVERY_SECONDS
            asked = await door.resize(door.node_id, size, drain_timeout=DRAIN_SECONDS)
            ended.append(await door.until_ended(asked))
            await asyncio.sleep(max(0.0, next_at - monotonic()))
        left = await cluster.count("FROM windlass.job")
        await door.until_ended(await door.resize(door.node_id, 16))
        await cluster.until_ended()
        beating.cancel()

        assert left > 0, "it was under load until the last resize"
        assert [operation["phase"] for operation in ended] == ["done"] * len(SIZES)
        assert all(lasted(operation) < DRAIN_SECONDS + 1.0 for operation in ended)
        assert (await door.call("GET", "/health", 200))["workers"] == 16
        assert pulse.failures == []
        assert sorted(pulse.seconds)[int(len(pulse.seconds) * 0.99)] < 1.0
    starts, ends = cluster.witness.by_marker("start"), cluster.witness.by_marker("end")
    assert Counter(len(lines) for lines in starts.values()) == {1: JOBS}
    assert Counter(len(lines) for lines in ends.values()) == {1: JOBS}
    assert await cluster.count("FROM windlass.attempt") == 0, "no attempt was aborted"
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_what_waits_for_a_slot_begins_when_the_node_grows(cluster: Cluster) -> None:
    async with open_door(cluster, roles="api,worker", workers=1) as door:
        await cluster.submit([task("note_held", "long"), task("note", "ahead")])

        async def is_claimed() -> bool:
            return await cluster.count("FROM windlass.job WHERE state = 'running'") == 2

        await until(is_claimed, what="one runs and one waits for its slot")
        await cluster.until_started(["long"])
        await door.until_ended(await door.resize(door.node_id, 2))
        await cluster.until_ended(["ahead"])
        assert "long" not in cluster.witness.by_marker("end")
        gate(cluster.witness.path).touch()
        await cluster.until_ended()


async def test_a_smaller_node_runs_no_more_at_once_than_its_new_size(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=6)
        await cluster.submit([task("note", f"a{n}", 0.3) for n in range(200)])
        await cluster.until_started([f"a{n}" for n in range(6)])
        done = await door.until_ended(await door.resize(node.node_id, 2))
        assert done["phase"] == "done"
        applied_at = monotonic()
        inline = await door.until_ended(await door.resize(node.node_id, 0))
        assert inline["phase"] == "done"
        inline_at = monotonic()
        await until(lambda: started_since(cluster, inline_at, 4), what="it runs inline")
        await door.until_ended(await door.resize(node.node_id, 20))
        await cluster.until_ended()
    assert most_at_once(cluster, applied_at, inline_at) <= 2
    assert most_at_once(cluster, inline_at, inline_at + 0.5) <= 1


async def test_growing_takes_effect_at_once(cluster: Cluster) -> None:
    async with open_door(cluster, roles="api,worker", workers=1) as door:
        await cluster.submit([task("note", f"b{n}", 0.3) for n in range(40)])
        took = []
        for size in (2, 3, 4, 5, 6):
            done = await door.until_ended(await door.resize(door.node_id, size))
            assert done["phase"] == "done"
            took.append(lasted(done))
        # Whatever else this machine does can only make it longer.
        assert min(took) < 0.25, took
        await cluster.until_ended()


async def test_time_is_up_and_what_still_runs_is_handed_back_or_ends_late(
    cluster: Cluster,
) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=4)
        long = await cluster.submit([task("note_held", f"l{n}") for n in range(4)])
        await cluster.until_started(long)
        asked = await door.resize(node.node_id, 2, drain_timeout="500ms", on_timeout="finish")
        done = await door.until_ended(asked)  # none of the jobs has
        assert done["phase"] == "done"
        assert done["progress"] == {"in_flight": 4, "handed_back": 0}
        assert lasted(done) >= 0.5
        assert await cluster.count("FROM windlass.attempt") == 0

        asked = await door.resize(node.node_id, 1, drain_timeout="500ms")
        done = await door.until_ended(asked)
        assert done["phase"] == "done"
        assert done["progress"] == {"in_flight": 1, "handed_back": 3}
        assert lasted(done) >= 0.5

        async def are_settled() -> bool:
            return await cluster.count("FROM windlass.attempt WHERE outcome = 'snoozed'") == 3

        await until(are_settled, what="three attempts are handed back")
        rows = await cluster.fetch("SELECT * FROM windlass.job ORDER BY started_at, attempt")
        # No try is spent, and the fence is raised by whoever claims it next.
        assert sum(row["snoozes"] for row in rows) == 3
        assert {row["attempt"] - row["snoozes"] for row in rows} <= {0, 1}
        await cluster.start_node(workers=8)
        gate(cluster.witness.path).touch()
        await cluster.until_ended()
    assert await cluster.states(long) == {"succeeded": 4}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_an_abort_brings_the_old_size_back_and_a_second_resize_is_refused(
    cluster: Cluster,
) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=3)
        await cluster.submit([task("note_held", f"c{n}") for n in range(3)])
        await cluster.until_started(["c0", "c1", "c2"])
        first = await door.until_phase(await door.resize(node.node_id, 1), "draining")
        path = f"/v1/nodes/{first['node_id']}"
        refused = await door.call("PATCH", path, 409, {"workers": 5})
        assert (refused["code"], refused["operation_id"]) == ("node_busy", first["id"])
        assert first["id"] in refused["detail"]

        await cluster.submit([task("note", "after", 0.0)])
        await door.call("POST", f"/v1/operations/{first['id']}/abort", 200)
        back = await door.until_ended(first)
        assert (back["phase"], back["reason"]) == ("rolled_back", "aborted")
        assert (await door.call("GET", path, 200))["workers"] == 3
        await door.call("POST", f"/v1/operations/{first['id']}/abort", 409)
        gate(cluster.witness.path).touch()
        await cluster.until_ended()
        # It claims again, as many at once as before: none of these ends before all have begun.
        gate(cluster.witness.path).unlink()
        again = await cluster.submit([task("note_held", f"d{n}") for n in range(3)])
        await cluster.until_started(again)
        gate(cluster.witness.path).touch()
        await cluster.until_ended()
    assert await cluster.count("FROM windlass.attempt") == 0


async def test_a_signal_during_a_resize_rolls_it_back_and_drains_the_node(
    cluster: Cluster,
) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=2)
        await cluster.submit([task("note_held", "e0"), task("note_held", "e1")])
        await cluster.until_started(["e0", "e1"])
        resize = await door.until_phase(await door.resize(node.node_id, 1), "draining")
        node.terminate()
        back = await door.until_ended(resize)
        assert (back["phase"], back["reason"]) == ("rolled_back", "the node was told to leave")
        gate(cluster.witness.path).touch()
        assert await node.ends() == 0
    assert await cluster.states(["e0", "e1"]) == {"succeeded": 2}
    assert await cluster.count("FROM windlass.attempt") == 0


def lasted(operation: dict[str, str]) -> float:
    begun, ended = (datetime.fromisoformat(operation[at]) for at in ("created_at", "ended_at"))
    return (ended - begun).total_seconds()


async def started_since(cluster: Cluster, since: float, count: int) -> bool:
    return sum(line.at > since for line in cluster.witness.lines("start")) >= count


def most_at_once(cluster: Cluster, since: float, until_at: float) -> int:
    """Of the tasks that began within this time, how many ran together."""
    ends = {line.marker: line.at for line in cluster.witness.lines("end")}
    began = [
        (line.at, ends[line.marker])
        for line in cluster.witness.lines("start")
        if since < line.at < until_at
    ]
    return max((sum(a <= at < b for a, b in began) for at, _ in began), default=0)
