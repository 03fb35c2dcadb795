"""A job as it was at an instant: its events up to then, folded (G10)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass import ids
from windlass.engine.jobs.read_events import read_events_of
from windlass.errors import NotFound
from windlass.model.job.fold import fold
from windlass.store.database import Database

# What the events tell; the rest of a row never changes.
_TOLD = (
    "state",
    "attempt",
    "run_at",
    "started_at",
    "finished_at",
    "node_id",
    "outcome",
    "cause",
    "replays",
    "crashes",
    "snoozes",
)


async def job_at(database: Database, job_id: UUID, instant: datetime) -> dict[str, Any]:
    """The row of `job_get_many` as it was then. Raises NotFound when there was no such job."""
    found = (await read_events_of(database, [job_id])).get(job_id)
    if found is None:
        raise NotFound("job", ids.show("job", job_id))
    row, events = found
    then = fold(event for event in events if event.at <= instant)
    if then.state is None:
        raise NotFound("job", f"{ids.show('job', job_id)} at {instant.isoformat()}")
    job = dict(row)
    for name in _TOLD:
        job[name] = getattr(then, name)
    job["error"] = json.dumps(then.error) if then.error else None
    # No event tells the result, nor that a waiting job was cancelled: they come with its end.
    if then.finished_at is None or then.finished_at != row["finished_at"]:
        job["result"] = None
        job["cancel_requested_at"] = then.cancel_requested_at
    return job
