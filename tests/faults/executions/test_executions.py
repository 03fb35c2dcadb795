"""Executions on real nodes: each ends right, whatever its steps are and whoever is killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from tests.faults.app import gate
from tests.faults.door import Door, open_door
from tests.faults.nodes import MORTAL, NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass import ids
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.end import request_execution_cancel
from windlass.store.database import Connection, Record

Execution = dict[str, Any]
ENDED: Final = ("succeeded", "failed", "cancelled")


def note(step: str, marker: str, *needs: Any, seconds: float = 0.0, **fields: Any) -> Execution:
    """A step that tells the witness when it starts and ends."""
    given = {"task": "note", "args": [marker, seconds]}
    return {"id": step, "kind": "python", "input": given, "needs": list(needs), **fields}


async def start_worker(cluster: Cluster, **settings: str) -> NodeProcess:
    return await cluster.nodes.start(
        cluster.database.url, cluster.redis_url, roles="worker,leader", settings=settings
    )


@asynccontextmanager
async def opened(
    cluster: Cluster, workers: int = 2, *, mortal: int = 0
) -> AsyncIterator[tuple[Door, list[NodeProcess]]]:
    """An API that performs nothing, and nodes that do; the first so many of them are mortal."""
    leases = [MORTAL] * mortal + [{}] * (workers - mortal)
    started = [await start_worker(cluster, **lease) for lease in leases]
    async with open_door(cluster) as door:
        yield door, started


async def publish(door: Door, name: str, steps: list[Execution], **fields: Any) -> None:
    await door.call("POST", "/v1/workflows", 201, {"name": name, "steps": steps, **fields})


async def start(door: Door, name: str, **given: Any) -> Execution:
    path = f"/v1/workflows/{name}/executions"
    made: Execution = await door.call("POST", path, 201, {"input": given})
    return made


async def read(door: Door, execution: Execution) -> Execution:
    found: Execution = await door.call("GET", f"/v1/executions/{execution['id']}", 200)
    return found


async def ended(door: Door, execution: Execution) -> Execution:
    """Once it has."""
    found = execution

    async def has_ended() -> bool:
        nonlocal found
        found = await read(door, execution)
        return found["state"] in ENDED

    await until(has_ended, what=f"{execution['id']} ends", within_seconds=90)
    return found


async def stopped_once(cluster: Cluster, marker: str) -> None:
    """A thread that is stopped says so at its next step, which may be after its job's end."""

    async def has_stopped() -> bool:
        return bool(cluster.witness.lines("stop", marker))

    await until(has_stopped, what=f"{marker} is stopped")
    assert len(cluster.witness.lines("stop", marker)) == 1


async def sound(cluster: Cluster) -> None:
    """Nothing is left over, and what is on record adds up."""
    assert await cluster.count("FROM windlass.job") == 0
    assert await cluster.count("FROM windlass.fan") == 0
    report = await doctor(cluster.database)
    assert not report.findings, report.findings


INNER = [
    note("deep", "${inputs.who}-deep"),
    {
        "id": "got",
        "kind": "transform",
        "needs": ["deep"],
        "input": {"value": "${steps.deep.output}"},
    },
]


def every_kind() -> list[Execution]:
    """A workflow with a step of each kind that a node or nobody performs."""
    return [
        note("first", "${inputs.who}-first"),
        {"id": "nap", "kind": "wait", "input": {"duration": "300ms"}, "needs": ["first"]},
        {
            "id": "way",
            "kind": "switch",
            "needs": ["nap"],
            "cases": [{"if": "${steps.first.output != ''}", "go": ["fan"]}],
            "default": ["never"],
        },
        {"id": "never", "kind": "fail", "input": {"message": "nobody comes here"}},
        {
            "id": "fan",
            "kind": "map",
            "items": "${inputs.items}",
            "max_parallel": 4,
            "step": {
                "kind": "python",
                "input": {"task": "note", "args": ["${inputs.who}-${string(item)}", 0.5]},
            },
        },
        {
            "id": "child",
            "kind": "workflow",
            "needs": ["first"],
            "input": {"workflow": "inner", "input": {"who": "${inputs.who}"}},
        },
        {"id": "go", "kind": "signal", "needs": ["first"], "input": {"name": "go"}},
        {"id": "ok", "kind": "approval", "needs": ["go"], "input": {"title": "Go on?"}},
        {
            "id": "shape",
            "kind": "transform",
            "needs": ["fan", "child", "ok"],
            "input": {
                "value": {
                    "fan": "${steps.fan.output}",
                    "child": "${steps.child.output}",
                    "go": "${steps.go.output}",
                    "by": "${steps.ok.output.approved}",
                }
            },
        },
        {"id": "last", "kind": "noop", "needs": ["shape"]},
    ]


