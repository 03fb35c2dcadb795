"""A submission on its way: what was asked, under which ids, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from windlass.model import strict_json
from windlass.model.draft import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Idempotency:
    """A caller's promise that requests under one key are the same request."""

    owner: str
    key: str
    body_hash: bytes


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
    is_batch: bool = False  # True: problems are named by the job's place in it
    made: tuple[UUID, ...] = field(init=False)  # the ids that new jobs get
    answer: Accepted | Exception | None = None
    is_started: bool = False  # True: this node began it as it was inserted

    def __post_init__(self) -> None:
        self.made = tuple(self.job_ids)

    def begin(self) -> None:
        """As it was before anything was decided: a transaction may have to be done again."""
        self.answer = None
        firsts: dict[str, UUID] = {}
        # Drafts of one key in one batch are one job: the first of them.
        self.job_ids = [
            made if draft.key is None else firsts.setdefault(draft.key, made)
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
    def is_plain(self) -> bool:
        return self.idempotency is None and all(draft.is_plain for draft in self.drafts)


def arrange(
    requests: list[Request],
    unmet: dict[UUID, int] | None = None,
    starts: Sequence[bool] | None = None,
) -> list[list[object]]:
    """The columns that job_insert_many takes."""
    unmet = unmet or {}
    rows = [(request, job_id, draft) for request in requests for _, job_id, draft in request.new]
    return [
        [job_id for _, job_id, _ in rows],
        [draft.queue for _, _, draft in rows],
        [draft.kind for _, _, draft in rows],
        [draft.priority for _, _, draft in rows],
        ["blocked" if unmet.get(job_id) else "queued" for _, job_id, _ in rows],
        [draft.run_at for _, _, draft in rows],
        [draft.delay_seconds for _, _, draft in rows],
        [draft.deadline for _, _, draft in rows],
        [draft.timeout_ms for _, _, draft in rows],
        [draft.max_attempts for _, _, draft in rows],
        [draft.retry for _, _, draft in rows],
        [draft.key for _, _, draft in rows],
        [draft.correlation_id for _, _, draft in rows],
        [draft.trace_id for _, _, draft in rows],
        [draft.owner for _, _, draft in rows],
        [strict_json.write(list(draft.tags)) if draft.tags else None for _, _, draft in rows],
        [draft.input for _, _, draft in rows],
        [_parents_json(request, draft) for request, _, draft in rows],
        [unmet.get(job_id, 0) for _, job_id, _ in rows],
        [draft.on_parent_failure if draft.has_parents else None for _, _, draft in rows],
        list(starts or [False] * len(rows)),
    ]


def _parents_json(request: Request, draft: Draft) -> str | None:
    if not draft.has_parents:
        return None
    inside = (request.job_ids[place] for place in draft.depends_on_places)
    parents = dict.fromkeys((*draft.depends_on, *inside))
    return strict_json.write([str(parent) for parent in parents])
