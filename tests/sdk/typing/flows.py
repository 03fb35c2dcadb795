"""A user's workflows, durable functions and schedules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, assert_type

import windlass
from tests.sdk.typing.tasks import Order, app, charge, draw, send_mail


@app.workflow("fulfil")
def fulfil(order: dict[str, Any]) -> Any:
    paid = charge.step(order)
    boxes = draw.map(order["items"], after=paid)
    with windlass.when(paid.out["risk"] > 0.8):
        ok = windlass.approval("Risky order", timeout="48h", after=boxes)
    windlass.sleep("10m", after=boxes)
    told = windlass.wait_for("paid", timeout="1d", after=paid)
    return send_mail.using(queue="late").step(boxes.out, after=[ok, told]).out


@app.durable
async def keep_going(order: Order, tries: int = 1) -> str:
    assert_type(await windlass.step(charge, order), Decimal)
    assert_type(await windlass.step(send_mail, "a@b.c"), str)
    await windlass.sleep("3d")
    await windlass.wait_for("paid", timeout="1h")
    return "done"


@app.cron("0 8 * * 1-5", timezone="Europe/Berlin")
@app.task
async def digest() -> int:
    return 1


@app.every("10m", name="often")
def sweep() -> None: ...


async def use() -> None:
    assert_type(await digest(), int)
    assert_type(digest.enqueue().result(), int)
    assert_type(sweep.enqueue(), windlass.Handle[None])
    assert_type(fulfil.start({"items": []}), windlass.ExecutionHandle[Any])
    execution = await keep_going.astart(Order(1, Decimal(2)), tries=3)
    assert_type(execution, windlass.ExecutionHandle[str])
    assert_type(await execution, str)
    await execution.asignal("paid", {"by": "card"})
    await app.publish()
    app.publish_now()
