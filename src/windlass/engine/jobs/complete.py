"""Asynchronous completion: jobs that their receivers took over, ended by a callback with a token.

A delivery carries a random token; a receiver that answers "later" shows it when it knows how the
work ended, or to get more time. Of the token only the hash is kept, in the row of the one attempt
it was made for. A receiver that does not come in time is given up on (engine.jobs.rescue, which any
node may do at any time): to the job that is an attempt that timed out. It is tried again or dead,
as its policy says, and the token of that attempt is good for nothing any more.

Promises: a token ends its attempt at most once, by the same fence as every other end (G2), and none
but the bearer of the token does so. Whoever is told that it went well finds just what it said: of
several different completions one is kept, and the others are refused. The same completion said
twice gets the same answer, as long as the job has ended by it; after a failure that is tried again
the token is nobody's any more, and the second is refused (NotAwaiting). One that comes before its
delivery is on record waits for that, or is told to come again (NotSettledYet); it is never refused
for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from uuid import UUID

from windlass import ids
from windlass.chance import chance
from windlass.clock import monotonic
from windlass.engine.effects import Effects
from windlass.engine.gather import Gather
from windlass.engine.jobs.end import attempt_of, settle_in
from windlass.engine.jobs.finish import Settled, finish
from windlass.errors import NotAwaiting, NotFound, NotSettledYet, WrongToken
from windlass.limits import (
    COMPLETE_BATCH_MAX,
    EARLY_CALLERS_MAX,
    EARLY_LOOK_SECONDS,
    EARLY_LOOK_SECONDS_MAX,
    EARLY_SECONDS,
)
from windlass.model.job.outcome import Cancelled, Failed, Succeeded
from windlass.model.job.settle import Settlement, explain_failure, settle
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """A completion on its way to the database."""

    settlement: Settlement
    node_id: UUID  # which delivered it
    outcome: Succeeded | Failed


class Completer:
    """The door for receivers that call back. Looks and ends of many at once are gathered: each
    takes one connection of the node, however many call.
    """

    def __init__(
        self,
        database: Database,
        tell: Callable[[Effects], None],
        early_seconds: float | None = None,  # None: EARLY_SECONDS
    ) -> None:
        self._database = database
        self._tell = tell
        self._early_seconds = early_seconds
        self._waiting = 0
        self._looks: Gather[UUID, Record] = Gather(self._look, batch_max=COMPLETE_BATCH_MAX)
        self._ends: Gather[_End, bool] = Gather(self._end, batch_max=COMPLETE_BATCH_MAX)

    async def complete(self, job_id: UUID, token: str, outcome: Succeeded | Failed) -> None:
        """End the attempt, as the receiver says. Raises NotFound, WrongToken, NotAwaiting, and
        NotSettledYet.
        """
        row = await self._find(job_id)
        _check(row, token)
        if row["callback_until"] is None:
            if not _is_said_again(row, outcome):
                raise _not_awaiting(row)
            return
        settlement = settle(attempt_of(row), outcome, chance())
        end = _End(settlement=settlement, node_id=row["node_id"], outcome=outcome)
        if not await self._ends.put(end):
            # Somebody was quicker: another completion, a cancel, or the end of our patience.
            row = await self._looks.put(job_id)
            if not (_is_said_again(row, outcome) or await self._was_tried(settlement)):
                raise _not_awaiting(row)

    async def extend(self, job_id: UUID, token: str, seconds: float) -> datetime:
        """Give the receiver so long from now on; returns until when. Raises as `complete`."""
        row = await self._find(job_id)
        _check(row, token)
        if row["callback_until"] is not None:
            fence = (row["attempt"], row["claim_id"])

            async def work(connection: Connection[Record]) -> list[Record]:
                return await connection.fetch(
                    statement("job_callback_extend"), job_id, *fence, seconds
                )

            for extended in await self._database.settle_asked(work):
                until: datetime = extended["callback_until"]
                return until
        raise _not_awaiting(row)

    async def _find(self, job_id: UUID) -> Record:
        """The job, given a moment to come to wait for its receiver if it runs at present."""
        row = await self._looks.put(job_id)
        if not _is_early(row):
            return row
        if self._waiting >= EARLY_CALLERS_MAX:
            raise NotSettledYet(ids.show("job", job_id))
        self._waiting += 1
        try:
            return await self._wait_for(job_id)
        finally:
            self._waiting -= 1

    async def _wait_for(self, job_id: UUID) -> Record:
        patience = EARLY_SECONDS if self._early_seconds is None else self._early_seconds
        give_up_at = monotonic() + patience
        rest = EARLY_LOOK_SECONDS
        while monotonic() < give_up_at:
            await asyncio.sleep(rest)
            row = await self._looks.put(job_id)
            if not _is_early(row):
                return row
            rest = min(rest * 2, EARLY_LOOK_SECONDS_MAX)
        raise NotSettledYet(ids.show("job", job_id))

    async def _look(self, job_ids: list[UUID]) -> list[Record | Exception]:
        rows = await self._database.read("job_callback_get_many", list(set(job_ids)))
        found = {row["id"]: row for row in rows}
        return [found.get(job) or NotFound("job", ids.show("job", job)) for job in job_ids]

    async def _end(self, ends: list[_End]) -> list[bool | Exception]:
        """Was it this completion that took effect? Of those of one job the first is tried."""
        first = {end.settlement.job_id: end for end in reversed(ends)}
        answers = await self._apply(list(first.values()))
        return [
            answers[end.settlement.job_id] if first[end.settlement.job_id] is end else False
            for end in ends
        ]

    async def _apply(self, ends: Sequence[_End]) -> dict[UUID, bool | Exception]:
        """Together; and if that fails, by halves, so that each has its own answer."""
        try:
            answers: dict[UUID, bool | Exception] = {}
            for node_id in {end.node_id for end in ends}:
                mine = [end.settlement for end in ends if end.node_id == node_id]
                settled = await finish(self._database, node_id, mine)
                self._tell(settled.effects)
                answers |= {one.job_id: _took_effect(one, settled) for one in mine}
        except Exception as trouble:
            if len(ends) == 1:
                return {ends[0].settlement.job_id: trouble}
            half = len(ends) // 2
            # What was done before the failure is recognised, and compared with what was said.
            return await self._apply(ends[:half]) | await self._apply(ends[half:])
        return answers

    async def _was_tried(self, settlement: Settlement) -> bool:
        """Has that failure been noted, and the job given back for another try?"""
        rows = await self._database.read("attempt_list", [settlement.job_id])
        fence = (settlement.attempt, settlement.claim_id, settlement.outcome, settlement.error)
        return settlement.outcome == Failed.name and fence in [
            (row["attempt"], row["claim_id"], row["outcome"], row["error"]) for row in rows
        ]


async def complete(
    database: Database,
    job_id: UUID,
    token: str,
    outcome: Succeeded | Failed,
    early_seconds: float | None = None,
) -> Effects:
    """One alone; returns what came of it."""
    effects = Effects()
    await Completer(database, effects.add, early_seconds).complete(job_id, token, outcome)
    return effects


async def extend(
    database: Database,
    job_id: UUID,
    token: str,
    seconds: float,
    early_seconds: float | None = None,
) -> datetime:
    completer = Completer(database, lambda _: None, early_seconds)
    return await completer.extend(job_id, token, seconds)


async def cancel_awaited(connection: Connection[Record], job_ids: Sequence[UUID]) -> Effects:
    """Cancel those that wait for their receivers, in the transaction that asked them to stop."""
    if not job_ids:
        return Effects()
    rows = await connection.fetch(statement("job_callback_get_many"), list(job_ids))
    awaited = [row for row in rows if row["callback_until"] is not None]
    return await settle_in(
        connection, [(row["node_id"], settle(attempt_of(row), Cancelled(), 0)) for row in awaited]
    )


def _check(row: Record, token: str) -> None:
    """Is the token that of the newest attempt? One that has none yet, or no more, cannot say."""
    if row["callback_hash"] is None:
        raise _not_awaiting(row)
    # What is no ASCII is no token of ours, but must be compared without ado.
    shown = sha256(token.encode("utf-8", "replace")).digest()
    if not compare_digest(shown, row["callback_hash"]):
        raise WrongToken(ids.show("job", row["id"]))


def _is_early(row: Record) -> bool:
    """Does it run, and may come to wait for its receiver any moment?"""
    return row["state"] == "running" and row["callback_until"] is None


def _took_effect(settlement: Settlement, settled: Settled) -> bool:
    job_id = settlement.job_id
    if job_id in settled.refused or job_id in settled.recognised:
        return False
    return settled.effects.ended.get(job_id, settlement.state) == settlement.state


def _is_said_again(row: Record, outcome: Succeeded | Failed) -> bool:
    """Has it ended in just the way that is being said?"""
    if isinstance(outcome, Failed):
        _, error = explain_failure(outcome)
        return (row["state"], row["outcome"], row["error"]) == ("dead", outcome.name, error)
    result = None if outcome.result is None else outcome.result.decode()
    return (row["state"], row["outcome"], row["result"]) == ("succeeded", outcome.name, result)


def _not_awaiting(row: Record) -> NotAwaiting:
    return NotAwaiting(ids.show("job", row["id"]), row["state"])
