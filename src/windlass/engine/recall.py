"""What was answered before under a caller's Idempotency-Key, in the transaction that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass.engine.request import Idempotency
from windlass.errors import IdempotencyMismatch
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def recall(
    connection: Connection[Record], mark: Idempotency | None, mine: Sequence[UUID]
) -> list[UUID] | None:
    """The ids of before; None: there are none, and from now on they are `mine`. Raises
    IdempotencyMismatch.
    """
    if mark is None:
        return None
    made = ",".join(map(str, mine))
    taken = await connection.fetch(
        statement("idempotency_take_many"), [mark.owner], [mark.key], [mark.body_hash], [made]
    )
    if taken:
        return None
    known = await connection.fetch(statement("idempotency_get_many"), [mark.owner], [mark.key])
    if known[0]["body_hash"] != mark.body_hash:
        raise IdempotencyMismatch(mark.key)
    answered: list[UUID] = known[0]["job_ids"]
    return answered
