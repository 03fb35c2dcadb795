"""Enqueue: accept (submit) jobs, many at a time.

Owns: the statements that create jobs, other than steps of executions. Plain jobs into unlimited
queues take one statement for all that came meanwhile, their Idempotency-Keys included; unique keys,
parents, limits and repetitions take one statement each for all the jobs that need them, in one
transaction (engine.jobs.admission). Those with a key, without one, of callers who have a quota, and
the rest gather apart: a plain job without a key waits for no row, and one with a key for some
milliseconds at most.
Promises: an answer means committed (G1). A commit whose fate is unknown is resolved by asking for
the ids, which were made here. If they are not there, the insert may still be on its way, and arrive
when a second one has been run and ended: so there is none, and the caller is told. One refused job
never fails its neighbours, and one whose queue, key or parent another transaction holds does not
make them wait: it goes on apart (engine.jobs.contention).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from windlass import ids
from windlass.engine.effects import Effects
from windlass.engine.gather import Gather
from windlass.engine.identity.quotas import QuotaCounts, QuotaRows
from windlass.engine.jobs.admission import QueueDefaults, admit
from windlass.engine.jobs.contention import ContendedSubmissions
from windlass.engine.jobs.request import (
    Accepted,
    Idempotency,
    Request,
    copy_in,
    insert_columns,
    mark_columns,
    resolve_unknown_commit,
)
from windlass.engine.upcalls import Reservation, Starter
from windlass.errors import Unavailable
from windlass.limits import (
    ENQUEUE_BATCH_MAX,
    ENQUEUE_HELD_LOCK_SECONDS,
    ENQUEUE_LOCK_SECONDS,
    ENQUEUE_PART_LOCK_MS,
    ENQUEUE_PART_LOCK_SECONDS,
    TARGETS_REMEMBERED_MAX,
)
from windlass.model.identity.quota import SubjectQuota
from windlass.model.job.attempt import first_attempt
from windlass.model.job.draft import Draft
from windlass.store.database import (
    Connection,
    Database,
    Record,
    Refused,
    RowLocked,
    Unknown,
)
from windlass.store.statements import bind, statement


class Enqueuer:
    """The door. Concurrent submissions on a node share commits."""

    def __init__(
        self,
        database: Database,
        *,
        queue_defaults: QueueDefaults | None = None,
        follow: Callable[[Effects], None],  # after the commit: lines with new work, and locks
        starter: Starter | None = None,  # None: this process runs nothing
    ) -> None:
        self._database = database
        self._queue_defaults = queue_defaults or QueueDefaults()
        self._is_limited = self._queue_defaults.are_set
        self._follow = follow
        self._starter = starter
        self._targets: set[str] = set()  # that have their row
        self._plain: Gather[Request, Accepted | None] = Gather(
            self._perform_plain, batch_max=ENQUEUE_BATCH_MAX, in_flight_max=2
        )
        self._keyed: Gather[Request, Accepted | None] = Gather(
            self._perform_plain, batch_max=ENQUEUE_BATCH_MAX, in_flight_max=2
        )
        self._special: Gather[Request, Accepted] = Gather(
            self._perform_special, batch_max=ENQUEUE_BATCH_MAX, in_flight_max=2
        )
        # One batch at a time: the next one would need the rows that this one holds.
        self._metered: Gather[Request, Accepted] = Gather(
            self._perform_special, batch_max=ENQUEUE_BATCH_MAX, in_flight_max=1
        )
        self._quota_rows = QuotaRows(database)
        self._quota_counts = QuotaCounts(database)
        self._detour = ContendedSubmissions(self._try_again)

    async def submit(
        self,
        draft: Draft,
        idempotency: Idempotency | None = None,
        quotas: tuple[SubjectQuota, ...] = (),  # of jobs; see engine.identity.quotas.counting
    ) -> Accepted:
        request = Request(
            drafts=[draft], job_ids=[ids.uuid7()], idempotency=idempotency, quotas=quotas
        )
        if quotas:
            await self._quota_rows.ensure(quotas)
        if self._may_be_plain(request):
            accepted = await (self._plain if idempotency is None else self._keyed).put(request)
            if accepted is not None:
                return accepted
        if not self._is_contended(request):
            try:
                return await (self._metered if quotas else self._special).put(request)
            except RowLocked:
                pass
        return await self._detour.put(request)

    async def submit_batch(
        self,
        drafts: Sequence[Draft],
        idempotency: Idempotency | None = None,
        quotas: tuple[SubjectQuota, ...] = (),
    ) -> Accepted:
        request = Request(
            drafts=drafts,
            job_ids=ids.uuid7_many(len(drafts)),
            idempotency=idempotency,
            quotas=quotas,
            is_batch=True,
        )
        if quotas:
            await self._quota_rows.ensure(quotas)
        answer: Accepted | Exception | None = None
        if self._may_be_plain(request):
            [answer] = await self._perform_plain([request])
        if answer is None and not self._is_contended(request):
            [answer] = await self._perform_special([request])
        if answer is None or isinstance(answer, RowLocked):
            answer = await self._detour.put(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def waiting_for_others(self) -> int:
        """Submissions that need what other transactions hold."""
        return self._detour.count

    def _is_contended(self, request: Request) -> bool:
        """Does it need what is known to be held? Most of the time nothing is."""
        return self._detour.count > 0 and self._detour.needs(request)

    def _may_be_plain(self, request: Request) -> bool:
        if self._is_limited or not request.is_plain:
            return False
        # Of a plain one nobody else can hold anything but its key.
        return request.idempotency is None or not self._is_contended(request)

    async def _perform_plain(self, requests: list[Request]) -> list[Accepted | Exception | None]:
        """None: it needs the long way."""
        await self._park(requests)
        await self._insert_apart(requests, self._insert_plain)
        self._tell(requests)
        return [request.answer for request in requests]

    async def _perform_special(self, requests: list[Request]) -> list[Accepted | Exception]:
        """RowLocked: what it needs was not to be had."""
        await self._park(requests)
        await self._insert_apart(requests, self._insert_special)
        self._tell(requests)
        return [
            request.answer or Unavailable("the submission was not answered") for request in requests
        ]

    async def _try_again(self, requests: list[Request]) -> None:
        """What others hold is waited for, as nobody else is kept by it."""
        for request in requests:
            request.answer = None
        await self._park(requests)
        try:
            await self._admit(requests, ENQUEUE_HELD_LOCK_SECONDS, is_waiting=True)
        except RowLocked:
            await self._insert_apart(requests, self._insert_parts)
        except Refused:
            await self._insert_apart(requests, self._insert_special)
        self._tell(requests)

    async def _park(self, requests: list[Request]) -> None:
        """Jobs for a target without room do not join their line: others stand behind them there."""
        aimed = [d for request in requests for d in request.drafts if d.target is not None]
        if self._starter is None or not aimed:
            return
        hosts = self._starter.park(aimed)
        fresh = [host for host in hosts if host not in self._targets]
        if fresh:
            await self._database.run("target_ensure_many", fresh)
            if len(self._targets) > TARGETS_REMEMBERED_MAX:
                self._targets.clear()
            self._targets.update(fresh)

    async def _insert_apart(
        self, requests: list[Request], insert: Callable[[list[Request]], Awaitable[None]]
    ) -> None:
        """Insert together; if PostgreSQL refuses a value of one, insert each alone."""
        try:
            await insert(requests)
        except Refused as trouble:
            if len(requests) > 1:
                for request in requests:
                    await self._insert_apart([request], insert)
            else:
                requests[0].answer = trouble

    async def _insert_plain(self, requests: list[Request]) -> None:
        """Insert by one statement; what needs the long way (limited, new queues) stays open."""
        if len(requests) == 1 and len(requests[0].drafts) > 1:
            # A batch is all or nothing: if part of it is for a limited queue, none may stay.
            await self._insert_whole(requests[0])
            return
        drafts = [request.drafts[0] for request in requests]
        reservation = self._starter.reserve(drafts) if self._starter is not None else None
        started: dict[UUID, Record] = {}
        is_in_doubt = False
        try:
            inserted = await self._database.run(
                "job_insert_many",
                *_plain_parameters(requests, reservation),
            )
            started = {row["id"]: row for row in inserted if row["started_at"] is not None}
        except RowLocked:
            inserted = []  # a key is just being taken; whose it is, the long way finds out
        except Unknown:
            if reservation is not None and self._starter is not None:
                self._starter.doubt(reservation)
            is_in_doubt = True
            inserted = await self._resolve(requests)
        finally:
            if reservation is not None and self._starter is not None:
                begun = [
                    first_attempt(
                        job_id,
                        reservation.claim_id,
                        request.drafts[0],
                        started[job_id]["started_at"],
                    )
                    for request in requests
                    if (job_id := request.job_ids[0]) in started
                ]
                self._starter.begin(reservation, begun)
        known = {record["id"] for record in inserted}
        for request in requests:
            if request.job_ids[0] in known:
                request.answer = Accepted(job_ids=request.job_ids)
                request.is_started = request.job_ids[0] in started
            elif is_in_doubt:
                request.answer = _in_doubt()

    async def _insert_whole(self, request: Request) -> None:
        """A plain batch, by COPY."""
        queues = sorted({draft.queue for draft in request.drafts})

        async def work(connection: Connection[Record]) -> None:
            free = await connection.fetch(statement("queue_share_many"), queues)
            if len(free) < len(queues):
                raise _TakeTheLongWay
            await copy_in(connection, request, free[0]["now"])

        try:
            await self._database.together(work, lock_seconds=ENQUEUE_LOCK_SECONDS)
        except (_TakeTheLongWay, RowLocked):
            return
        except Unknown:
            if not await self._resolve([request]):
                request.answer = _in_doubt()
                return
        request.answer = Accepted(job_ids=request.job_ids)

    async def _resolve(self, requests: list[Request]) -> list[Record]:
        """What became of an insert whose commit is unknown."""
        wanted = [job_id for request in requests for job_id in request.job_ids]
        return await resolve_unknown_commit(lambda: self._database.run("job_known_many", wanted))

    async def _insert_special(self, requests: list[Request]) -> None:
        try:
            await self._admit(requests, ENQUEUE_LOCK_SECONDS)
        except RowLocked:
            # A key or a parent of one of them is not to be had.
            await self._insert_parts(requests)

    async def _insert_parts(self, requests: list[Request]) -> None:
        """By halves, until whoever needs what is held stands alone."""
        try:
            await self._admit(requests, ENQUEUE_PART_LOCK_SECONDS)
        except RowLocked as trouble:
            if len(requests) == 1:
                [request] = requests
                request.answer = trouble
                request.held_by = request.needs[0]
                return
            half = len(requests) // 2
            await self._insert_apart(requests[:half], self._insert_parts)
            await self._insert_apart(requests[half:], self._insert_parts)

    async def _admit(
        self, requests: list[Request], lock_seconds: float, *, is_waiting: bool = False
    ) -> None:
        queues = sorted({draft.queue for request in requests for draft in request.drafts})

        async def work(connection: Connection[Record]) -> None:
            await admit(connection, requests, self._queue_defaults, is_waiting=is_waiting)

        try:
            try:
                await self._database.run("queue_ensure_many", queues, round(lock_seconds * 1000))
            except RowLocked as trouble:  # another transaction is just making one of them
                if len(queues) > 1:
                    raise
                for request in requests:
                    request.answer, request.held_by = trouble, ("queue", queues[0])
                return
            await self._database.together(work, lock_seconds=lock_seconds)
        except Unknown:
            found = {record["id"] for record in await self._resolve(requests)}
            for request in requests:
                if set(request.job_ids) - request.existing <= found:
                    request.answer = Accepted(job_ids=request.job_ids, existing=request.existing)
                else:
                    request.answer = _in_doubt()

    def _tell(self, requests: list[Request]) -> None:
        self._quota_counts.begin(one for request in requests for one in request.uncounted)
        effects: Effects | None = None  # None: nobody needs to hear of anything
        has_parked = False
        for request in requests:
            if not isinstance(request.answer, Accepted) or request.answer.is_replayed:
                continue
            if request.is_started:
                continue  # nobody needs to look for it
            effects = effects or Effects()
            if request.effects is not None:
                effects.add(request.effects)
            for draft in request.drafts:
                has_parked = has_parked or draft.parked_for is not None
                if not draft.has_parents and draft.parked_for is None:
                    line = (draft.queue, draft.priority)
                    effects.add_line(line, draft.run_at or draft.delay_seconds)
        if effects is not None:
            self._follow(effects)
        if has_parked and self._starter is not None:
            self._starter.parked()


def _in_doubt() -> Unavailable:
    return Unavailable("the commit may not have happened; repeat it with an Idempotency-Key")


def _plain_parameters(
    requests: list[Request], reservation: Reservation | None
) -> tuple[object, ...]:
    columns = insert_columns(requests, reservation.starts if reservation else ())
    columns |= mark_columns(requests)
    columns["is_within_limits"] = False
    columns["node_id"] = reservation.node_id if reservation else None
    columns["claim_id"] = reservation.claim_id if reservation else None
    columns["lock_ms"] = None if requests[0].idempotency is None else ENQUEUE_PART_LOCK_MS
    return bind("job_insert_many", columns)


class _TakeTheLongWay(Exception):
    """Part of a batch needs more than the plain statement; roll back and do it whole."""
