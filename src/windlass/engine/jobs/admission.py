"""Admission control and deduplication: unique keys, idempotency keys, parents, locks, limits of
queues, quotas of callers.

For what the plain insert cannot do (see engine.jobs.enqueue): one statement for each concern and
all requests that need it, in one transaction:

    lock limited queues -> lock quotas -> recall -> parents -> room -> take idempotency
        -> take keys -> parents inside -> insert -> charge -> link -> take locks

Nothing after the room refuses a request except by finding that another was first, so what is
counted is what is inserted. Every statement locks in one order for everybody. What debounces puts
off a job that waits before it is known whether there is room for the rest of its batch: where there
is none, a savepoint undoes it.

A queue or a quota that another transaction holds is not waited for: the requests for it are
answered RowLocked, and their neighbours go on. Keys and parents that others hold are waited for as
long as the caller's lock_timeout says; then the transaction ends with RowLocked, and the caller
finds out whose it was (engine.jobs.enqueue).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from asyncpg.transaction import Transaction

from windlass.engine.effects import Effects
from windlass.engine.identity.quotas import QuotaBook, open_book
from windlass.engine.jobs.parents import check_batch_parents, check_parents, link
from windlass.engine.jobs.request import (
    Accepted,
    Idempotency,
    Request,
    copy_in,
    insert_columns,
    mark_columns,
    special_columns,
)
from windlass.engine.locks.grant import queue_for_limits, take_locks
from windlass.errors import IdempotencyMismatch, QueueFull, QueueRate, Unavailable
from windlass.limits import ENQUEUE_SAME_KEY_MAX
from windlass.model.identity.quota import SubjectQuota
from windlass.model.job.target import RateLimit
from windlass.model.json import strict as strict_json
from windlass.store.database import Connection, Record, RowLocked
from windlass.store.statements import bind, statement


@dataclass(slots=True, kw_only=True)
class QueueDefaults:
    """The owner's defaults for queues that have none of their own. None: no limit."""

    max_jobs: int | None = None
    max_bytes: int | None = None

    @property
    def are_set(self) -> bool:
        return self.max_jobs is not None or self.max_bytes is not None


async def admit(
    connection: Connection[Record],
    requests: list[Request],
    queue_defaults: QueueDefaults,
    *,
    is_waiting: bool = False,  # for queues that others hold
    is_rated: bool = True,  # False: however quickly its queue takes jobs, they may not be lost
) -> None:
    """Answer every request in the caller's transaction, and insert the jobs of those accepted."""
    for request in requests:
        request.begin()
    firsts, rest = _apart(requests)
    await _admit(connection, firsts, queue_defaults, is_waiting, is_rated)
    known: set[tuple[str, str]] = set()  # Idempotency-Keys that are taken by now
    for _ in range(ENQUEUE_SAME_KEY_MAX):
        # By now they find what the first of their kind was answered, and take no room again. Where
        # it was refused it took no key: the next one is judged as if it had not been there.
        firsts, rest = _next_of(rest, firsts, known)
        if not firsts:
            return
        await _admit(connection, firsts, queue_defaults, is_waiting, is_rated)
    for request in rest:
        request.answer = Unavailable("too many different requests of one key at once; repeat it")


def _apart(requests: list[Request]) -> tuple[list[Request], list[Request]]:
    """Requests that can be judged side by side, and those that repeat a key of an earlier one."""
    firsts: list[Request] = []
    repeats: list[Request] = []
    seen: set[tuple[str, ...]] = set()
    for request in requests:
        names = {("key", draft.key) for draft in request.drafts if draft.key is not None}
        own = names | ({(*request.idempotency.name, "mark")} if request.idempotency else set())
        (repeats if own & seen else firsts).append(request)
        seen |= own
    return firsts, repeats


