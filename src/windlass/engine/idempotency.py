"""Idempotency keys: what a caller's earlier request under the same key has made or was answered.

What makes executions, schedules and signals takes the key in the transaction that makes them
(`recall`, `recall_many`), so either both are there or neither; `find_earlier_ids` looks before
anything is judged. Jobs do the same in engine.jobs.admission.

Most verbs keep their answer as it was sent: `take_answer`, do it, `keep_answer`, or `forget_answer`
when it was refused. A crash in between leaves a key without an answer, and the same request is
refused then. Whoever repeats a request that is still under way waits for its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from windlass.clock import monotonic
from windlass.engine.jobs.request import Idempotency
from windlass.errors import Conflict, IdempotencyMismatch, WindlassError
from windlass.limits import ANSWER_LOOK_SECONDS, ANSWER_WAIT_SECONDS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


class AnswerUnknown(Conflict):
    """The key was taken, and nobody knows what came of it."""

    code = "answer_unknown"
    retry_after_seconds = 5

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"a request with Idempotency-Key {key!r} is under way or was cut off; look whether it "
            "was done, and use a new key if not"
        )


async def find_earlier_ids(database: Database, mark: Idempotency) -> list[UUID] | None:
    """What it was answered with; None: it is new. Raises IdempotencyMismatch, AnswerUnknown."""
    rows = await database.run("idempotency_get_many", [mark.owner], [mark.key])
    if not rows:
        return None
    if rows[0]["body_hash"] != mark.body_hash:
        raise IdempotencyMismatch(mark.key)
    if not rows[0]["job_ids"]:
        raise AnswerUnknown(mark.key)
    return list(rows[0]["job_ids"])


async def take_answer(database: Database, mark: Idempotency) -> bytes | None:
    """The answer that was kept; None: the key is new and now the caller's, who must keep an answer
    or forget the key. Waits a while for one that is under way, then raises AnswerUnknown. Raises
    IdempotencyMismatch.
    """
    columns = [mark.owner], [mark.key], [mark.body_hash], [""]
    until = monotonic() + ANSWER_WAIT_SECONDS
    while True:
        # Asked again each time: the first of its kind may have been refused and gave the key back.
        if await database.run("idempotency_take_many", *columns):
            return None
        if (kept := await kept_answer(database, mark)) is not None:
            return kept
        if monotonic() >= until:
            raise AnswerUnknown(mark.key)
        await asyncio.sleep(ANSWER_LOOK_SECONDS)


async def kept_answer(database: Database, mark: Idempotency) -> bytes | None:
    """Raises IdempotencyMismatch when the key was used for something else."""
    rows = await database.run("answer_get", mark.owner, mark.key)
    if not rows:
        return None
    if rows[0]["body_hash"] != mark.body_hash:
        raise IdempotencyMismatch(mark.key)
    answer: bytes | None = rows[0]["answer"]
    return answer


async def keep_answer(database: Database, mark: Idempotency, answer: bytes) -> None:
    await database.run("answer_keep", mark.owner, mark.key, mark.body_hash, answer)


async def forget_answer(database: Database, mark: Idempotency) -> None:
    await database.run("answer_forget", mark.owner, mark.key, mark.body_hash)


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


async def give_back_many(
    connection: Connection[Record], refused: Sequence[tuple[Idempotency, UUID]]
) -> None:
    """Those that `recall_many` took a moment ago, with what was to be made: nothing came of it."""
    if refused:
        await connection.fetch(
            statement("idempotency_give_back_many"),
            [mark.owner for mark, _ in refused],
            [mark.key for mark, _ in refused],
            [mine for _, mine in refused],
        )
