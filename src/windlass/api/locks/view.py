"""A lock as the API shows it, with who holds it and who waits; and the JSON Schemas of locks."""

from __future__ import annotations

from typing import Any, Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, Schema, listed, nullable, record
from windlass.api.jobs.view import shown
from windlass.engine.locks.locks import Holder, Lock
from windlass.limits import LOCK_CAPACITY_MAX, NAME_CHARS_MAX
from windlass.model.job.lock import NAME_PATTERN
from windlass.model.job.states import PRIORITY_NAMES


def lock_view(lock: Lock) -> dict[str, Any]:
    return {
        "name": lock.name,
        "capacity": lock.capacity,
        "token": lock.token,
        "held": lock.held,
        "waiting": lock.waiting,
        "waiting_more": lock.has_more_waiting,
        "changed_at": lock.changed_at,
        "holders": [holder_view(holder) for holder in lock.holders],
        "waiters": [
            {
                "job_id": shown("job", waiter.job_id),
                "owner": waiter.owner,
                "priority": PRIORITY_NAMES[waiter.priority],
                "since": waiter.since,
                "until": waiter.until,
            }
            for waiter in lock.waiters
        ],
    }


def holder_view(holder: Holder) -> dict[str, Any]:
    return {
        "token": holder.token,
        "job_id": shown("job", holder.job_id),
        "owner": holder.owner,
        "taken_at": holder.taken_at,
        "expires_at": holder.expires_at,
    }


LOCK_NAME: Final[Schema] = {
    "type": "string",
    "pattern": f"^{NAME_PATTERN}$",
    "minLength": 1,
    "maxLength": NAME_CHARS_MAX,
}
CAPACITY: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": LOCK_CAPACITY_MAX}
# What a job asks for.
ASK: Final[Schema] = {
    "anyOf": [
        LOCK_NAME,
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {"name": LOCK_NAME, "capacity": nullable(CAPACITY)},
        },
    ]
}
_JOB: Final = nullable(id_schema("job"))

SCHEMAS: Final[Named] = {
    "Lock": record(
        name=TEXT,
        capacity=CAPACITY,
        token=COUNT,
        held=COUNT,
        waiting=COUNT,
        waiting_more={"type": "boolean"},
        changed_at=INSTANT,
        holders=listed(
            record(
                token=COUNT,
                job_id=_JOB,
                owner=nullable(TEXT),
                taken_at=INSTANT,
                expires_at=nullable(INSTANT),
            )
        ),
        waiters=listed(
            record(
                job_id=_JOB,
                owner=nullable(TEXT),
                priority={"type": "string", "enum": list(PRIORITY_NAMES)},
                since=INSTANT,
                until=nullable(INSTANT),
            )
        ),
    ),
    "LockHold": record(name=TEXT, token=COUNT, expires_at=INSTANT, capacity=CAPACITY),
}
