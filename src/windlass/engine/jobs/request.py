"""A submission on its way: its drafts and ids, its idempotency key, its answer, and its rows.

Two ways into the table: `insert_columns` for job_insert_many, which can do everything, and
`copy_in` for a plain batch, by COPY, at half the cost for both sides. What a draft has as it is
goes by the list in model.job.draft; here is what has to be worked out. When the answer to a commit
is lost, `resolve_unknown_commit` finds out what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from windlass.engine.effects import Effects
from windlass.errors import Unavailable
from windlass.model.identity.quota import SubjectQuota
from windlass.model.job.draft import GIVEN, Draft, row_maker
from windlass.model.json import strict as strict_json
from windlass.store.database import Connection, Record

T = TypeVar("T")

_GIVEN: Final = [column.name for column in GIVEN]
# What is worked out here for job_insert_many, before what a draft gives as it is.
_MADE: Final = ["id", "delay", "tags"]
_AS_IT_IS: Final = ["run_at", "parked_for", *_GIVEN]
_inserted_row: Final = row_maker(_MADE, _AS_IT_IS)
_INSERTED: Final = (*_MADE, *_AS_IT_IS)
_SPECIAL: Final = ("state", "locks", "depends_on", "on_parent_failure", "waits_for")
_NOTHING: Final[dict[str, Any]] = dict.fromkeys((*_INSERTED, *_SPECIAL), ())
# The same for COPY. A plain job has no key and no limits; fire_together knows that the id is the
# first.
_COPIED: Final = ["parked_for", *(name for name in _GIVEN if name not in ("key", "limits"))]
_MADE_TO_COPY: Final = ["id", "state", "run_at", "tags", "input_bytes", "parked_at"]
_copied_row: Final = row_maker(_MADE_TO_COPY, _COPIED)
COPY_COLUMNS: Final = (*_MADE_TO_COPY, *_COPIED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idempotency:
    """A caller's promise that requests under one key are the same request."""

    owner: str
    key: str
    body_hash: bytes

    @property
    def name(self) -> tuple[str, str]:
        """Under which it is kept."""
        return self.owner, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The answer to a submission."""

    job_ids: list[UUID]
    is_replayed: bool = False  # True: the same Idempotency-Key was answered before
    existing: frozenset[UUID] = frozenset()  # jobs that had the asked-for unique key already


@dataclass(slots=True, kw_only=True)
class Request:
    """One submission: one job, or a batch that is accepted whole or not at all."""

    drafts: Sequence[Draft]
    job_ids: list[UUID]  # of a draft whose unique key is taken: the id of the job that has it
    idempotency: Idempotency | None = None
    quotas: tuple[SubjectQuota, ...] = ()  # of jobs, that whoever asks is held to
    is_batch: bool = False  # True: problems are named by the job's place in it
    made: tuple[UUID, ...] = field(init=False)  # the ids that new jobs get
    answer: Accepted | Exception | None = None
    is_started: bool = False  # True: this node began it as it was inserted
    effects: Effects | None = None  # what came of its locks, and of those who asked with it
    # What another transaction holds of what it needs. None: nothing, or it is not known
    held_by: tuple[str, ...] | None = None
    uncounted: tuple[SubjectQuota, ...] = ()  # whose waiting bytes are to be counted apart

    def __post_init__(self) -> None:
        self.made = tuple(self.job_ids)

    def begin(self) -> None:
        """As it was before anything was decided: a transaction may have to be done again."""
        self.answer = self.effects = self.held_by = None
        self.uncounted = ()
        # Drafts of one key in one batch are one job: the first of them, or the last that debounces.
        chosen: dict[str, UUID] = {}
        for made, draft in zip(self.made, self.drafts, strict=True):
            if draft.key is not None and (
                draft.debounce_seconds is not None or draft.key not in chosen
            ):
                chosen[draft.key] = made
        self.job_ids = [
            made if draft.key is None else chosen[draft.key]
            for made, draft in zip(self.made, self.drafts, strict=True)
        ]

    @property
    def new(self) -> list[tuple[int, UUID, Draft]]:
        """Place, id and draft of what is to be inserted."""
        return [
            (place, made, draft)
            for place, (made, draft) in enumerate(zip(self.made, self.drafts, strict=True))
            if self.job_ids[place] == made
        ]

    @property
    def existing(self) -> frozenset[UUID]:
        """Jobs that had an asked-for unique key already."""
        return frozenset(self.job_ids).difference(self.made)

    @property
    def needs(self) -> list[tuple[str, ...]]:
        """What others may hold of what it needs, by name: the likeliest first."""
        names: list[tuple[str, ...]] = []
        for draft in self.drafts:
            if draft.key is not None:
                names.append(("key", draft.key))
            names += [("parent", parent.hex) for parent in draft.depends_on]
        if self.idempotency is not None:
            names.append(("mark", *self.idempotency.name))
        names += [("quota", one.name) for one in self.quotas]
        return names + [("queue", queue) for queue in sorted({d.queue for d in self.drafts})]

    @property
    def is_plain(self) -> bool:
        """It needs its queue, and perhaps an Idempotency-Key, which a single job takes along."""
        is_light = self.idempotency is None or len(self.drafts) == 1
        return is_light and not self.quotas and all(draft.is_plain for draft in self.drafts)

    @property
    def is_copied(self) -> bool:
        """A batch that nothing but an Idempotency-Key tells from a plain one."""
        return len(self.drafts) > 1 and all(draft.is_plain for draft in self.drafts)


def insert_columns(requests: list[Request], starts: Sequence[bool] = ()) -> dict[str, Any]:
    """What job_insert_many takes for new jobs, by the names of its parameters: all that a plain job
    has. See `special_columns` for the others. A column of NULLs is sent empty: most are, and each
    costs as much as the others.
    """
    rows = [
        _inserted_row(
            draft,
            job_id,
            draft.delay_seconds or None,
            strict_json.write(list(draft.tags)) if draft.tags else None,
        )
        for request in requests
        for _, job_id, draft in request.new
    ]
    columns: dict[str, Any] = {
        name: () if column[0] is None and column.count(None) == len(rows) else column
        for name, column in zip(_INSERTED, zip(*rows, strict=True), strict=False)
    }
    return {**_NOTHING, **columns, "starts": starts}


def special_columns(requests: list[Request], unmet: dict[UUID, int]) -> dict[str, Any]:
    """What jobs with parents or locks have besides. `unmet`: how many parents each waits for."""
    rows = [(request, job_id, draft) for request in requests for _, job_id, draft in request.new]
    drafts = [draft for _, _, draft in rows]
    waits_for = [unmet.get(job_id, 0) for _, job_id, _ in rows]
    return {
        "state": _some(["blocked" if count else None for count in waits_for]),
        "locks": _some([_locks_json(draft) for draft in drafts]),
        "depends_on": _some([_parents_json(request, draft) for request, _, draft in rows]),
        "on_parent_failure": _some(
            [draft.on_parent_failure if draft.has_parents else None for draft in drafts]
        ),
        "waits_for": waits_for if unmet else (),
        "parked_for": _some(
            [_parked_for(draft, count) for draft, count in zip(drafts, waits_for, strict=True)]
        ),
    }


def mark_columns(requests: Sequence[Request]) -> dict[str, Any]:
    """The Idempotency-Keys of single jobs, as job_insert_many takes them."""
    marks = [request.idempotency for request in requests]
    return {
        "mark_owner": _some([mark and mark.owner for mark in marks]),
        "mark_key": _some([mark and mark.key for mark in marks]),
        "mark_hash": _some([mark and mark.body_hash for mark in marks]),
    }


def _locks_json(draft: Draft) -> str | None:
    return strict_json.write(draft.lock_names) if draft.has_locks else None


def _parked_for(draft: Draft, unmet: int) -> str | None:
    """A blocked job waits for no lock yet."""
    return "lock" if draft.has_locks and not unmet else draft.parked_for


def _parents_json(request: Request, draft: Draft) -> str | None:
    if not draft.has_parents:
        return None
    inside = (request.job_ids[place] for place in draft.depends_on_places)
    parents = dict.fromkeys((*draft.depends_on, *inside))
    return strict_json.write([str(parent) for parent in parents])


def _some(column: Sequence[Any]) -> Sequence[Any]:
    return () if column and column[0] is None and column.count(None) == len(column) else column


async def copy_in(connection: Connection[Record], request: Request, now: datetime) -> None:
    """Insert its jobs, in the caller's transaction. `now` is the database's.

    Nothing is asked of their queues: the caller has, and holds them so until it commits.
    """
    await connection.copy_records_to_table(
        "job", schema_name="windlass", columns=COPY_COLUMNS, records=copy_rows(request, now)
    )


def copy_rows(request: Request, now: datetime) -> Iterator[tuple[Any, ...]]:
    """The rows of a plain batch, as COPY takes them. `now` is the database's."""
    for job_id, draft in zip(request.job_ids, request.drafts, strict=True):
        run_at = draft.run_at
        if run_at is None:
            delay = draft.delay_seconds
            run_at = now + timedelta(seconds=delay) if delay else now
        yield _copied_row(
            draft,
            job_id,
            "queued",
            run_at,
            draft.tags or None,
            len(draft.input) if draft.input.isascii() else len(draft.input.encode()),
            None if draft.parked_for is None else now,
        )


async def resolve_unknown_commit(read: Callable[[], Awaitable[T]]) -> T:
    """What became of a commit whose answer was lost, as soon as PostgreSQL can be asked.

    Raises Unavailable when it cannot for too long.
    """
    for patience in (0.1, 0.5, 1.0, 2.0, 4.0):
        try:
            return await read()
        except Unavailable:
            await asyncio.sleep(patience)
    raise Unavailable("PostgreSQL went away during the commit; repeat with an Idempotency-Key")