def _next_of(
    rest: list[Request], judged: list[Request], known: set[tuple[str, str]]
) -> tuple[list[Request], list[Request]]:
    """Of those that repeat a key: who can be judged now, and who after them.

    The same request as one that was refused is refused with it. Of others under one Idempotency-Key
    one is judged at a time, until one has taken it (`known`).
    """
    refused: dict[Idempotency, Exception] = {}
    for request in judged:
        if request.idempotency is not None:
            if isinstance(request.answer, Accepted | IdempotencyMismatch):
                known.add(request.idempotency.name)
            elif request.answer is not None:
                refused[request.idempotency] = request.answer
    firsts: list[Request] = []
    later: list[Request] = []
    led = set(known)
    for request in rest:
        mark = request.idempotency
        if mark is None or mark.name in known:
            firsts.append(request)
        elif mark in refused:
            request.answer = refused[mark]
        elif mark.name in led:
            later.append(request)
        else:
            led.add(mark.name)
            firsts.append(request)
    return firsts, later


async def _admit(
    connection: Connection[Record],
    requests: list[Request],
    queue_defaults: QueueDefaults,
    is_waiting: bool,
    is_rated: bool,
) -> None:
    """What a request has put off (debounce) before it was refused is undone, and its neighbours are
    judged again as if it had not been there.
    """
    while requests:
        putting_off = _PuttingOff(connection)
        await _admit_once(connection, requests, queue_defaults, is_waiting, is_rated, putting_off)
        if not await putting_off.undo():
            return
        requests = [request for request in requests if not putting_off.is_by(request)]
        for request in requests:
            request.begin()


class _PuttingOff:
    """What was put off for whom, from a savepoint on."""

    def __init__(self, connection: Connection[Record]) -> None:
        self._connection = connection
        self._savepoint: Transaction | None = None  # None: nothing was
        self._keys: set[str] = set()
        self._requests: list[Request] = []

    async def begin(self, requests: list[Request], keys: Iterable[str]) -> None:
        self._keys.update(keys)
        self._requests = requests
        self._savepoint = self._connection.transaction()
        await self._savepoint.start()

    async def undo(self) -> bool:
        """If one of them was refused after all. Whether there was anything to undo."""
        if self._savepoint is None:
            return False
        if not any(self.is_by(request) for request in self._requests):
            await self._savepoint.commit()
            return False
        await self._savepoint.rollback()
        return True

    def is_by(self, request: Request) -> bool:
        """Was it refused, and had put something off?"""
        return not isinstance(request.answer, Accepted) and any(
            draft.debounce_seconds is not None and draft.key in self._keys
            for draft in request.drafts
        )


async def _admit_once(
    connection: Connection[Record],
    requests: list[Request],
    queue_defaults: QueueDefaults,
    is_waiting: bool,
    is_rated: bool,
    putting_off: _PuttingOff,
) -> None:
    limited = await _lock_limited(connection, requests, queue_defaults, is_waiting)
    rates = _rates(limited) if is_rated else {}
    book = await _open_book(connection, _open(requests), is_waiting)
    # Whatever was answered before is answered again, even when the queue is full by now. Under the
    # locks: whoever filled it a moment ago may have been the first of our kind.
    await _recall(connection, requests, putting_off)
    match _open(requests):
        case [request] if request.is_copied:
            await _admit_alike(connection, request, limited, rates, book)
            return
    waits = await check_parents(connection, _open(requests))
    await _check_room(connection, _open(requests), limited, rates, book)
    await _take_idempotency(connection, _open(requests))
    await _take_keys(connection, _open(requests))
    accepted = _open(requests)
    if not accepted:
        return
    await check_batch_parents(connection, accepted, waits)
    unmet = {child: len(parents) for child, parents in waits.items()}
    columns = {
        **insert_columns(accepted),
        **special_columns(accepted, unmet),
        **mark_columns(()),  # they are taken by now
        "is_within_limits": True,
        "node_id": None,
        "claim_id": None,
        "lock_ms": None,
    }
    await connection.fetch(statement("job_insert_many"), *bind("job_insert_many", columns))
    await _charge(connection, accepted, rates, book)
    await link(connection, accepted, waits)
    await _take_locks(connection, accepted, unmet)
    for request in accepted:
        request.answer = Accepted(job_ids=request.job_ids, existing=request.existing)


async def _admit_alike(
    connection: Connection[Record],
    request: Request,
    limited: dict[str, Record],
    rates: dict[str, _SubmitRate],
    book: QuotaBook,
) -> None:
    """A batch whose jobs name no key, parent or lock: what a client sends that may repeat it."""
    await _check_room(connection, [request], limited, rates, book)
    await _take_idempotency(connection, _open([request]))
    if request.answer is None:
        [clock] = await connection.fetch(statement("database_now"))
        await copy_in(connection, request, clock["now"])
        await _charge(connection, [request], rates, book)
        request.answer = Accepted(job_ids=request.job_ids)


