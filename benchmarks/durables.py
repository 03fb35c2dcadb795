"""A durable function of ten steps that do nothing (`--app benchmarks.durables:app`)."""

from __future__ import annotations

import windlass

app = windlass.App("benchmarks of durable functions")

STEPS = 10


async def give(number: int) -> int:
    return number


@app.durable
async def ten() -> int:
    return sum([await windlass.step(give, number) for number in range(STEPS)])
