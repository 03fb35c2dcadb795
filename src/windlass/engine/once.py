"""Idempotency keys of requests that make no jobs: what such a key was answered with.

Two orders, and each caller chooses what it can live with. `recall`, do it, `record`: a crash in
between leaves no trace of the key, so what is done must tell by itself that it is there. `take`, do
it, `record`: a crash in between leaves a key without an answer, and the same request is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass.engine.request import Idempotency
from windlass.errors import Conflict, IdempotencyMismatch
from windlass.store.database import Database


class AnswerUnknown(Conflict):
    """The key was taken, and nobody knows what came of it."""

    code = "answer_unknown"

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"a request with Idempotency-Key {key!r} is under way or was cut off; look whether it "
            "was done, and use a new key if not"
        )


async def recall(database: Database, mark: Idempotency) -> list[UUID] | None:
    """What it was answered with; None: it is new. Raises IdempotencyMismatch, AnswerUnknown."""
    rows = await database.run("idempotency_get_many", [mark.owner], [mark.key])
    if not rows:
        return None
    if rows[0]["body_hash"] != mark.body_hash:
        raise IdempotencyMismatch(mark.key)
    if not rows[0]["job_ids"]:
        raise AnswerUnknown(mark.key)
    return list(rows[0]["job_ids"])


async def take(database: Database, mark: Idempotency) -> list[UUID] | None:
    """As `recall`; a key that is new is taken, and the caller must `record` its answer."""
    columns = [mark.owner], [mark.key], [mark.body_hash], [""]
    if await database.run("idempotency_take_many", *columns):
        return None
    return await recall(database, mark)


async def record(database: Database, mark: Idempotency, answer: Sequence[UUID]) -> None:
    told = ",".join(map(str, answer))
    columns = [mark.owner], [mark.key], [mark.body_hash], [told]
    if not await database.run("idempotency_take_many", *columns):
        await database.run("idempotency_correct_many", [mark.owner], [mark.key], [told])
