"""Admitting what the plain statement cannot: keys, idempotency, parents and limits.

One statement for each concern and all requests that need it, in one transaction:

    recall -> parents -> limits -> take idempotency -> take keys -> insert -> link

Nothing after the limits refuses a request except by finding that another was first, so what is
counted is what is inserted. Every statement locks in one order for everybody.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from windlass import ids
from windlass.engine.request import Accepted, Request, arrange
from windlass.errors import IdempotencyMismatch, InvalidInput, QueueFull
from windlass.model.draft import Draft
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


@dataclass(slots=True, kw_only=True)
class Limits:
    """The owner's defaults for queues that have none of their own. None: no limit."""

    max_jobs: int | None = None
    max_bytes: int | None = None


async def admit(connection: Connection[Record], requests: list[Request], limits: Limits) -> None:
    """Answer every request in the caller's transaction, and insert the jobs of those accepted."""
    for request in requests:
        request.answer = None
        request.existing.clear()
    # Whatever was answered before is answered again, even when the queue is full by now.
    await _recall(connection, requests)
    parents = await _check_parents(connection, _open(requests))
    await _check_limits(connection, _open(requests), limits)
    await _take_idempotency(connection, _open(requests))
    await _take_keys(connection, _open(requests))
    accepted = _open(requests)
    if not accepted:
        return
    await connection.fetch(
        statement("job_insert_many"), *arrange(accepted, parents.unmet), True, None, None
    )
    await _link(connection, accepted, parents)
    for request in accepted:
        request.answer = Accepted(job_ids=request.job_ids, existing=frozenset(request.existing))


async def _check_limits(
    connection: Connection[Record], requests: list[Request], limits: Limits
) -> None:
    queues = sorted({draft.queue for request in requests for draft in request.drafts})
    limited = {
        record["name"]: record
        for record in await connection.fetch(
            statement("queue_lock_many"), queues, limits.max_jobs, limits.max_bytes
        )
    }
    if not limited:
        return
    sizes = {
        record["queue"]: (record["jobs"], record["bytes"])
        for record in await connection.fetch(statement("queue_size_many"), list(limited))
    }
    held = {name: list(sizes.get(name, (0, 0))) for name in limited}
    for request in requests:
        asked: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for job_id, draft in zip(request.job_ids, request.drafts, strict=True):
            if draft.queue in limited and job_id not in request.existing:
                asked[draft.queue][0] += 1
                asked[draft.queue][1] += len(draft.input.encode())
        for name, (jobs, size) in asked.items():
            request.answer = request.answer or _refusal(name, limited[name], held[name], jobs, size)
        if request.answer is None:
            for name, (jobs, size) in asked.items():
                held[name][0] += jobs
                held[name][1] += size


@dataclass(slots=True, kw_only=True)
class _Parents:
    unmet: dict[UUID, int]  # of each child: parents that have not ended
    links: list[tuple[UUID, UUID]]  # parent, child
    ended: dict[UUID, str]


def _open(requests: list[Request]) -> list[Request]:
    return [request for request in requests if request.answer is None]


def _refusal(name: str, limits: Record, held: list[int], jobs: int, size: int) -> QueueFull | None:
    if limits["max_jobs"] is not None and held[0] + jobs > limits["max_jobs"]:
        return QueueFull(
            queue=name, limit=limits["max_jobs"], current=held[0], requested=jobs, unit="jobs"
        )
    if limits["max_bytes"] is not None and held[1] + size > limits["max_bytes"]:
        return QueueFull(
            queue=name, limit=limits["max_bytes"], current=held[1], requested=size, unit="bytes"
        )
    return None


async def _recall(connection: Connection[Record], requests: list[Request]) -> None:
    marks = [request.idempotency for request in requests if request.idempotency is not None]
    if marks:
        records = await connection.fetch(
            statement("idempotency_get_many"),
            [mark.owner for mark in marks],
            [mark.key for mark in marks],
        )
        _answer_known(requests, {(r["owner"], r["key"]): r for r in records})
    keys = [d.key for request in _open(requests) for d in request.drafts if d.key is not None]
    if keys:
        _use_holders(_open(requests), await connection.fetch(statement("key_get_many"), keys))


