"""A durable function: ordinary code that survives a crash, sleeps for days, and waits for people.

make up ARGS='--app examples.durable_function:app'
.venv/bin/python -m examples.durable_function     # kill the node meanwhile, and start it again
"""

from __future__ import annotations

import asyncio

import windlass

app = windlass.App("durable")


def charge(card: str, cents: int) -> str:
    return f"charge of {cents} to {card}"


async def send(to: str, text: str) -> None:
    print(f"to {to}: {text}")


@app.durable(retry=windlass.Retry(10))
async def subscribe(who: str, card: str, cents: int) -> list[str]:
    """Each step is done once, however often the function begins again."""
    charges = [await windlass.step(charge, card, cents)]
    await asyncio.gather(
        windlass.step(send, who, "welcome"),
        windlass.step(send, "accounts", f"{who} has joined"),
    )
    await windlass.sleep("2s")  # "30d", if you have the time
    answer = await windlass.wait_for("renew", timeout="7d")
    if answer["renew"]:
        charges.append(await windlass.step(charge, card, cents))
    return charges


def main() -> None:
    execution = subscribe.start("ada@example.org", "4242", 900)
    print("started:", execution.id)
    execution.signal("renew", {"renew": True})  # early: it is kept until the function asks
    for charged in execution.result(timeout=60):
        print("charged:", charged)


if __name__ == "__main__":
    main()