@pytest.mark.timeout(300)  # people and nodes are waited for, one after the other
async def test_every_kind_of_step_survives_nodes_that_are_killed(cluster: Cluster) -> None:
    async with opened(cluster, mortal=2) as (door, workers):
        await publish(door, "inner", INNER, output="${steps.got.output}")
        await publish(door, "all", every_kind(), output="${steps.shape.output}")
        items = list(range(12))
        made = {f"w{n}": await start(door, "all", who=f"w{n}", items=items) for n in range(4)}

        async def answer(execution: Execution) -> None:
            """What people do: they signal, and decide when they are asked."""
            await door.call(
                "POST", f"/v1/executions/{execution['id']}/signals/go", 201, {"payload": 7}
            )
            path = f"/v1/approvals?state=open&execution_id={execution['id']}"
            found: list[Execution] = []

            async def is_asked() -> bool:
                found[:] = (await door.call("GET", path, 200))["data"]
                return bool(found)

            await until(is_asked, what="a decision is asked for", within_seconds=90)
            await door.call("POST", f"/v1/approvals/{found[0]['id']}/approve", 200)

        people = [asyncio.create_task(answer(one)) for one in made.values()]
        for count in (6, 24):  # of 56

            async def goes_on(count: int = count) -> bool:
                return len(cluster.witness.lines("end")) >= count

            await until(goes_on, what=f"{count} steps end", within_seconds=60)
            await workers.pop(0).kill()
            workers.append(await start_worker(cluster))
        await asyncio.gather(*people)
        for who, execution in made.items():
            done = await ended(door, execution)
            assert done["state"] == "succeeded", done["error"]
            fan = [f"{who}-{item}" for item in items]
            wanted = {"fan": fan, "child": f"{who}-deep", "go": 7, "by": True}
            assert done["output"] == wanted
            graph = await door.call("GET", f"/v1/executions/{execution['id']}/graph", 200)
            assert {step["id"]: step["state"] for step in graph["steps"]}["never"] == "skipped"
        await sound(cluster)


async def test_a_child_is_cancelled_with_its_parent(cluster: Cluster) -> None:
    async with opened(cluster, workers=1) as (door, _):
        await publish(door, "inner", [note("deep", "deep", seconds=60)])
        child = {"id": "child", "kind": "workflow", "input": {"workflow": "inner"}}
        await publish(door, "outer", [child, note("after", "after", "child")])
        execution = await start(door, "outer")
        await cluster.until_started(["deep"])
        await door.call("POST", f"/v1/executions/{execution['id']}/cancel", 202)
        assert (await ended(door, execution))["state"] == "cancelled"

        async def all_ended() -> bool:
            rows = await cluster.fetch("SELECT DISTINCT state FROM windlass.execution")
            return [row["state"] for row in rows] == ["cancelled"]

        await until(all_ended, what="its child ends too")
        await stopped_once(cluster, "deep")
        assert cluster.witness.lines("start", "after") == []
        await sound(cluster)


async def test_a_cancel_is_heard_although_its_node_died_at_once(cluster: Cluster) -> None:
    async with opened(cluster, workers=1) as (door, _):
        await publish(door, "flow", [note("a", "a", seconds=60), note("b", "b", "a")])
        execution = await start(door, "flow")
        await cluster.until_started(["a"])
        asked = ids.parse("execution", execution["id"])

        async def only_ask(connection: Connection[Record]) -> None:
            await request_execution_cancel(connection, [asked], cause="cancelled", message="")

        await cluster.database.together(only_ask)
        assert (await ended(door, execution))["state"] == "cancelled"
        await stopped_once(cluster, "a")


