"""A lock as the API shows it."""

from __future__ import annotations

from typing import Any

from windlass.api.jobs.view import shown
from windlass.engine.locks.locks import Holder, Lock
from windlass.model.job.priority import NAMES


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
                "priority": NAMES[waiter.priority],
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
