"""Forget signals that nobody waits for any more; idempotent, for any node at any time."""

from __future__ import annotations

from typing import Final

from windlass.store.database import Database

BATCH: Final = 10_000


async def forget_signals(database: Database) -> int:
    """One batch; returns how many there were."""
    forgotten: int = (await database.run("signal_forget", BATCH))[0]["forgotten"]
    return forgotten
