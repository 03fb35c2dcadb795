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
    job_ids: list[UUID]
    idempotency: Idempotency | None = None
    existing: set[UUID] = field(default_factory=set)
    answer: Accepted | Exception | None = None
    is_started: bool = False  # True: this node began it as it was inserted

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
    rows = [
        (request, job_id, draft)
        for request in requests
        for job_id, draft in zip(request.job_ids, request.drafts, strict=True)
        if job_id not in request.existing
    ]
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
    return strict_json.write([str(parent) for parent in (*draft.depends_on, *inside)])
