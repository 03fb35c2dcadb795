"""What a step waited for is not needed any more once the step has ended without it.

It timed out, or was cancelled: its child execution is cancelled too, and places of its fan-out that
have not begun never do. In the transaction that ended the step; what is asked here is heeded after
the commit (`engine.executions.heed`, `engine.executions.fan_out`).
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.finished import Finished
from windlass.engine.jobs.ask_cancel import ask_cancel
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def abandon(connection: Connection[Record], ended: Sequence[Record]) -> Finished:
    """`ended` are steps, of whatever kind, that did not succeed: rows with id, execution_id, step
    and item.
    """
    if not ended:
        return Finished()
    steps = [row for row in ended if row["item"] is None]
    stopped = await connection.fetch(
        statement("fan_stop_many"),
        [row["execution_id"] for row in steps],
        [row["step"] for row in steps],
    )
    children = await connection.fetch(
        statement("execution_children_of"), [row["id"] for row in ended]
    )
    finished = await ask_cancel(
        connection,
        [row["id"] for row in children],
        cause="parent_ended",
        message="the step that waited for it has ended",
    )
    finished.progressed.fans |= {(row["execution_id"], row["step"]) for row in stopped}
    return finished
