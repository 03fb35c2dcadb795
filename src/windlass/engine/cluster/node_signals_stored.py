"""Signals between nodes in PostgreSQL, from the target's side: pending, acknowledged, forgotten.

The way that is left when Redis does not bring a signal about. All of it may be repeated; forgetting
those that nobody waits for any more is for any node at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

import msgspec

from windlass import ids
from windlass.limits import SIGNALS_READ_MAX
from windlass.model.cluster.node_signal import Answer, Signal
from windlass.model.json.storable import harmless_json
from windlass.store.database import Database

BATCH: Final = 10_000


async def pending_signals(database: Database, node_id: UUID) -> list[Signal]:
    rows = await database.run("signal_pending", node_id, SIGNALS_READ_MAX)
    return [
        Signal(
            id=ids.show("signal", row["id"]),
            name=row["name"],
            payload=msgspec.json.decode(row["payload"]),
            sender="",  # nobody waits in Redis: the sender looks here
        )
        for row in rows
    ]


async def acknowledge_signals(
    database: Database, node_id: UUID, answers: Mapping[str, Answer]
) -> None:
    if answers:
        await database.run(
            "signal_ack_many",
            node_id,
            [ids.parse("signal", signal_id) for signal_id in answers],
            [harmless_json(answer) for answer in answers.values()],
        )


async def forget_signals(database: Database) -> int:
    """One batch; returns how many there were."""
    forgotten: int = (await database.run("signal_forget", BATCH))[0]["forgotten"]
    return forgotten
