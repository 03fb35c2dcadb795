"""Submitting jobs: POST /v1/jobs and /v1/jobs/batch.

The busiest route of all. A new plain job is answered from its draft, without a second look at the
database; whatever was there before is read and shown as it is now.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from starlette.types import ASGIApp

from windlass import clock, ids
from windlass.api.http import body as bodies
from windlass.api.http import shapes as schemas
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.idempotency import (
    HEADER,
    KEY_SCHEMA,
    KeyedRequest,
    idempotency_of,
    replay_headers,
)
from windlass.api.http.reply import LOCATION, created_reply, json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.spool import Spool
from windlass.api.jobs.batch_process import Question
from windlass.api.jobs.batch_reader import check_kinds
from windlass.api.jobs.schema import batch
from windlass.api.jobs.view import job_view, new_job_view
from windlass.api.parts import ApiParts
from windlass.engine.identity.quotas import counting
from windlass.engine.jobs.read import read_job
from windlass.engine.jobs.request import Idempotency
from windlass.errors import MalformedBody, QueueFull, QueueRate, QuotaExceeded
from windlass.limits import BATCH_BODY_BYTES_MAX, BODY_BYTES_MAX, PARSE_HERE_BYTES_MAX
from windlass.model.identity.principal import Confined, Principal
from windlass.model.job.draft import Draft
from windlass.model.job.submission import SubmissionContext
from windlass.model.job.submission import read_batch as read_batch_of
from windlass.model.job.submission import read_job as read_job_of
from windlass.strategies.builtin import INPUT_CHECKS
from windlass.strategies.http.auth.secrets import SigningUnavailable

_HEADERS: dict[str, tuple[str, schemas.Schema]] = {
    HEADER: (
        "The same key with the same body is answered with the same jobs and makes no new ones",
        KEY_SCHEMA,
    ),
    "traceparent": (
        "W3C trace context; its trace id becomes the job's trace_id",
        schemas.TEXT,
    ),
}
_TOLD = {
    "Idempotent-Replayed": "`true` when this Idempotency-Key was answered before",
    "Windlass-Existing": "`true` when a job had the unique key already; it is the one shown",
}


class Submit:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._contexts: dict[str, SubmissionContext] = {}

    async def one(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        caller = caller_of(request.scope)
        now = clock.wall()
        body, idempotency = await self._read(request, caller)
        if bodies.is_heavy(body):
            spool = Spool()
            spool.add(body)
            [draft] = await self._apart(caller, now, spool, is_batch=False)
        else:
            draft = read_job_of(await bodies.parse(body), self._context_for(caller), now)
        await self._check_confined(caller, [draft])
        self._check_signing([draft])
        draft.trace_id = caller.trace_id()
        try:
            quotas = counting(caller.known.quotas)
            accepted = await self._parts.enqueuer.submit(draft, idempotency, quotas)
        except (QueueFull, QueueRate, QuotaExceeded) as refused:
            self._rejected(refused, draft.queue)
            raise
        if accepted.existing and caller.known.is_confined:
            await self._check_inside(caller.known, accepted.job_ids)
        is_new = not (accepted.is_replayed or accepted.existing)
        if is_new and not draft.has_parents:
            view = new_job_view(accepted.job_ids[0], draft, now, _due(draft, now))
        else:
            view = job_view(await read_job(self._parts.database, accepted.job_ids[0]))
        if is_new:
            return created_reply(view, f"/v1/jobs/{view.id}", *replay_headers(accepted))
        return json_reply(view, 200, *replay_headers(accepted))

    async def batch(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        caller = caller_of(request.scope)
        drafts, idempotency = await self._drafts(request, caller)
        await self._check_confined(caller, drafts)
        self._check_signing(drafts)
        trace_id = caller.trace_id()
        for draft in drafts:
            draft.trace_id = trace_id
        try:
            quotas = counting(caller.known.quotas)
            accepted = await self._parts.enqueuer.submit_batch(drafts, idempotency, quotas)
        except (QueueFull, QueueRate, QuotaExceeded) as refused:
            self._rejected(refused, drafts[0].queue)
            raise
        return json_reply(
            {"ids": [ids.show("job", job_id) for job_id in accepted.job_ids]},
            200 if accepted.is_replayed else 201,
            *replay_headers(accepted),
        )

    async def _drafts(
        self, request: Call, caller: Caller
    ) -> tuple[list[Draft], Idempotency | None]:
        """Of a batch. A large one is never in this process as values."""
        bodies.check_type(caller)
        now = clock.wall()
        keyed = KeyedRequest(caller, "POST", request.scope["path"])
        held: list[bytes] = []
        spool, size = Spool(), 0
        async for piece in bodies.read_pieces(request, BATCH_BODY_BYTES_MAX):
            keyed.add(piece)
            held.append(piece)
            size += len(piece)
            if size > BODY_BYTES_MAX:
                _move(held, spool)
        if size > BODY_BYTES_MAX or bodies.is_heavy(body := b"".join(held)):
            _move(held, spool)
            drafts = await self._apart(caller, now, spool, is_batch=True)
        elif body:
            drafts = await self._here(body, self._context_for(caller), now)
        else:
            raise MalformedBody.at("", "the body is empty; send a JSON object")
        return drafts, keyed.idempotency

    async def _here(self, body: bytes, context: SubmissionContext, now: datetime) -> list[Draft]:
        value = await bodies.parse(body)
        if len(body) > PARSE_HERE_BYTES_MAX:
            return await bodies.in_parse_thread(partial(read_batch_of, value, context, now))
        return read_batch_of(value, context, now)

    async def _apart(
        self, caller: Caller, now: datetime, spool: Spool, *, is_batch: bool
    ) -> list[Draft]:
        """Read by another process, all but the kinds that only this one knows."""
        kinds = self._parts.kinds
        question = Question(
            kinds=list(kinds),
            max_attempts=self._parts.settings.retry_max_attempts,
            owner=caller.owner,
            now=now,
            is_batch=is_batch,
        )
        own = {kind: kinds[kind] for kind in kinds if kinds[kind] is not INPUT_CHECKS.get(kind)}
        drafts = await self._parts.readers.read(question, spool)
        await check_kinds(drafts, own, is_batch=is_batch)
        return drafts

    async def _read(
        self, request: Call, caller: Caller, bytes_max: int = BODY_BYTES_MAX
    ) -> tuple[bytes, Idempotency | None]:
        bodies.check_type(caller)
        body = await bodies.read_bytes(request, bytes_max)
        if not body:
            raise MalformedBody.at("", "the body is empty; send a JSON object")
        return body, idempotency_of(caller, "POST", request.scope["path"], body)

    async def _check_confined(self, caller: Caller, drafts: Sequence[Draft]) -> None:
        """A key for some queues submits to them; its jobs wait for no others, and share a unique
        key with none, for the one that has it is shown, and may be put off. Raises Confined.
        """
        principal = caller.known
        if not principal.is_confined:
            return
        for draft in drafts:
            principal.check_queue(draft.queue)
        others = {parent for draft in drafts for parent in draft.depends_on}
        if keys := {draft.key for draft in drafts if draft.key is not None}:
            rows = await self._parts.database.read("key_get_many", list(keys))
            others |= {row["job_id"] for row in rows}
        if others:
            await self._check_inside(principal, others)

    async def _check_inside(self, principal: Principal, job_ids: Collection[UUID]) -> None:
        """Raises Confined if one of them is none of the caller's."""
        [row] = await self._parts.database.read(
            *("job_outside", list(job_ids)),
            *(list(principal.queues or ()), list(principal.workflows or ())),
        )
        if row["is_any"]:
            raise Confined("queue", None, principal.queues or ())

    def _context_for(self, caller: Caller) -> SubmissionContext:
        context = self._contexts.get(caller.owner)
        if context is None:
            context = self._contexts[caller.owner] = SubmissionContext(
                kinds=self._parts.kinds,
                max_attempts=self._parts.settings.retry_max_attempts,
                owner=caller.owner,
            )
        return context

    def _check_signing(self, drafts: Sequence[Draft]) -> None:
        """Another node may have a key; but one that lacks it was set up wrongly, which is better
        told to whoever submits than found out after the last try. Raises SigningUnavailable.
        """
        if not self._parts.can_sign and any(draft.kind == "http" for draft in drafts):
            raise SigningUnavailable

    def _rejected(self, refused: QueueFull | QueueRate | QuotaExceeded, queue: str) -> None:
        if isinstance(refused, QuotaExceeded):
            self._parts.on_rejected(queue, refused.quota)
        else:
            self._parts.on_rejected(refused.queue, refused.code)