def _answer_known(requests: list[Request], records: dict[tuple[str, str], Record]) -> None:
    for request in requests:
        mark = request.idempotency
        record = records.get((mark.owner, mark.key)) if mark is not None else None
        if mark is None or record is None or list(record["job_ids"]) == request.job_ids:
            continue
        if record["body_hash"] == mark.body_hash:
            request.answer = Accepted(job_ids=list(record["job_ids"]), is_replayed=True)
        else:
            request.answer = IdempotencyMismatch(mark.key)


def _use_holders(requests: list[Request], records: list[Record]) -> None:
    """A job whose unique key is taken is answered with the job that has it."""
    holders = {record["key"]: record["job_id"] for record in records}
    for request in requests:
        for place, draft in enumerate(request.drafts):
            holder = holders.get(draft.key) if draft.key is not None else None
            if holder is not None and holder != request.job_ids[place]:
                request.job_ids[place] = holder
                request.existing.add(holder)


async def _take_idempotency(connection: Connection[Record], requests: list[Request]) -> None:
    keyed = [request for request in requests if request.idempotency is not None]
    if not keyed:
        return
    marks = [request.idempotency for request in keyed if request.idempotency is not None]
    owners, keys = [mark.owner for mark in marks], [mark.key for mark in marks]
    await connection.fetch(
        statement("idempotency_take_many"),
        owners,
        keys,
        [mark.body_hash for mark in marks],
        [",".join(str(job_id) for job_id in request.job_ids) for request in keyed],
    )
    # Read back by a newer snapshot: where another request was first, its answer is ours too.
    records = await connection.fetch(statement("idempotency_get_many"), owners, keys)
    _answer_known(keyed, {(r["owner"], r["key"]): r for r in records})


async def _check_parents(connection: Connection[Record], requests: list[Request]) -> _Parents:
    parents = _Parents(unmet={}, links=[], ended={})
    asked = sorted(
        {p for request in requests for draft in request.drafts for p in draft.depends_on}
    )
    unfinished: set[UUID] = set()
    if asked:
        marked = await connection.fetch(statement("parent_mark_many"), asked)
        unfinished = {record["id"] for record in marked}
    rest = [parent for parent in asked if parent not in unfinished]
    if rest:
        ended = await connection.fetch(statement("parent_ended_many"), rest)
        parents.ended = {record["id"]: record["state"] for record in ended}
    for request in requests:
        for place, (job_id, draft) in enumerate(zip(request.job_ids, request.drafts, strict=True)):
            if job_id in request.existing:
                continue
            inside = [request.job_ids[other] for other in draft.depends_on_places]
            open_ones = [parent for parent in draft.depends_on if parent in unfinished] + inside
            if open_ones:
                parents.unmet[job_id] = len(open_ones)
                parents.links += [(parent, job_id) for parent in open_ones]
            for nth, parent in enumerate(draft.depends_on):
                trouble = parent not in unfinished and _parent_trouble(
                    parents.ended.get(parent), draft
                )
                if trouble:
                    at = f"/jobs/{place}" if len(request.drafts) > 1 else ""
                    request.answer = InvalidInput.at(
                        f"{at}/depends_on/{nth}", f"{ids.show('job', parent)} {trouble}"
                    )
    return parents


def _parent_trouble(state: str | None, draft: Draft) -> str | None:
    if state is None:
        return "is not a job that is known here"
    if state != "succeeded" and draft.on_parent_failure != "run":
        return f"has ended already as {state}; with on_parent_failure=run the job may go on"
    return None


async def _take_keys(connection: Connection[Record], requests: list[Request]) -> None:
    wanted: dict[str, UUID] = {}
    for request in requests:
        for job_id, draft in zip(request.job_ids, request.drafts, strict=True):
            if draft.key is not None and job_id not in request.existing:
                wanted.setdefault(draft.key, job_id)
    if wanted:
        await connection.fetch(statement("key_take_many"), list(wanted), list(wanted.values()))
        _use_holders(requests, await connection.fetch(statement("key_get_many"), list(wanted)))


async def _link(connection: Connection[Record], requests: list[Request], parents: _Parents) -> None:
    new = {
        job_id
        for request in requests
        for job_id in request.job_ids
        if job_id not in request.existing
    }
    links = [(parent, child) for parent, child in parents.links if child in new]
    if links:
        await connection.fetch(
            statement("dependency_insert_many"), [p for p, _ in links], [c for _, c in links]
        )
        inside = sorted({parent for parent, _ in links if parent in new})
        if inside:
            await connection.fetch(statement("parent_mark_many"), inside)
