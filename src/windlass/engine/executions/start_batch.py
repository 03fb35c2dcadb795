"""Start executions by batches (group commit): concurrent starts on a node share commits.

Those that need nothing but an insert take one statement (engine.executions.start_plain); the others
take the way of engine.executions.start.

Promises: what engine.executions.start promises, to each alone. A commit whose fate is unknown is
resolved by looking, and nothing is begun twice for it. One that is refused never fails its
neighbours; a repetition under an Idempotency-Key finds what was answered before, be it in the same
breath. One whose expressions or schema take a while leaves the others at once and waits among its
like, of which each caller may have so many; who has more is told to come again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias
from uuid import UUID

from windlass import ids
from windlass.clock import monotonic
from windlass.engine.effects import Effects
from windlass.engine.executions.concurrency import Key, hold_keys
from windlass.engine.executions.decide_apart import WAITING, HeavyStarts
from windlass.engine.executions.read import read_many
from windlass.engine.executions.start import Prepared, Start, Weight, begin, prepare
from windlass.engine.executions.start_plain import PlainStarts
from windlass.engine.gather import Gather
from windlass.engine.idempotency import give_back_many, recall_many
from windlass.engine.identity.quotas import QuotaBook, QuotaRows, open_book
from windlass.engine.jobs.request import resolve_unknown_commit
from windlass.engine.upcalls import Starter
from windlass.errors import NotFound, Unavailable, WindlassError
from windlass.limits import (
    ENQUEUE_HELD_REST_SECONDS,
    ENQUEUE_HELD_REST_SECONDS_MAX,
    ENQUEUE_HELD_SECONDS,
    ENQUEUE_LOCK_MS,
    ENQUEUE_LOCK_SECONDS,
    ENQUEUE_PART_LOCK_MS,
    ENQUEUE_PART_LOCK_SECONDS,
    START_BATCH_MAX,
)
from windlass.model.row import Row
from windlass.store.database import (
    Connection,
    Database,
    Record,
    RowLocked,
    TooSlow,
    Unknown,
    wait_at_most,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedExecution:
    row: Row  # of the execution, as execution_list has it
    is_replayed: bool  # the same Idempotency-Key was answered before


# By the place of each start among those that came together.
Drafts: TypeAlias = Mapping[int, Prepared]
Answers: TypeAlias = dict[int, StartedExecution | Exception]


class ExecutionStarter:
    def __init__(
        self,
        database: Database,
        on_started: Callable[[Effects], None],  # after the commit
        starter: Starter | None = None,  # None: this process runs nothing
    ) -> None:
        self._database = database
        self._on_started = on_started
        self._quota_rows = QuotaRows(database)
        self._plain = PlainStarts(database, on_started, starter)
        self._plainly: Gather[Start, Row | None] = Gather(
            self._plain.perform, batch_max=START_BATCH_MAX, in_flight_max=2
        )
        # Those with an Idempotency-Key, who may have to wait for it.
        self._keyed: Gather[Start, Row | None] = Gather(
            self._plain.perform, batch_max=START_BATCH_MAX, in_flight_max=2
        )
        self._gather: Gather[Start, StartedExecution] = Gather(
            partial(self._perform, Weight.LIGHT), batch_max=START_BATCH_MAX, in_flight_max=2
        )
        # Those who need a row that somebody holds come again here, where they keep nobody waiting.
        self._held: Gather[Start, StartedExecution] = Gather(
            partial(self._perform, Weight.LIGHT), batch_max=1, in_flight_max=1
        )
        # One transaction each; while one is evaluated, the other is written.
        self._heavy: Gather[Start, StartedExecution] = Gather(
            partial(self._perform, Weight.HEAVY), batch_max=1, in_flight_max=2
        )

    async def start(self, start: Start) -> StartedExecution:
        """Raises NotFound, InvalidInput, IdempotencyMismatch, EvaluationsFull, QuotaExceeded, what
        its policy refuses, and RowLocked when somebody keeps what it needs for
        ENQUEUE_HELD_SECONDS.
        """
        if start.quotas:
            await self._quota_rows.ensure(start.quotas)
        if self._plain.may_take(start):
            lane = self._plainly if start.idempotency is None else self._keyed
            row = await lane.put(start)
            if row is not None:
                return StartedExecution(row=row, is_replayed=False)
        try:
            return await _patiently(start, self._gather, self._held)
        except HeavyStarts:
            pass
        with WAITING.admit(start.owner):
            return await _patiently(start, self._heavy, self._heavy)

    async def _perform(
        self, weight: Weight, starts: list[Start]
    ) -> list[StartedExecution | Exception]:
        prepared = await prepare(self._database.run, starts, is_batch=False, weight=weight)
        answers: Answers = {}
        drafts: dict[int, Prepared] = {}
        for place, one in enumerate(prepared):
            if isinstance(one, Prepared):
                drafts[place] = one
                self._plain.remember(one.start, one.version, one.digest)
            else:
                answers[place] = one
        held = await self._make_queues(drafts)
        answers |= held
        for place in held:
            del drafts[place]
        for few in _one_of_each_key(drafts):
            answers |= await self._begin(few, weight)
        return [answers[place] for place in range(len(starts))]

    async def _make_queues(self, drafts: Drafts) -> dict[int, RowLocked]:
        """Those whose queues another transaction is just making, and has not committed."""
        queues = sorted({queue for draft in drafts.values() for queue in draft.plan.queues})
        held: dict[int, RowLocked] = {}
        try:
            await self._database.run("queue_ensure_many", queues, ENQUEUE_LOCK_MS)
        except RowLocked:
            for place, draft in drafts.items():
                try:
                    names = sorted(draft.plan.queues)
                    await self._database.run("queue_ensure_many", names, ENQUEUE_PART_LOCK_MS)
                except RowLocked as trouble:
                    held[place] = trouble
        return held

    async def _begin(
        self, drafts: Drafts, weight: Weight, lock_seconds: float = ENQUEUE_LOCK_SECONDS
    ) -> Answers:
        """Together; if one of them is refused by what runs already, or needs what somebody holds,
        apart. Without those that take a while, where they are not wanted.
        """
        try:
            return await self._begin_together(drafts, weight, lock_seconds)
        except HeavyStarts as trouble:
            answers: Answers = {
                place: trouble
                for place, draft in drafts.items()
                if draft.execution_id in trouble.execution_ids
            }
            rest = {place: draft for place, draft in drafts.items() if place not in answers}
            return answers | await self._begin(rest, weight, lock_seconds) if rest else answers
        except WindlassError as trouble:
            if len(drafts) == 1:
                return dict.fromkeys(drafts, trouble)
            if isinstance(trouble, RowLocked):  # by halves: each part may have to wait again
                answers = {}
                for half in _halves(drafts):
                    answers |= await self._begin(half, weight, ENQUEUE_PART_LOCK_SECONDS)
                return answers
        answers = {}
        for place, draft in drafts.items():
            answers |= await self._begin({place: draft}, weight, lock_seconds)
        return answers

    async def _begin_together(self, drafts: Drafts, weight: Weight, lock_seconds: float) -> Answers:
        asked = [(draft.start.idempotency, draft.execution_id) for draft in drafts.values()]

        async def work(
            connection: Connection[Record],
        ) -> tuple[list[UUID | WindlassError], Effects]:
            # Keys are held by transactions like this one alone, to their commit; how long that
            # takes is nobody's trouble. Locks of its first steps, and executions that make room for
            # it, may be somebody's.
            await hold_keys(connection, _keys_of(drafts))
            await wait_at_most(connection, lock_seconds)
            # A quota is held by transactions that admit jobs, for as long as this one.
            quotas = [one for draft in drafts.values() for one in draft.start.quotas]
            book = await open_book(connection, quotas, is_waiting=True)
            recalled = await recall_many(connection, asked)
            own = {execution_id for _, execution_id in asked}
            found: list[UUID | WindlassError] = []
            fresh, spent = [], []
            for draft, known in zip(drafts.values(), recalled, strict=True):
                refused = _refused_by_quota(book, draft.start) if known in own else None
                found.append(refused or known)
                if refused is None and known in own:
                    fresh.append(draft)
                elif refused is not None and draft.start.idempotency is not None:
                    spent.append((draft.start.idempotency, draft.execution_id))
            await give_back_many(connection, spent)
            effects = await _begun(connection, fresh, weight)
            await book.charge(connection)
            return found, effects

        try:
            found, effects = await self._database.together(work)
        except TooSlow:
            raise
        except Unknown as trouble:
            return await self._look_for(drafts, trouble)
        self._on_started(effects)
        begun = [one for one in found if isinstance(one, UUID)]
        try:
            rows = await resolve_unknown_commit(lambda: read_many(self._database, begun))
        except Unavailable as trouble:
            return dict.fromkeys(drafts, trouble)
        return {
            place: _answer(known, rows, is_replayed=known != draft.execution_id)
            for (place, draft), known in zip(drafts.items(), found, strict=True)
        }

    async def _look_for(self, drafts: Drafts, trouble: Unknown) -> Answers:
        """What became of a commit whose answer was lost. The ids were made here: what is there was
        begun. Nothing is begun again, as it would find itself in its way.
        """
        asked = [draft.execution_id for draft in drafts.values()]
        try:
            rows = await resolve_unknown_commit(lambda: read_many(self._database, asked))
        except Unavailable:
            return dict.fromkeys(drafts, trouble)
        return {
            place: StartedExecution(row=rows[draft.execution_id], is_replayed=False)
            if draft.execution_id in rows
            else trouble
            for place, draft in drafts.items()
        }


def _refused_by_quota(book: QuotaBook, start: Start) -> WindlassError | None:
    """None: it may begin, and is charged. An execution counts as one job, whatever its steps."""
    if not start.quotas:
        return None
    refused = book.hindrance(start.quotas) or book.refusal(start.quotas, 1, 0)
    if refused is None:
        book.promise(start.quotas, 1, 0)
        book.admitted(start.quotas, 1, 0)
    return refused


def _keys_of(drafts: Drafts) -> set[Key]:
    """That they share with others, who may be counted."""
    return {
        (draft.start.workflow, draft.key)
        for draft in drafts.values()
        if draft.key is not None and draft.concurrency is not None
    }


async def _begun(
    connection: Connection[Record], fresh: Sequence[Prepared], weight: Weight
) -> Effects:
    if not fresh:
        return Effects()
    return (await begin(connection, fresh, is_divisible=True, weight=weight)).effects


async def _patiently(
    start: Start, lane: Gather[Start, StartedExecution], again: Gather[Start, StartedExecution]
) -> StartedExecution:
    """By this lane; while somebody holds what it needs, by the other, for a while."""
    until, rest = monotonic() + ENQUEUE_HELD_SECONDS, ENQUEUE_HELD_REST_SECONDS
    while True:
        try:
            return await lane.put(start)
        except RowLocked:
            if monotonic() >= until:
                raise
        lane = again
        await asyncio.sleep(rest)
        rest = min(2 * rest, ENQUEUE_HELD_REST_SECONDS_MAX)


def _halves(drafts: Drafts) -> tuple[Drafts, Drafts]:
    places = list(drafts)
    middle = len(places) // 2
    return (
        {place: drafts[place] for place in places[:middle]},
        {place: drafts[place] for place in places[middle:]},
    )


def _one_of_each_key(drafts: Drafts) -> Iterator[Drafts]:
    """Those of one key after each other: the second is to find what the first was answered."""
    left = dict(drafts)
    while left:
        firsts: dict[object, int] = {}
        for place, draft in left.items():
            mark = draft.start.idempotency
            firsts.setdefault(place if mark is None else (mark.owner, mark.key), place)
        yield {place: left.pop(place) for place in firsts.values()}


def _answer(
    known: UUID | WindlassError, rows: Mapping[UUID, Record], *, is_replayed: bool
) -> StartedExecution | Exception:
    if isinstance(known, WindlassError):
        return known
    if known not in rows:  # it was answered before, and has gone with the retention
        return NotFound("execution", ids.show("execution", known))
    return StartedExecution(row=rows[known], is_replayed=is_replayed)
