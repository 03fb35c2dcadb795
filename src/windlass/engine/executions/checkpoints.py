"""Checkpoints of durable functions: what they have done is kept, many functions at a time.

Owns: the rows of `checkpoint`.
Promises: a place is written once; what is answered is committed; an attempt that is not the newest
any more writes nothing. Asking twice gives the same answer, so whoever lost one asks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from windlass.model.job.checkpoint import Checkpoint, Note
from windlass.store.database import Database, Record, Refused

FORGET_BATCH: Final = 10_000

_Place = tuple[UUID, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Which attempt of which job speaks."""

    job_id: UUID
    attempt: int
    claim_id: UUID
    execution_id: UUID | None  # None: it is no step, and no signal reaches it


@dataclass(frozen=True, slots=True)
class CheckpointWrite:
    """What one of the functions wants kept."""

    fence: Fence
    note: Note

    @property
    def place(self) -> _Place:
        return self.fence.job_id, self.note.branch, self.note.place


async def keep_many(
    database: Database, batch: Sequence[CheckpointWrite]
) -> list[Checkpoint | Refused | None]:
    """What stands at each place now. None: another attempt has taken over; Refused: the value
    cannot be stored. Raises Unavailable: ask again.
    """
    try:
        return list(await _keep(database, batch))
    except Refused as trouble:
        if len(batch) == 1:
            return [trouble]
    # One bad row never fails its neighbours.
    return [answer for one in batch for answer in await keep_many(database, [one])]


async def _keep(database: Database, batch: Sequence[CheckpointWrite]) -> list[Checkpoint | None]:
    rows = await database.run(
        "checkpoint_keep_many",
        [one.fence.job_id for one in batch],
        [one.fence.attempt for one in batch],
        [one.fence.claim_id for one in batch],
        [one.note.branch for one in batch],
        [one.note.place for one in batch],
        [one.note.name for one in batch],
        [one.note.kind for one in batch],
        [one.note.rest_seconds for one in batch],
        [one.note.result_json for one in batch],
    )
    left: dict[_Place, float | None] = {_place(row): row["left"] for row in rows}
    others = [one for one in batch if one.place not in left]
    found = await _standing(database, others) if others else {}
    return [
        _written(one.note, left[one.place]) if one.place in left else found.get(one.place)
        for one in batch
    ]


async def _standing(
    database: Database, asked: Sequence[CheckpointWrite]
) -> dict[_Place, Checkpoint]:
    """What was there before, of an attempt before or of a commit whose answer was lost."""
    rows = await database.run(
        "checkpoint_get_many",
        [one.fence.job_id for one in asked],
        [one.note.branch for one in asked],
        [one.note.place for one in asked],
    )
    return {_place(row): checkpoint_of(row) for row in rows}


async def load_many(database: Database, job_ids: Sequence[UUID]) -> dict[UUID, list[Checkpoint]]:
    """All that each of these has done."""
    found: dict[UUID, list[Checkpoint]] = {job_id: [] for job_id in job_ids}
    for row in await database.run("checkpoint_list_many", list(job_ids)):
        found[row["job_id"]].append(checkpoint_of(row))
    return found


async def forget_checkpoints(database: Database, retention_days: int) -> int:
    """Of jobs that are gone; returns how many."""
    forgotten: int = 0
    while True:
        (row,) = await database.read("checkpoint_forget", retention_days, FORGET_BATCH)
        forgotten += row["forgotten"]
        if row["forgotten"] < FORGET_BATCH:
            return forgotten


def checkpoint_of(row: Record) -> Checkpoint:
    return Checkpoint(
        branch=row["branch"],
        place=row["place"],
        name=row["name"],
        kind=row["kind"],
        is_open=row["is_open"],
        left_seconds=row["left"],
        result_json=row["result"],
    )


def _written(note: Note, left_seconds: float | None) -> Checkpoint:
    return Checkpoint(
        branch=note.branch,
        place=note.place,
        name=note.name,
        kind=note.kind,
        left_seconds=left_seconds,
        result_json=note.result_json,
    )


def _place(row: Record) -> _Place:
    return row["job_id"], row["branch"], row["place"]