async def _lock_limited(
    connection: Connection[Record],
    requests: list[Request],
    queue_defaults: QueueDefaults,
    is_waiting: bool,
) -> dict[str, Record]:
    """The queues that have a limit, by name, locked until the commit."""
    queues = sorted({draft.queue for request in requests for draft in request.drafts})
    name = "queue_wait_many" if is_waiting else "queue_lock_many"
    records = await connection.fetch(
        statement(name), queues, queue_defaults.max_jobs, queue_defaults.max_bytes
    )
    held = {record["name"] for record in records if not record["is_locked"]}
    for request in requests if held else ():
        for draft in request.drafts:
            if draft.queue in held:
                request.answer = RowLocked(f"another transaction holds queue {draft.queue!r}")
                request.held_by = ("queue", draft.queue)
    return {record["name"]: record for record in records if record["is_locked"]}


async def _open_book(
    connection: Connection[Record], requests: list[Request], is_waiting: bool
) -> QuotaBook:
    """Those whose quota another transaction holds are answered so."""
    book = await open_book(
        connection, (one for request in requests for one in request.quotas), is_waiting=is_waiting
    )
    for request in requests:
        if request.quotas:
            request.answer = book.hindrance(request.quotas)
            if isinstance(request.answer, RowLocked):
                request.held_by = ("quota", request.quotas[-1].name)
    return book


async def _check_room(
    connection: Connection[Record],
    requests: list[Request],
    limited: dict[str, Record],
    rates: dict[str, _SubmitRate],
    book: QuotaBook,
) -> None:
    """In its queues, and in the quotas of who asks: all of a request or nothing."""
    metered = [request for request in requests if request.quotas]
    if not (limited or metered):
        return
    sizes = {}
    if limited:
        sizes = {
            record["queue"]: (record["jobs"], record["bytes"])
            for record in await connection.fetch(statement("queue_size_many"), list(limited))
        }
    if metered:
        await book.recount(connection, _bytes_asked(metered))
    held = {name: list(sizes.get(name, (0, 0))) for name in limited}
    for request in requests:
        asked: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for _, _, draft in request.new:
            if draft.queue in limited:
                asked[draft.queue][0] += 1
                asked[draft.queue][1] += len(draft.input.encode())
        for name, (jobs, size) in asked.items():
            request.answer = request.answer or _refusal(name, limited[name], held[name], jobs, size)
            if name in rates:
                request.answer = request.answer or rates[name].refusal(name, jobs)
        if request.answer is None and request.quotas:
            jobs, size = _asked_by(request)
            request.uncounted = tuple(one for one in request.quotas if one.id in book.uncounted)
            request.answer = book.unknown(request.uncounted)
            if request.answer is not None:
                request.held_by = ("quota", request.uncounted[-1].name)
                continue
            request.answer = book.refusal(request.quotas, jobs, size)
            if request.answer is None:
                book.promise(request.quotas, jobs, size)
        if request.answer is None:
            for name, (jobs, size) in asked.items():
                held[name][0] += jobs
                held[name][1] += size
                if name in rates:
                    rates[name].take(jobs)


async def _charge(
    connection: Connection[Record],
    accepted: list[Request],
    rates: dict[str, _SubmitRate],
    book: QuotaBook,
) -> None:
    """What has come: perhaps less than there was room for, as others were first to take a key."""
    if rates:
        came = Counter(d.queue for request in accepted for _, _, d in request.new)
        names = [name for name in rates if came[name]]
        if names:
            counts = [came[name] for name in names]
            await connection.fetch(statement("queue_submitted_many"), names, counts)
    for request in accepted:
        if request.quotas:
            jobs, size = _asked_by(request)
            book.admitted(request.quotas, jobs, size, [made for _, made, _ in request.new])
    await book.charge(connection)


def _asked_by(request: Request) -> tuple[int, int]:
    """Jobs and bytes of their input."""
    new = request.new
    return len(new), sum(len(draft.input.encode()) for _, _, draft in new)


