"""Complete jobs that their receivers took over.

A delivery carries a random token; a receiver that answers "later" shows it when it knows how the
work ended, or to get more time. Of the token only the hash is kept, in the row of the one attempt
it was made for.

Promises: a token ends its attempt at most once, by the same fence as every other end (G2), and none
but the bearer of the token does so. The same completion said twice gets the same answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.chance import chance
from windlass.clock import monotonic
from windlass.engine.finish import finish
from windlass.engine.finished import Finished
from windlass.engine.held import attempt_of, settle_in
from windlass.errors import NotAwaiting, NotFound, WrongToken
from windlass.model.outcome import Cancelled, Failed, Succeeded
from windlass.model.settle import settle
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

# A quick receiver calls back before the attempt that reached it is settled.
EARLY_SECONDS: Final = 2.0
_LOOK_SECONDS, _LOOK_SECONDS_MAX = 0.02, 0.2


async def complete(
    database: Database,
    job_id: UUID,
    token: str,
    outcome: Succeeded | Failed,
    early_seconds: float = EARLY_SECONDS,
) -> Finished:
    """End the attempt, as the receiver says. Raises NotFound, WrongToken, NotAwaiting."""
    row = await _find(database, job_id, early_seconds)
    _check(row, token)
    if row["callback_until"] is None:
        if _is_said_again(row, outcome):
            return Finished()
        raise _not_awaiting(row)
    settlement = settle(attempt_of(row), outcome, chance())
    finished = await finish(database, row["node_id"], [settlement])
    if job_id in finished.refused:
        # Somebody was quicker: another completion, a cancel, or the end of our patience.
        raise _not_awaiting(await _find(database, job_id, 0))
    return finished


async def extend(
    database: Database,
    job_id: UUID,
    token: str,
    seconds: float,
    early_seconds: float = EARLY_SECONDS,
) -> datetime:
    """Give the receiver so long from now on; returns until when. Raises as `complete`."""
    row = await _find(database, job_id, early_seconds)
    _check(row, token)
    if row["callback_until"] is not None:
        fence = (row["attempt"], row["claim_id"])
        for extended in await database.run("job_callback_extend", job_id, *fence, seconds):
            until: datetime = extended["callback_until"]
            return until
    raise _not_awaiting(row)


async def drop_awaited(connection: Connection[Record], job_ids: Sequence[UUID]) -> Finished:
    """Cancel those that wait for their receivers, in the transaction that asked them to stop."""
    if not job_ids:
        return Finished()
    rows = await connection.fetch(statement("job_callback_get_many"), list(job_ids))
    awaited = [row for row in rows if row["callback_until"] is not None]
    return await settle_in(
        connection, [(row["node_id"], settle(attempt_of(row), Cancelled(), 0)) for row in awaited]
    )


async def _find(database: Database, job_id: UUID, early_seconds: float) -> Record:
    """The job, given a moment to come to wait for its receiver if it runs at present."""
    give_up_at = monotonic() + early_seconds
    rest = _LOOK_SECONDS
    while True:
        rows = await database.read("job_callback_get_many", [job_id])
        if not rows:
            raise NotFound("job", ids.show("job", job_id))
        is_early = rows[0]["state"] == "running" and rows[0]["callback_until"] is None
        if not is_early or monotonic() >= give_up_at:
            return rows[0]
        await asyncio.sleep(rest)
        rest = min(rest * 2, _LOOK_SECONDS_MAX)


def _check(row: Record, token: str) -> None:
    """Is the token that of the newest attempt? One that has none yet, or no more, cannot say."""
    if row["callback_hash"] is None:
        raise _not_awaiting(row)
    # What is no ASCII is no token of ours, but must be compared without ado.
    shown = sha256(token.encode("utf-8", "replace")).digest()
    if not compare_digest(shown, row["callback_hash"]):
        raise WrongToken(ids.show("job", row["id"]))


def _is_said_again(row: Record, outcome: Succeeded | Failed) -> bool:
    """Has it ended in just the way that is being said?"""
    ended = (row["state"], row["outcome"], row["result"])
    if isinstance(outcome, Failed):
        return ended == ("dead", outcome.name, None)
    result = None if outcome.result is None else outcome.result.decode()
    return ended == ("succeeded", outcome.name, result)


def _not_awaiting(row: Record) -> NotAwaiting:
    return NotAwaiting(ids.show("job", row["id"]), row["state"])
