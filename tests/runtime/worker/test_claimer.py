"""How often a node looks at the lines."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from tests.until import until
from windlass.clock import monotonic
from windlass.limits import PEEK_REST_FACTOR
from windlass.runtime.worker.claimer import Claimer
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

STALL_SECONDS = 1.5
QUICK_SECONDS = 0.3


async def test_one_look_that_stalled_is_no_reason_to_rest_for_long(database: Database) -> None:
    claimer = Claimer(database, Metrics(), uuid4())
    begun = monotonic() - 2 * QUICK_SECONDS
    while monotonic() - begun > QUICK_SECONDS:  # the machine may pause, too
        begun = monotonic()
        await claimer.peek()
    async with database.side(readonly=False) as holder, holder.transaction():
        await holder.execute("LOCK TABLE windlass.queue")
        begun = monotonic()
        looking = asyncio.create_task(claimer.peek())
        await asyncio.sleep(STALL_SECONDS)
    await looking
    assert monotonic() - begun >= STALL_SECONDS

    async def should_look() -> bool:
        return claimer.should_peek

    patience = PEEK_REST_FACTOR * STALL_SECONDS / 2
    await until(should_look, what="it looks again", within_seconds=patience)