def _bytes_asked(metered: list[Request]) -> dict[UUID, tuple[SubjectQuota, int]]:
    asked: dict[UUID, tuple[SubjectQuota, int]] = {}
    for request in metered:
        _, size = _asked_by(request)
        for one in request.quotas:
            before = asked.get(one.id, (one, 0))[1]
            asked[one.id] = (one, before + size)
    return asked


class _SubmitRate:
    """How quickly a queue takes jobs (GCRA): a second's worth at once. A batch larger than that
    waits until nothing was taken for as long, and those behind it as long as it would have taken
    one by one: or it could never come.
    """

    def __init__(self, rate: float, ahead_seconds: float) -> None:
        self._rate = rate
        self._tolerance = max(0.0, 1 - 1 / rate)
        self._limit = RateLimit(ahead_seconds)

    def refusal(self, queue: str, jobs: int) -> QueueRate | None:
        burst = RateLimit().room(self._rate, 0.0, self._tolerance)
        needed = min(jobs, burst)
        room = self._limit.room(self._rate, 0.0, self._tolerance)
        if room >= needed:
            return None
        return QueueRate(
            queue=queue,
            limit=self._rate,
            current=burst - room,
            requested=jobs,
            wait_seconds=self._limit.due_at - self._tolerance + (needed - 1) / self._rate,
        )

    def take(self, jobs: int) -> None:
        self._limit.due_at += jobs / self._rate


def _rates(limited: dict[str, Record]) -> dict[str, _SubmitRate]:
    return {
        name: _SubmitRate(record["submit_rate"], record["submit_ahead"])
        for name, record in limited.items()
        if record["submit_rate"] is not None
    }


def _open(requests: list[Request]) -> list[Request]:
    return [request for request in requests if request.answer is None]


def _refusal(
    name: str, queue_limits: Record, held: list[int], jobs: int, size: int
) -> QueueFull | None:
    if queue_limits["max_jobs"] is not None and held[0] + jobs > queue_limits["max_jobs"]:
        return QueueFull(
            queue=name, limit=queue_limits["max_jobs"], current=held[0], requested=jobs, unit="jobs"
        )
    if queue_limits["max_bytes"] is not None and held[1] + size > queue_limits["max_bytes"]:
        return QueueFull(
            queue=name,
            limit=queue_limits["max_bytes"],
            current=held[1],
            requested=size,
            unit="bytes",
        )
    return None


async def _recall(
    connection: Connection[Record], requests: list[Request], putting_off: _PuttingOff
) -> None:
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
        records = await connection.fetch(statement("key_get_many"), keys)
        freed = await _free_keys(connection, _open(requests), records, putting_off)
        _use_holders(_open(requests), [row for row in records if row["key"] not in freed])


async def _free_keys(
    connection: Connection[Record],
    requests: list[Request],
    records: list[Record],
    putting_off: _PuttingOff,
) -> set[str]:
    """The keys that are to be had again: their time is over, or the job that has one has started
    and a debounced one is to follow it. Where it has not, it is put off.
    """
    over = {row["key"]: row["job_id"] for row in records if row["is_over"]}
    holders = {row["key"]: row["job_id"] for row in records if row["key"] not in over}
    pauses = {
        draft.key: draft
        for request in requests
        for draft in request.drafts
        if draft.key in holders and draft.debounce_seconds is not None
    }
    if pauses:
        await putting_off.begin(requests, [key for key in pauses if key is not None])
        rows = await connection.fetch(
            statement("job_debounce_many"),
            [holders[key] for key in pauses],
            [draft.debounce_seconds for draft in pauses.values()],
            [draft.debounce_max_seconds for draft in pauses.values()],
            [draft.input for draft in pauses.values()],
            [draft.kind for draft in pauses.values()],
            [draft.target for draft in pauses.values()],
            [draft.task for draft in pauses.values()],
            [draft.limits for draft in pauses.values()],
            [strict_json.write(list(draft.limit_locks)) for draft in pauses.values()],
        )
        put_off = {row["id"] for row in rows}
        over |= {key: holders[key] for key in pauses if holders[key] not in put_off}
    if over:
        await connection.fetch(statement("key_free_many"), list(over), list(over.values()))
    return set(over)


