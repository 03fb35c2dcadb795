"""Notify dependents in chunks: the children of parents that had more than one transaction can tell.

Idempotent; any node may do it at any time, several at once: whoever tells a parent's children holds
its row of `parent_end`. If it dies in between, the row is still there, and so are the links of all
who have not been told. Each chunk is a transaction of its own, so nobody waits for more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from windlass.engine.effects import Effects
from windlass.engine.isolated_round import IsolatedRound, ItemBackoff
from windlass.engine.jobs.end import advance_rest
from windlass.limits import PARENT_ENDS_MAX
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def notify_children(
    database: Database, backoff: ItemBackoff, tell: Callable[[Effects], None]
) -> bool:
    """One chunk of some parents each. Was anybody told? Then there may be more to tell."""
    rows = await database.settle("parent_end_find", PARENT_ENDS_MAX, backoff.resting_ids)
    if not rows:
        return False
    has_told = False

    async def deed(parents: Sequence[UUID]) -> Effects:
        nonlocal has_told
        effects, told = await _notify(database, parents)
        has_told = has_told or told > 0
        return effects

    apart = IsolatedRound(what="notify children", deed=deed, tell=tell, backoff=backoff)
    await apart.each([row["parent_id"] for row in rows])
    return has_told


async def _notify(database: Database, parents: Sequence[UUID]) -> tuple[Effects, int]:
    async def work(connection: Connection[Record]) -> tuple[Effects, int]:
        rows = await connection.fetch(statement("parent_end_lock_many"), list(parents))
        if not rows:
            return Effects(), 0
        ended = {row["parent_id"]: row["state"] for row in rows}
        effects, told = await advance_rest(connection, ended)
        cleared = await connection.fetch(statement("parent_end_clear_many"), list(ended))
        return effects, told + len(cleared)

    return await database.settle_together(work)
