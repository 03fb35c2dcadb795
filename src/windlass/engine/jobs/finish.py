"""Finish attempts: apply settlements by their fencing token, many at a time.

    batch -+- `queued`   tried again, or rests          job_requeue_many
           +- `running`  left to its receiver           job_await_many
           '- terminal   plain ones by one statement, those with children or an execution in a
                         transaction with what follows  engine.jobs.end

Owns: the way of a job out of `running`, or to its receiver. `finish` does it in transactions of its
own, `finish_own` in the one in which the job's task wrote.
Promises: a settlement is applied at most once, and only while its fence (attempt number and claim
id) is the newest (G2); a job that somebody asked to cancel never ends `succeeded` (G7). One bad row
never fails its neighbours. Of a job that ends in its task's transaction, end and effects are
committed together or not at all (G4).
Never: calls the network, reads the clock, or decides a retry (see model.job.settle).
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from windlass.engine.effects import Effects
from windlass.engine.executions.checkpoint_waits import rest_until_signal
from windlass.engine.executions.early_start import StepStarts
from windlass.engine.jobs.end import end_columns, end_in, requeue_columns
from windlass.engine.upcalls import StepStarter
from windlass.model.job.settle import Settlement
from windlass.model.job.states import TERMINAL
from windlass.store.database import Connection, Database, Record, Refused, Unknown

T = TypeVar("T")


@dataclass(slots=True)
class Settled:
    """What became of a batch: the answer to who asked, and what follows for everybody else."""

    effects: Effects = field(default_factory=Effects)
    awaited: set[UUID] = field(default_factory=set)  # left to their receivers
    refused: set[UUID] = field(default_factory=set)  # the fence had moved on; nothing was changed
    # Had taken effect before, under the same fence and outcome: said again, or said by another.
    recognised: set[UUID] = field(default_factory=set)


async def finish(
    database: Database,
    node_id: UUID,
    batch: Sequence[Settlement],
    starter: StepStarter | None = None,
) -> Settled:
    """Apply `batch`. Raises Unavailable when PostgreSQL is away or took its answer along, and
    RowLocked when somebody keeps a row that one of them needs: call again, as often as it takes.
    What has taken effect already is recognised, not done twice.
    """
    # One order for everybody, so that two batches never wait for each other.
    batch = sorted(batch, key=lambda settlement: settlement.job_id)
    settled = Settled()
    effects = settled.effects
    again = [settlement for settlement in batch if settlement.state == "queued"]
    waits = [settlement for settlement in batch if settlement.state == "running"]
    ends = [settlement for settlement in batch if settlement.state in TERMINAL]
    if again:
        effects.requeue(await _rest(database, node_id, again))
        done = {row["id"] for row in effects.requeued}
        # Somebody asked to cancel in the meantime: then there is no next try.
        ends += [settlement for settlement in again if settlement.job_id not in done]
    if waits:
        rows = await _apart(waits, lambda part: _await(database, part))
        settled.awaited = {row["id"] for row in rows}
        # The same: whoever was asked to stop does not wait for its receiver.
        ends += [settlement for settlement in waits if settlement.job_id not in settled.awaited]
    plain = [settlement for settlement in ends if settlement.execution_id is None]
    if plain:
        rows = await _apart(plain, lambda part: _end(database, part))
        effects.ended = {row["id"]: row["state"] for row in rows}
    left = [settlement for settlement in ends if settlement.job_id not in effects.ended]
    if left:
        for part in await _apart(left, lambda part: _end_with_children(database, part, starter)):
            effects.add(part)
        unmatched = [settlement for settlement in left if settlement.job_id not in effects.ended]
        if unmatched:
            await _recognise(database, unmatched, settled)
    return settled


async def _recognise(database: Database, unmatched: Sequence[Settlement], settled: Settled) -> None:
    """Had they taken effect before? If not, they are refused."""
    before = {row["id"]: row["state"] for row in await find_settled(database, unmatched)}
    settled.effects.ended |= {job: state for job, state in before.items() if state in TERMINAL}
    settled.recognised |= before.keys()
    settled.refused |= {row.job_id for row in unmatched if row.job_id not in before}


async def _apart(
    batch: Sequence[Settlement], apply: Callable[[Sequence[Settlement]], Awaitable[list[T]]]
) -> list[T]:
    """Apply to all at once; if that is refused (PostgreSQL does not take a value, or expressions of
    steps are too much work for one transaction), to each alone, and to the bad ones without their
    values.
    """
    try:
        return await apply(batch)
    except Refused:
        pass
    done: list[T] = []
    for settlement in batch:
        try:
            done += await apply([settlement])
        except Refused:
            done += await apply([_without_values(settlement)])
    return done


async def _rest(database: Database, node_id: UUID, again: Sequence[Settlement]) -> list[Record]:
    """Give back what is tried again or rests; apart what rests until a signal comes."""
    listening = [s for s in again if s.is_listening and s.execution_id is not None]
    rows: list[Record] = []
    if listening:
        rows += await _apart(listening, lambda part: rest_until_signal(database, node_id, part))
    others = [s for s in again if not s.is_listening or s.execution_id is None]
    if others:
        rows += await _apart(others, lambda part: _requeue(database, node_id, part))
    return rows


async def _requeue(database: Database, node_id: UUID, again: Sequence[Settlement]) -> list[Record]:
    return await database.settle("job_requeue_many", *requeue_columns(again, node_id))


async def _await(database: Database, waits: Sequence[Settlement]) -> list[Record]:
    callbacks = [settlement.callback for settlement in waits if settlement.callback is not None]
    return await database.settle(
        "job_await_many",
        [settlement.job_id for settlement in waits],
        [settlement.attempt for settlement in waits],
        [settlement.claim_id for settlement in waits],
        [callback.patience_seconds for callback in callbacks],
        [callback.token_hash for callback in callbacks],
        [settlement.detail for settlement in waits],
    )


async def _end(database: Database, ends: Sequence[Settlement]) -> list[Record]:
    return await database.settle("job_end_many", *end_columns(ends, parents_too=False))


async def _end_with_children(
    database: Database, left: Sequence[Settlement], starter: StepStarter | None
) -> list[Effects]:
    starts = None if starter is None else StepStarts(starter)

    async def work(connection: Connection[Record]) -> Effects:
        if starts is not None:
            starts.roll_back()  # of a try before this one
        return await end_in(connection, left, starts, is_divisible=True)

    return [await _with_starts(starts, database.settle_together(work))]


async def _with_starts(starts: StepStarts | None, together: Awaitable[Effects]) -> Effects:
    """Begin what was inserted as running once it is committed; if not, give back what was kept."""
    if starts is None:
        return await together
    try:
        effects = await together
    except Unknown:
        starts.doubt()
        raise
    except BaseException:
        starts.roll_back()
        raise
    starts.begin()
    return effects


async def find_settled(database: Database, batch: Sequence[Settlement]) -> list[Record]:
    """Which of these had taken effect before: their commit's answer was lost on its way."""
    return await database.settle(
        "job_settled_many",
        [settlement.job_id for settlement in batch],
        [settlement.attempt for settlement in batch],
        [settlement.claim_id for settlement in batch],
        [settlement.outcome for settlement in batch],
    )


