"""What was answered before under a caller's Idempotency-Key, in the transaction that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass.engine.jobs.request import Idempotency
from windlass.errors import IdempotencyMismatch, WindlassError
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def recall_many(
    connection: Connection[Record], asked: Sequence[tuple[Idempotency | None, UUID]]
) -> list[UUID | WindlassError]:
    """For each the id of before, or the one it brings, which is its own from now on; or that the
    key was used for something else. No key may be there twice.
    """
    marked = [(mark, mine) for mark, mine in asked if mark is not None]
    if not marked:
        return [mine for _, mine in asked]
    owners, keys = [mark.owner for mark, _ in marked], [mark.key for mark, _ in marked]
    hashes = [mark.body_hash for mark, _ in marked]
    made = [str(mine) for _, mine in marked]
    taken = await connection.fetch(statement("idempotency_take_many"), owners, keys, hashes, made)
    fresh = {(row["owner"], row["key"]) for row in taken}
    before: dict[tuple[str, str], Record] = {}
    if len(fresh) < len(marked):
        rows = await connection.fetch(statement("idempotency_get_many"), owners, keys)
        before = {(row["owner"], row["key"]): row for row in rows}
    answers: list[UUID | WindlassError] = []
    for mark, mine in asked:
        if mark is None or (mark.owner, mark.key) in fresh:
            answers.append(mine)
            continue
        known = before[mark.owner, mark.key]
        is_same = known["body_hash"] == mark.body_hash
        answers.append(known["job_ids"][0] if is_same else IdempotencyMismatch(mark.key))
    return answers


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
