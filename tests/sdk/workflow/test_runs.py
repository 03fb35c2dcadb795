"""Workflows as code on a real node: blocks are entered, passed by and broken off as they read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

import windlass
from tests.sdk.conftest import Server
from tests.sdk.sample_app import add, fail, shout
from tests.until import until
from windlass import ExecutionHandle, flow


@pytest.fixture
async def app(server: Server) -> AsyncIterator[windlass.App]:
    """An App without tasks of its own: those of the sample are on the node."""
    app = windlass.App("runs", url=server.url, token=server.token)
    yield app
    await app.client.close()


async def ends(app: windlass.App, handle: ExecutionHandle[Any]) -> dict[str, str]:
    """How each step ended, once the execution has."""
    await app.client.executions.wait(handle.id, 60)
    graph = await app.client.executions.graph(handle.id)
    return {step["id"]: step["state"] for step in graph["steps"]}


async def decide(app: windlass.App, handle: ExecutionHandle[Any], verb: str) -> None:
    asked: list[dict[str, Any]] = []

    async def is_asked() -> bool:
        asked[:] = [one async for one in app.client.approvals.list(execution_id=handle.id)]
        return bool(asked)

    await until(is_asked, what="a person is asked")
    await getattr(app.client.approvals, verb)(asked[0]["id"])


async def test_an_order_is_shipped_with_and_without_the_question(app: windlass.App) -> None:
    @app.workflow("runs.order")
    def order(risk: int, words: list[str]) -> Any:
        paid = add.step(risk, 1)
        boxes: Any = shout.map(words, after=paid)
        with windlass.when(paid.out > 10):
            ok = windlass.approval("Risky order", timeout="1h", after=boxes)
        shipped = shout.step(f"{boxes.out} shipped", after=ok).named("ship")
        return {"shipped": shipped, "by": ok.out}

    assert (await app.publish()).workflows == ["runs.order"]
    safe = await order.astart(1, ["a", "b"])
    assert await safe == {"shipped": '["A","B"] SHIPPED', "by": None}
    assert (await ends(app, safe))["approval"] == "skipped"

    risky = await order.astart(risk=10, words=["c"])
    await decide(app, risky, "approve")
    assert (await risky)["shipped"] == '["C"] SHIPPED'

    refused = await order.astart(10, [])
    await decide(app, refused, "reject")
    with pytest.raises(windlass.JobFailed):
        await refused
    assert (await ends(app, refused))["ship"] == "skipped"


async def test_what_fails_in_a_block_holds_up_what_comes_after_it(app: windlass.App) -> None:
    @app.workflow("runs.block")
    def block(is_entered: bool) -> Any:
        with windlass.when(is_entered):
            first = fail.using(max_attempts=1).step("no")
            second = shout.step("second", after=first)
        return shout.step("done", after=second).named("after")

    await app.publish()
    passed = await block.astart(False)
    assert await passed == "DONE"
    entered = await block.astart(True)
    assert await ends(app, entered) == {"fail": "dead", "shout": "skipped", "after": "skipped"}
    assert await entered.astate() == "failed"


async def test_after_a_switch_it_goes_on_whichever_way_was_taken(app: windlass.App) -> None:
    @app.workflow("runs.ways")
    def ways(n: int) -> Any:
        with windlass.switch() as way:
            with way.case(n == 1):
                one = shout.step("one").named("one")
            with way.case(n == 2):
                two = fail.using(max_attempts=1).step("two").named("two")
        return shout.step("on", after=[one, two]).named("on")

    await app.publish()
    for n, on in ((1, "succeeded"), (2, "skipped"), (3, "succeeded")):
        assert (await ends(app, await ways.astart(n)))["on"] == on


async def test_a_signal_and_a_key_and_another_workflow(app: windlass.App) -> None:
    @app.workflow("runs.inner")
    def inner(left: int, right: int = 5) -> Any:
        return add.step(left, right)

    @app.workflow("runs.outer")
    def outer() -> Any:
        windlass.sleep("10ms")
        paid = windlass.wait_for("paid", timeout="1h")
        sums = inner.map(paid.out["amounts"], max_parallel=2)
        return flow.transform({"sums": sums.out, "one": inner.step(1, 2, after=sums).out})

    await app.publish()
    handle = await outer.using(key="runs-outer", tags=["runs"]).astart()
    again = await outer.using(key="runs-outer", tags=["runs"]).astart()
    assert again.id == handle.id
    await app.client.executions.signal(handle.id, "paid", {"amounts": [1, 2]})
    assert await handle == {"sums": [6, 7], "one": 3}