def _move(held: list[bytes], spool: Spool) -> None:
    for piece in held:
        spool.add(piece)
    held.clear()


def _due(draft: Draft, now: datetime) -> datetime:
    if draft.run_at is not None:
        return draft.run_at
    return now + timedelta(seconds=draft.delay_seconds) if draft.delay_seconds else now


def routes(parts: ApiParts) -> list[Route]:
    submit = Submit(parts)
    return [
        Route(
            method="POST",
            path="/v1/jobs",
            needs="jobs:submit",
            confined_by="asked",
            handle=submit.one,
            summary="Submit a job",
            tag="Jobs",
            headers=_HEADERS,
            body=schemas.ref("Submission"),
            answers={
                201: Answer(
                    description="Accepted: it will not be lost",
                    schema=schemas.ref("Job"),
                    headers=LOCATION,
                ),
                200: Answer(
                    description="It was there before", schema=schemas.ref("Job"), headers=_TOLD
                ),
            },
            problems=(400, 409, 413, 415, 429),
        ),
        Route(
            method="POST",
            path="/v1/jobs/batch",
            needs="jobs:submit",
            confined_by="asked",
            handle=submit.batch,
            summary="Submit many jobs, all or none",
            tag="Jobs",
            description=(
                'Jobs of a batch may depend on each other: `"#0"` in `depends_on` is its first job.'
            ),
            headers=_HEADERS,
            body=batch(),
            answers={
                201: Answer(
                    description="Accepted, in the order given",
                    schema=schemas.ref("Ids"),
                    headers=_TOLD,
                ),
                200: Answer(
                    description="This Idempotency-Key was answered before",
                    schema=schemas.ref("Ids"),
                    headers=_TOLD,
                ),
            },
            problems=(400, 409, 413, 415, 429),
        ),
    ]
