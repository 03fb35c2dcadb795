"""The tasks of a small shop: one of each way in which a node can run a Python function.

    windlass up --app examples.shop:app
    windlass job submit python --input '{"task": "total_of", "args": [[["tea", 2, 4.5]]]}' --wait

A task stays a plain function: calling it calls it, and a test needs nothing else.
"""

from __future__ import annotations

import asyncio

import windlass

app = windlass.App("shop")

Line = tuple[str, int, float]  # what, how many, price of one


class OutOfStock(Exception):
    """Raised by a task, this becomes the cause that dead letters are grouped by."""


@app.task
def total_of(lines: list[Line]) -> float:
    """What an order costs. A plain function runs in a thread."""
    return round(sum(count * price for _, count, price in lines), 2)


@app.task(name="reserve")
async def reserve_goods(what: str, count: int, in_stock: int = 10) -> dict[str, int]:
    """Put goods aside. An async function runs on a loop of its own, away from the node's."""
    await asyncio.sleep(0.05)  # stands for asking the warehouse
    if count > in_stock:
        raise OutOfStock(f"{count} {what} were asked for and {in_stock} are there")
    return {"reserved": count, "left": in_stock - count}


@app.task(isolate="process")
def draw_label(address: str) -> str:
    """Draw a label. What may crash or leak runs in a process that can be killed."""
    lines = address.split(", ")
    width = max(len(line) for line in lines)
    edge = f"+{'-' * (width + 2)}+"
    return "\n".join([edge, *(f"| {line:<{width}} |" for line in lines), edge])
