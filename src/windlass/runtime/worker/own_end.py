"""How a job ends whose task succeeded and wrote in the job's own transaction.

When the answer to COMMIT is lost nobody knows whether it happened. Then the attempt is settled as a
failure, under the same fence: if the commit took effect the job has ended and the failure changes
nothing; if it is still on its way the failure waits for the row that it holds; if it did not happen
the next attempt does the work, for the first time as far as anybody can see.
"""

from __future__ import annotations

from typing import Any

from windlass.engine.finished import Finished
from windlass.engine.jobs.finish_own import finish_own, has_finished
from windlass.errors import Unavailable
from windlass.model.job.outcome import Cancelled, Failed
from windlass.model.job.running import Own
from windlass.model.job.settle import Settlement
from windlass.runtime.worker.own_transaction import TransactionEnded
from windlass.store.database import Database, LimitReached


async def end_with(
    own: Own, database: Database, settlement: Settlement
) -> Finished | Failed | Cancelled:
    """What was committed; or how the attempt ended instead, with nothing of it committed."""
    made: list[Finished] = []

    async def last(connection: Any) -> bool:
        finished = await finish_own(connection, settlement)
        made.extend([finished] if finished is not None else [])
        return finished is not None

    try:
        is_committed = await own.commit(last)
    except TransactionEnded as trouble:
        return Failed(trouble.code, str(trouble), is_final=True)
    except LimitReached as trouble:  # others filled the queue that the task had found room in
        return Failed(trouble.code, f"what the task enqueued has no room: {trouble}")
    except Unavailable as trouble:
        found = await _look(database, settlement)
        return found or Failed("transaction_lost", f"what the task wrote may be lost: {trouble}")
    except Exception as trouble:  # whatever PostgreSQL says of what the task wrote
        return Failed(type(trouble).__name__, f"what the task wrote was refused: {trouble}")
    # Not ours any more, or to be cancelled: settled so, the fence and the wish are heeded.
    return made[0] if is_committed else Cancelled()


async def _look(database: Database, settlement: Settlement) -> Finished | None:
    try:
        return await has_finished(database, settlement)
    except Unavailable:
        return None
