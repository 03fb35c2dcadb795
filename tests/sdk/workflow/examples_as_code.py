"""The files of examples/workflows, said in Python: a function for each, named like the file."""

from __future__ import annotations

from typing import Annotated, Any, Final

from examples.shop import draw_label, reserve_goods, total_of
from msgspec import Meta

import windlass
from windlass import Retry, flow

app = windlass.App("examples")

LINES: Final[list[list[Any]]] = [["tea", 2, 4.5], ["mug", 1, 12.0]]
ADDRESSES: Final = [
    *("A. Reader, 1 Long Road", "B. Writer, 2 Short Street", "C. Printer, 3 Square"),
]
COST_CENTRE: Final = {
    "type": "object",
    "properties": {"cost_centre": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}},
    "required": ["cost_centre"],
}
ORDER: Final = {
    "type": "object",
    "additionalProperties": False,
    "required": ["order"],
    "properties": {
        "order": {
            "type": "object",
            "required": ["lines", "address"],
            "properties": {
                "lines": {"type": "array", "minItems": 1},
                "address": {"type": "string"},
            },
        }
    },
}


@app.workflow("approve_expense")
def approval(amount: float = 250, what: str = "a chair") -> Any:
    asked = windlass.approval(f"{amount} for {what}?", form=COST_CENTRE, timeout="48h").named("ask")
    book = flow.transform(
        {
            "amount": amount,
            "cost_centre": asked.out["answer"]["cost_centre"],
            "approved_by": asked.out["by"],
        }
    ).named("book")
    refuse = flow.transform(f"Not approved: {what}.", after=asked.failed).named("refuse")
    return {"booked": book, "refused": refuse}


@app.workflow("only_small")
def fail(total: float = 500) -> None:
    with windlass.when(total <= 100):
        small = flow.noop().named("small")
    flow.fail(f"{total} is more than this shop can take.", after=small.skipped).named("stop")


@app.workflow("reserve_or_order")
def fallback(what: str = "tea", count: int = 11) -> Any:
    reserved = reserve_goods.using(retry=1).step(what, count)
    ordered = flow.transform(
        f"Order {count} {what}: {reserved.error['message']}", after=reserved.failed
    ).named("order_more")
    flow.noop(after=[reserved, ordered], join="any").named("done")
    return {"reserved": reserved, "ordered": ordered}


@app.workflow(inputs=ORDER, vars={"ask_above": 100}, timeout="7d")
def fulfil(order: Any) -> Any:
    """Price, approve, reserve and label an order."""
    price = total_of.step(order["lines"]).named("price", title="Price the order")
    with windlass.switch().named("is_dear") as way:
        with way.case(price.out > flow.var("ask_above")):
            approved = windlass.approval(f"An order of {price.out}", timeout="48h")
            approved.named("approve", title="Risky order")
        with way.default():
            go_on = flow.noop().named("go_on")
    aside = reserve_goods.using(retry=Retry(3, initial="200ms")).map(
        order["lines"],
        each=lambda line: (line[0], line[1]),
        max_parallel=5,
        after=[approved, go_on],
    )
    aside.named("reserve", title="Put the goods aside")
    label = draw_label.using(timeout="30s").step(order["address"], after=aside)
    label.named("label", title="Draw the label")
    return {"total": price, "label": label}


@app.workflow("notify")
def http(url: str, order: dict[str, Any]) -> Any:
    """Tell a receiver about an order."""
    request = flow.http("POST", url, json={"order": order, "execution": flow.execution["id"]})
    retry = Retry(5, initial="1s", factor=2, max="1m")
    told = request.using(retry=retry, timeout="10s").step().named("tell")
    return {"status": told.out["status_code"]}


@app.workflow("label_all")
def map(addresses: list[str] = ADDRESSES) -> Any:  # noqa: A001
    work = draw_label.using(retry=2, timeout="30s")
    labels: Any = work.map(addresses, max_parallel=2, tolerance="10%")
    labels.named("labels")
    count = flow.transform(flow.cel(f"size({labels.out})")).named("count")
    return {"labels": labels, "count": count}


@app.workflow("side_by_side")
def noop() -> None:
    start = flow.noop().named("start")
    three = [
        windlass.sleep("50ms", after=start).named("left"),
        windlass.sleep("50ms", after=start).named("right"),
        windlass.sleep("50ms", after=start).named("third"),
    ]
    flow.noop(after=three, join=2).named("two_are_enough")
    flow.noop(after=three).named("all_of_them")


@app.workflow("total")
def python(lines: list[list[Any]] = LINES) -> Any:
    """What an order costs."""
    return total_of.step(lines).named("sum")


@app.workflow("book_trip")
def saga(
    url: Annotated[str, Meta(description="Where the booking service is.")], is_full: bool = False
) -> None:
    retry = Retry(3, initial="200ms")
    here = flow.execution["id"]
    flight = flow.http("POST", f"{url}/flights", json={"seats": 1}).using(retry=retry).step()
    flight.named("flight").undo(flow.http("DELETE", f"{url}/flights/{here}"))
    hotel = flow.http("POST", f"{url}/hotels", json={"nights": 2}).using(retry=retry)
    booked = hotel.step(after=flight).named("hotel")
    booked.undo(flow.http("DELETE", f"{url}/hotels/{here}"))
    with windlass.when(is_full):
        flow.fail("There is no car left.", after=booked).named("no_car")


@app.workflow("print_invoice")
def serial(customer: str = "reader") -> Any:
    flow.limit(customer)
    drawn = draw_label.step(customer).named("draw")
    printing = flow.work("wait", {"duration": "50ms"}).using(locks="printer")
    printing.step(after=drawn).named("print")
    return drawn


@app.workflow("await_payment")
def signal() -> Any:
    paid = windlass.wait_for("payment", timeout="7d").named("paid")
    receipt = flow.transform({"received": paid.out["amount"]}).named("receipt")
    flow.transform("Nobody paid within a week.", after=paid.failed).named("reminder")
    return receipt


@app.workflow("route")
def switch(weight: float = 3) -> Any:
    with windlass.switch().named("by_weight") as way:
        with way.case(weight > 30):
            freight = flow.transform("a lorry").named("freight")
        with way.case(weight > 2):
            parcel = flow.transform("a van").named("parcel")
        with way.default():
            letter = flow.transform("a bicycle").named("letter")
    flow.noop(after=[freight, parcel, letter]).named("sent")
    return {"freight": freight, "parcel": parcel, "letter": letter}


@app.workflow("summary", vars={"currency": "EUR"})
def transform(lines: Annotated[Any, list] = LINES) -> Any:
    currency = flow.var("currency")
    return flow.transform(
        {
            "what": lines.map(lambda line: line[0]),
            "pieces": lines.filter(lambda line: line[1] > 1).size(),
            "currency": currency,
            "text": f"{lines.size()} lines in {currency}",
        }
    ).named("shape")


@app.workflow("remind")
def wait(pause: str = "1s", whom: str = "reader") -> Any:
    paused = windlass.sleep(pause).named("pause")
    return flow.transform(f"Dear {whom}, you asked to be reminded.", after=paused).named("remind")


@app.workflow("compare_orders")
def workflow(mine: list[Any] = LINES[:1], yours: list[Any] = LINES[1:]) -> Any:
    work = python.using(timeout="1m")
    first, second = work.step(mine).named("mine"), work.step(yours).named("yours")
    dearer = flow.choose(first.out > second.out, "mine", "yours")
    return flow.transform(dearer).named("dearer")