def _without_values(settlement: Settlement) -> Settlement:
    """A result that PostgreSQL refuses must not keep a job running for ever."""
    return Settlement(
        job_id=settlement.job_id,
        attempt=settlement.attempt,
        claim_id=settlement.claim_id,
        state=settlement.state,
        outcome=settlement.outcome,
        rest_seconds=settlement.rest_seconds,
        result=None,
        error='{"cause":"unstorable","message":"the result or error could not be stored"}',
        cause=settlement.cause,
        crashed=settlement.crashed,
        callback=settlement.callback,
        queue=settlement.queue,
        kind=settlement.kind,
    )


async def finish_own(connection: Connection[Record], settlement: Settlement) -> Effects | None:
    """End a job that succeeded, in the transaction in which its task wrote. None: the caller must
    roll back, for the fence has moved on, or somebody asked to cancel it.
    """
    effects = await end_in(connection, [settlement])
    return effects if effects.ended.get(settlement.job_id) == settlement.state else None


async def has_finished(database: Database, settlement: Settlement) -> Effects | None:
    """Did it take effect, although its commit's answer was lost? None: not up to now."""
    rows = await find_settled(database, [settlement])
    return Effects(ended={row["id"]: row["state"] for row in rows}) if rows else None


async def rehearse(database: Database, settlement: Settlement) -> None:
    """End its job and take that back. Raises what stands in the way, as `finish` would."""

    async def work(connection: Connection[Record]) -> None:
        await end_in(connection, [settlement])
        raise _Rehearsed

    with contextlib.suppress(_Rehearsed):
        await database.settle_together(work)


class _Rehearsed(Exception):
    """It would have worked."""
