"""Every workflow in examples/ runs to its end on a real node, and gives what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tests.faults.door import Door, open_door
from tests.faults.jobs.receiver import Receiver, receiver
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.doctor.doctor import doctor

EXAMPLES: Final = Path(__file__).parents[3] / "examples" / "workflows"
LABEL: Final = "+-------------+\n| A. Reader   |\n| 1 Long Road |\n+-------------+"
Execution = dict[str, Any]


class Stage:
    """A node with an API, and somebody whom workflows may call."""

    def __init__(self, door: Door, called: Receiver) -> None:
        self.door, self.called = door, called

    async def publish(self, name: str, text: bytes) -> None:
        url, head = self.door.node.url + "/v1/workflows", {"Content-Type": "application/yaml"}
        async with self.door.session.post(url, data=text, headers=head) as answer:
            assert answer.status == 201, f"{name}: {await answer.text()}"

    async def start(self, workflow: str, **given: Any) -> Execution:
        path = f"/v1/workflows/{workflow}/executions"
        started: Execution = await self.door.call("POST", path, 201, {"input": given})
        return started

    async def ended(self, execution: Execution) -> Execution:
        path = f"/v1/executions/{execution['id']}?wait=60s"
        found: Execution = await self.door.call("GET", path, 200)
        return found

    async def run(self, workflow: str, **given: Any) -> Any:
        """The output of one that succeeds."""
        return await self.succeeds(await self.start(workflow, **given))

    async def succeeds(self, execution: Execution) -> Any:
        found = await self.ended(execution)
        assert found["state"] == "succeeded", found
        return found["output"]

    async def states(self, execution: Execution) -> dict[str, str]:
        graph = await self.door.call("GET", f"/v1/executions/{execution['id']}/graph", 200)
        return {step["id"]: step["state"] for step in graph["steps"]}

    async def decide(self, execution: Execution, verb: str, **body: Any) -> None:
        """Wait until a decision is asked for, and take it."""
        asked: list[dict[str, Any]] = []
        path = f"/v1/approvals?state=open&execution_id={execution['id']}"

        async def is_asked() -> bool:
            asked[:] = (await self.door.call("GET", path, 200))["data"]
            return bool(asked)

        await until(is_asked, what=f"{execution['id']} asks")
        await self.door.call("POST", f"/v1/approvals/{asked[0]['id']}/{verb}", 200, body)

    async def signal(self, execution: Execution, name: str, payload: Any) -> None:
        url = f"{self.door.node.url}/v1/executions/{execution['id']}/signals/{name}"
        async with self.door.session.post(url, json={"payload": payload}) as answer:
            assert answer.status in (200, 201, 202), await answer.text()


async def approval(stage: Stage) -> None:
    yes, no = await stage.start("approve_expense"), await stage.start("approve_expense", what="tea")
    await stage.decide(yes, "approve", answer={"cost_centre": "AB123"})
    await stage.decide(no, "reject", comment="too dear")
    booked = (await stage.succeeds(yes))["booked"]
    assert (booked["amount"], booked["cost_centre"]) == (250, "AB123")
    assert await stage.succeeds(no) == {"booked": None, "refused": "Not approved: tea."}


async def fail(stage: Stage) -> None:
    assert await stage.run("only_small", total=5) is None
    ended = await stage.ended(await stage.start("only_small"))
    assert ended["state"] == "failed"
    assert ended["error"]["message"] == "500 is more than this shop can take."
    assert ended["error"]["step"] == "stop"


async def fallback(stage: Stage) -> None:
    output = await stage.run("reserve_or_order")
    assert output["reserved"] is None
    assert output["ordered"].startswith("Order 11 tea: ")
    output = await stage.run("reserve_or_order", count=2)
    assert output == {"reserved": {"reserved": 2, "left": 8}, "ordered": None}


async def fulfil(stage: Stage) -> None:
    order = {"lines": [["tea", 2, 4.5]], "address": "A. Reader, 1 Long Road"}
    assert await stage.run("fulfil", order=order) == {"total": 9, "label": LABEL}
    dear = await stage.start("fulfil", order={**order, "lines": [["mug", 9, 12.0]]})
    await stage.decide(dear, "approve")
    assert (await stage.succeeds(dear))["total"] == 108


async def http(stage: Stage) -> None:
    output = await stage.run("notify", url=stage.called.url("/orders"), order={"n": 1})
    assert output == {"status": 200}


async def map_(stage: Stage) -> None:
    output = await stage.run("label_all")
    assert output["count"] == 3
    assert output["labels"][0] == LABEL


async def noop(stage: Stage) -> None:
    started = await stage.start("side_by_side")
    assert await stage.succeeds(started) is None
    assert set((await stage.states(started)).values()) == {"succeeded"}


async def python(stage: Stage) -> None:
    assert await stage.run("total") == 21


async def saga(stage: Stage) -> None:
    def calls(execution: Execution) -> list[str]:
        return [d.path for d in stage.called.deliveries if execution["id"] in d.path]

    booked = await stage.start("book_trip", url=stage.called.url(""))
    await stage.succeeds(booked)
    assert calls(booked) == []
    undone = await stage.start("book_trip", url=stage.called.url(""), is_full=True)
    ended = await stage.ended(undone)
    assert ended["state"] == "failed"
    assert ended["error"]["message"] == "There is no car left."
    assert calls(undone) == [f"/hotels/{undone['id']}", f"/flights/{undone['id']}"]


async def serial(stage: Stage) -> None:
    started = [await stage.start("print_invoice") for _ in range(3)]
    ended = [await stage.ended(execution) for execution in started]
    assert {execution["state"] for execution in ended} == {"succeeded"}
    for before, after in pairwise(ended):
        assert before["finished_at"] <= after["started_at"]


async def signal(stage: Stage) -> None:
    started = await stage.start("await_payment")
    await stage.signal(started, "payment", {"amount": 12})
    assert await stage.succeeds(started) == {"received": 12}
    assert (await stage.states(started))["reminder"] == "skipped"


async def switch(stage: Stage) -> None:
    for weight, way in ((50, "freight"), (3, "parcel"), (1, "letter")):
        output = await stage.run("route", weight=weight)
        assert [name for name, value in output.items() if value] == [way]


async def transform(stage: Stage) -> None:
    assert await stage.run("summary") == {
        "what": ["tea", "mug"],
        "pieces": 1,
        "currency": "EUR",
        "text": "2 lines in EUR",
    }


async def wait(stage: Stage) -> None:
    output = await stage.run("remind", pause="100ms")
    assert output == "Dear reader, you asked to be reminded."


async def workflow(stage: Stage) -> None:
    started = await stage.start("compare_orders")
    assert await stage.succeeds(started) == "yours"
    children = (await stage.door.call("GET", "/v1/executions?workflow=total", 200))["data"]
    parents = [child["parent"]["execution_id"] for child in children if child["parent"]]
    assert parents == [started["id"]] * 2


PLAYS: Final[dict[str, Callable[[Stage], Awaitable[None]]]] = {
    "approval": approval,
    "fail": fail,
    "fallback": fallback,
    "fulfil": fulfil,
    "http": http,
    "map": map_,
    "noop": noop,
    "python": python,
    "saga": saga,
    "serial": serial,
    "signal": signal,
    "switch": switch,
    "transform": transform,
    "wait": wait,
    "workflow": workflow,
}


def read_examples() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in EXAMPLES.glob("*.yaml")}


async def test_every_example_runs_to_its_end_and_the_doctor_finds_nothing(cluster: Cluster) -> None:
    texts = read_examples()
    assert texts.keys() == PLAYS.keys(), "every example is played, and nothing else"
    roles, app = "api,worker,leader", "examples.shop:app"
    async with (
        receiver() as called,
        open_door(cluster, roles=roles, app=app) as door,
    ):
        stage = Stage(door, called)
        for name, text in texts.items():
            await stage.publish(name, text)
        await asyncio.gather(*(play(stage) for play in PLAYS.values()))
        report = await doctor(cluster.database)
    assert report.jobs > 50
    assert [f"{found.subject} {found.detail}" for found in report.findings] == []
