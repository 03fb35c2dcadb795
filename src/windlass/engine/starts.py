"""The door of executions: concurrent starts on a node share commits.

Promises: what engine.start promises, to each alone. One that is refused never fails its neighbours;
a repetition under an Idempotency-Key finds what was answered before, be it in the same breath.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from windlass import ids
from windlass.engine.finished import Finished
from windlass.engine.gather import Gather
from windlass.engine.read_executions import read_many
from windlass.engine.recall import recall_many
from windlass.engine.start import Prepared, Start, begin, prepare
from windlass.errors import NotFound, WindlassError
from windlass.limits import START_BATCH_MAX
from windlass.store.database import Connection, Database, Record


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
            self._perform, batch_max=START_BATCH_MAX, in_flight_max=2
        )

    async def start(self, start: Start) -> Begun:
        """Raises NotFound, InvalidInput, IdempotencyMismatch, and what its policy refuses."""
        return await self._gather.put(start)

    async def _perform(self, starts: list[Start]) -> list[Begun | Exception]:
        prepared = await prepare(self._database.run, starts, is_batch=False)
        answers: Answers = {}
        drafts: dict[int, Prepared] = {}
        for place, one in enumerate(prepared):
            if isinstance(one, Prepared):
                drafts[place] = one
            else:
                answers[place] = one
        queues = sorted({queue for draft in drafts.values() for queue in draft.plan.queues})
        await self._database.run("queue_ensure_many", queues)
        for few in _one_of_each_key(drafts):
            answers |= await self._begin(few)
        return [answers[place] for place in range(len(starts))]

    async def _begin(self, drafts: Drafts) -> Answers:
        """Together; if one of them is refused by what runs already, each alone."""
        try:
            return await self._begin_together(drafts)
        except WindlassError as trouble:
            if len(drafts) == 1:
                return dict.fromkeys(drafts, trouble)
        answers: Answers = {}
        for place, draft in drafts.items():
            answers |= await self._begin({place: draft})
        return answers

    async def _begin_together(self, drafts: Drafts) -> Answers:
        asked = [(draft.start.idempotency, draft.execution_id) for draft in drafts.values()]

        async def work(
            connection: Connection[Record],
        ) -> tuple[list[UUID | WindlassError], Finished]:
            found = await recall_many(connection, asked)
            own = {execution_id for _, execution_id in asked}
            fresh = [
                draft for draft, known in zip(drafts.values(), found, strict=True) if known in own
            ]
            return found, await _begun(connection, fresh)

        found, finished = await self._database.together(work)
        self._on_started(finished)
        rows = await read_many(self._database, [one for one in found if isinstance(one, UUID)])
        return {
            place: _answer(known, rows, is_replayed=known != draft.execution_id)
            for (place, draft), known in zip(drafts.items(), found, strict=True)
        }


async def _begun(connection: Connection[Record], fresh: Sequence[Prepared]) -> Finished:
    if not fresh:
        return Finished()
    return (await begin(connection, fresh, is_divisible=True)).finished


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
