"""The door of executions: concurrent starts on a node share commits.

Promises: what engine.start promises, to each alone. One that is refused never fails its neighbours;
a repetition under an Idempotency-Key finds what was answered before, be it in the same breath. One
whose expressions or schema take a while leaves the others at once and has a line of its own, in
which each caller has so many places; who finds none is told to come again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias
from uuid import UUID

from windlass import ids
from windlass.engine.finished import Finished
from windlass.engine.gather import Gather
from windlass.engine.read_executions import read_many
from windlass.engine.recall import recall_many
from windlass.engine.start import Prepared, Start, Weight, begin, prepare
from windlass.engine.turn_apart import WAITING, HeavyStarts
from windlass.errors import NotFound, WindlassError
from windlass.limits import ENQUEUE_LOCK_MS, ENQUEUE_PART_LOCK_MS, START_BATCH_MAX
from windlass.store.database import Connection, Database, Held, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    row: Record  # of the execution
    is_replayed: bool  # the same Idempotency-Key was answered before


# By the place of each start among those that came together.
Drafts: TypeAlias = Mapping[int, Prepared]
Answers: TypeAlias = dict[int, Begun | Exception]


class Starts:
    def __init__(self, database: Database, on_started: Callable[[Finished], None]) -> None:
        self._database = database
        self._on_started = on_started  # after the commit
        self._gather: Gather[Start, Begun] = Gather(
            partial(self._perform, Weight.LIGHT), batch_max=START_BATCH_MAX, in_flight_max=2
        )
        # One transaction each; while one is evaluated, the other is written.
        self._heavy: Gather[Start, Begun] = Gather(
            partial(self._perform, Weight.HEAVY), batch_max=1, in_flight_max=2
        )

    async def start(self, start: Start) -> Begun:
        """Raises NotFound, InvalidInput, IdempotencyMismatch, EvaluationsFull, and what its policy
        refuses.
        """
        try:
            return await self._gather.put(start)
        except HeavyStarts:
            pass
        with WAITING.place(start.owner):
            return await self._heavy.put(start)

    async def _perform(self, weight: Weight, starts: list[Start]) -> list[Begun | Exception]:
        prepared = await prepare(self._database.run, starts, is_batch=False, weight=weight)
        answers: Answers = {}
        drafts: dict[int, Prepared] = {}
        for place, one in enumerate(prepared):
            if isinstance(one, Prepared):
                drafts[place] = one
            else:
                answers[place] = one
        held = await self._make_queues(drafts)
        answers |= held
        for place in held:
            del drafts[place]
        for few in _one_of_each_key(drafts):
            answers |= await self._begin(few, weight)
        return [answers[place] for place in range(len(starts))]

    async def _make_queues(self, drafts: Drafts) -> dict[int, Held]:
        """Those whose queues another transaction is just making, and has not committed."""
        queues = sorted({queue for draft in drafts.values() for queue in draft.plan.queues})
        held: dict[int, Held] = {}
        try:
            await self._database.run("queue_ensure_many", queues, ENQUEUE_LOCK_MS)
        except Held:
            for place, draft in drafts.items():
                try:
                    names = sorted(draft.plan.queues)
                    await self._database.run("queue_ensure_many", names, ENQUEUE_PART_LOCK_MS)
                except Held as trouble:
                    held[place] = trouble
        return held

    async def _begin(self, drafts: Drafts, weight: Weight) -> Answers:
        """Together; if one of them is refused by what runs already, each alone. Without those that
        take a while, where they are not wanted.
        """
        try:
            return await self._begin_together(drafts, weight)
        except HeavyStarts as trouble:
            answers: Answers = {
                place: trouble
                for place, draft in drafts.items()
                if draft.execution_id in trouble.execution_ids
            }
            rest = {place: draft for place, draft in drafts.items() if place not in answers}
            return answers | await self._begin(rest, weight) if rest else answers
        except WindlassError as trouble:
            if len(drafts) == 1:
                return dict.fromkeys(drafts, trouble)
        answers = {}
        for place, draft in drafts.items():
            answers |= await self._begin({place: draft}, weight)
        return answers

    async def _begin_together(self, drafts: Drafts, weight: Weight) -> Answers:
        asked = [(draft.start.idempotency, draft.execution_id) for draft in drafts.values()]

        async def work(
            connection: Connection[Record],
        ) -> tuple[list[UUID | WindlassError], Finished]:
            found = await recall_many(connection, asked)
            own = {execution_id for _, execution_id in asked}
            fresh = [
                draft for draft, known in zip(drafts.values(), found, strict=True) if known in own
            ]
            return found, await _begun(connection, fresh, weight)

        found, finished = await self._database.together(work)
        self._on_started(finished)
        rows = await read_many(self._database, [one for one in found if isinstance(one, UUID)])
        return {
            place: _answer(known, rows, is_replayed=known != draft.execution_id)
            for (place, draft), known in zip(drafts.items(), found, strict=True)
        }


async def _begun(
    connection: Connection[Record], fresh: Sequence[Prepared], weight: Weight
) -> Finished:
    if not fresh:
        return Finished()
    return (await begin(connection, fresh, is_divisible=True, weight=weight)).finished


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
) -> Begun | Exception:
    if isinstance(known, WindlassError):
        return known
    if known not in rows:  # it was answered before, and has gone with the retention
        return NotFound("execution", ids.show("execution", known))
    return Begun(row=rows[known], is_replayed=is_replayed)
