"""A durable function that tells the witness of every step."""

from __future__ import annotations

import asyncio

import windlass
from tests.faults.witness import write

app = windlass.App("durable faults")

LEG_SECONDS = 0.1


async def leg(marker: str) -> str:
    write("start", marker)
    await asyncio.sleep(LEG_SECONDS)
    write("end", marker)
    return marker


@app.durable(retry=3)
async def relay(runner: str, legs: int) -> list[str]:
    return [await windlass.step(leg, f"{runner}-{n}", name=f"{runner}-{n}") for n in range(legs)]