async def test_what_was_done_is_taken_back_in_reverse_order_whoever_dies(cluster: Cluster) -> None:
    def step(name: str, *needs: str) -> Execution:
        undo = note("x", f"undo-{name}", seconds=0.5)
        undo = {"kind": undo["kind"], "input": undo["input"]}
        return note(name, name, *needs, undo=undo)

    async with opened(cluster, mortal=1) as (door, workers):
        boom = {"id": "boom", "kind": "fail", "needs": ["c"], "input": {"message": "no"}}
        await publish(door, "saga", [step("a"), step("b", "a"), step("c", "b"), boom])
        execution = await start(door, "saga")
        await cluster.until_started(["undo-b"])
        await workers[0].kill()
        done = await ended(door, execution)
        assert (done["state"], done["error"]["step"]) == ("failed", "boom")
        ends = [line.marker for line in cluster.witness.lines("end")]
        assert list(dict.fromkeys(ends)) == ["a", "b", "c", "undo-c", "undo-b", "undo-a"]
        starts = [line.marker for line in cluster.witness.lines("start") if "undo" in line.marker]
        assert list(dict.fromkeys(starts)) == ["undo-c", "undo-b", "undo-a"]
        await sound(cluster)


async def test_a_concurrency_limit_is_never_exceeded_by_two_nodes(cluster: Cluster) -> None:
    limit, count = 2, 16
    async with opened(cluster) as (door, _):
        steps = [
            note("a", "${inputs.who}-a", seconds=0.1),
            note("b", "${inputs.who}-b", "a", seconds=0.1),
        ]
        concurrency = {"key": "one", "limit": limit, "policy": "queue"}
        await publish(door, "turns", steps, concurrency=concurrency)
        starts = [start(door, "turns", who=f"e{n}") for n in range(count)]
        made = await asyncio.gather(*starts)
        for execution in made:
            assert (await ended(door, execution))["state"] == "succeeded"
        running: set[str] = set()
        most = 0
        for line in sorted(cluster.witness.lines(), key=lambda line: line.at):
            who, step = line.marker.split("-")
            if (line.moment, step) == ("start", "a"):
                running.add(who)
                most = max(most, len(running))
            elif (line.moment, step) == ("end", "b"):
                running.discard(who)
        assert most == limit
        await sound(cluster)


async def test_an_execution_out_of_time_fails_and_stops_what_runs(cluster: Cluster) -> None:
    async with opened(cluster, workers=1) as (door, _):
        # Long enough for the step to start before it is over.
        await publish(door, "late", [note("a", "a", seconds=60)], timeout="10s")
        execution = await start(door, "late")
        await cluster.until_started(["a"])
        done = await ended(door, execution)
        assert (done["state"], done["error"]["cause"]) == ("failed", "timeout")
        await stopped_once(cluster, "a")


async def test_a_paused_execution_goes_on_when_it_is_resumed(cluster: Cluster) -> None:
    async with opened(cluster, workers=1) as (door, _):
        held = {"id": "a", "kind": "python", "input": {"task": "note_held", "args": ["a"]}}
        await publish(door, "flow", [held, note("b", "b", "a")])
        execution = await start(door, "flow")
        await cluster.until_started(["a"])
        await door.call("POST", f"/v1/executions/{execution['id']}/pause", 200)
        gate(cluster.witness.path).touch()

        async def is_parked() -> bool:
            return await cluster.count("FROM windlass.job WHERE parked_for = 'paused'") == 1

        await until(is_parked, what="the next step is parked")
        assert cluster.witness.lines("start", "b") == []

        async def is_paused() -> bool:
            return str((await read(door, execution))["state"]) == "paused"

        await until(is_paused, what="it is paused")
        await door.call("POST", f"/v1/executions/{execution['id']}/resume", 200)
        assert (await ended(door, execution))["state"] == "succeeded"


async def test_a_rerun_goes_on_from_the_failed_step(cluster: Cluster) -> None:
    async with opened(cluster, workers=1) as (door, _):
        once = {"kind": "python", "input": {"task": "fail_first", "args": ["b"]}}
        steps = [
            note("a", "a"),
            {"id": "b", **once, "needs": ["a"], "retry": {"max_attempts": 1}},
            note("c", "c", "b"),
        ]
        await publish(door, "flow", steps, output="${steps.c.output}")
        execution = await start(door, "flow")
        assert (await ended(door, execution))["state"] == "failed"
        await door.call("POST", f"/v1/executions/{execution['id']}/rerun", 200)
        done = await ended(door, execution)
        assert (done["state"], done["output"]) == ("succeeded", "c")
        assert len(cluster.witness.lines("start", "a")) == 1
        await sound(cluster)