def _answer_known(requests: list[Request], records: dict[tuple[str, str], Record]) -> None:
    for request in requests:
        mark = request.idempotency
        record = records.get((mark.owner, mark.key)) if mark is not None else None
        if mark is None or record is None:
            continue
        if record["body_hash"] != mark.body_hash:
            # Even if both lead to the same job, by a unique key: its input is the other's.
            request.answer = IdempotencyMismatch(mark.key)
        elif list(record["job_ids"]) != request.job_ids:
            request.answer = Accepted(job_ids=list(record["job_ids"]), is_replayed=True)


def _use_holders(requests: list[Request], records: list[Record]) -> None:
    """A job whose unique key is taken is answered with the job that has it."""
    holders = {record["key"]: record["job_id"] for record in records}
    for request in requests:
        for place, draft in enumerate(request.drafts):
            holder = holders.get(draft.key) if draft.key is not None else None
            if holder is not None:
                request.job_ids[place] = holder


async def _take_idempotency(connection: Connection[Record], requests: list[Request]) -> None:
    keyed = [(r, r.idempotency) for r in requests if r.idempotency is not None]
    if not keyed:
        return
    made = await connection.fetch(
        statement("idempotency_take_many"),
        [mark.owner for _, mark in keyed],
        [mark.key for _, mark in keyed],
        [mark.body_hash for _, mark in keyed],
        [_joined(request.job_ids) for request, _ in keyed],
    )
    ours = {(record["owner"], record["key"]) for record in made}
    others = [(r, mark) for r, mark in keyed if (mark.owner, mark.key) not in ours]
    if not others:
        return
    # Read by a newer snapshot: where another request was first, its answer is ours too.
    records = await connection.fetch(
        statement("idempotency_get_many"),
        [mark.owner for _, mark in others],
        [mark.key for _, mark in others],
    )
    _answer_known([r for r, _ in others], {(r["owner"], r["key"]): r for r in records})


async def _take_keys(connection: Connection[Record], requests: list[Request]) -> None:
    wanted: dict[str, tuple[UUID, float | None]] = {}
    for request in requests:
        for _, job_id, draft in request.new:
            if draft.key is not None:
                wanted.setdefault(draft.key, (job_id, draft.unique_seconds))
    if not wanted:
        return
    await connection.fetch(
        statement("key_take_many"),
        list(wanted),
        [job_id for job_id, _ in wanted.values()],
        [seconds for _, seconds in wanted.values()],
    )
    before = [request.job_ids[:] for request in requests]
    _use_holders(requests, await connection.fetch(statement("key_get_many"), list(wanted)))
    moved = [r for r, known in zip(requests, before, strict=True) if r.job_ids != known]
    marked = [(r, r.idempotency) for r in moved if r.idempotency is not None]
    if marked:
        # Somebody else was first to take a key: a repeat must be told of that job, not of ours.
        await connection.fetch(
            statement("idempotency_correct_many"),
            [mark.owner for _, mark in marked],
            [mark.key for _, mark in marked],
            [_joined(request.job_ids) for request, _ in marked],
        )


async def _take_locks(
    connection: Connection[Record], requests: list[Request], unmet: dict[UUID, int]
) -> None:
    """Let the new jobs take their turn: a lock that is free is theirs with this commit."""
    new = [
        (request, job_id, draft)
        for request in requests
        for _, job_id, draft in request.new
        if draft.has_locks
    ]
    if not new:
        return
    sized = {ask.name: ask.capacity for _, _, draft in new for ask in draft.locks if ask.capacity}
    if sized:
        await connection.fetch(statement("lock_make_many"), list(sized), list(sized.values()))
    effects = new[0][0].effects = Effects()
    entering = [(job_id, draft) for _, job_id, draft in new if not unmet.get(job_id)]
    # Of limits nobody waits for the rows: whoever looks next sees to all who came until then.
    limited = [job_id for job_id, draft in entering if not draft.locks]
    if limited:
        effects.add(await queue_for_limits(connection, limited))
    effects.parked_for_lock = [job_id for job_id, draft in entering if draft.locks]
    await take_locks(connection, effects)


def _joined(job_ids: list[UUID]) -> str:
    return ",".join([job_id.hex for job_id in job_ids])
