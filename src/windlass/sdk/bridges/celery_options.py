"""What Celery says about a call, in Windlass's words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from windlass import clock
from windlass.limits import ATTEMPTS_MAX, TAG_CHARS_MAX
from windlass.model.job.states import Priority
from windlass.sdk.tasks import options as ours

# What belongs to a canvas that Celery itself has begun, or to its result backend.
_REFUSED: Final = {
    "chord": "use chord(…) of windlass.sdk.bridges.celery",
    "chain": "use chain(…) of windlass.sdk.bridges.celery",
    "group_id": "use group(…) of windlass.sdk.bridges.celery, which takes task.chunks(…) too",
    "link_error": "use on_failure of the task",
}


def fields_of(celery_app: Any, name: str, task: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of POST /v1/jobs. `task` is None when only its name is known here."""
    for odd, instead in _REFUSED.items():
        if options.get(odd):
            raise ValueError(f"{name}: Windlass does not take Celery's {odd}; {instead}")
    retries = getattr(task, "max_retries", 3)
    return ours.fields_of(
        {
            "queue": options["queue"],
            "run_after": _plain_seconds(options.get("countdown")),
            "run_at": _instant(celery_app, options.get("eta")),
            "deadline": _deadline(celery_app, options.get("expires")),
            "timeout": options.get("time_limit") or getattr(task, "time_limit", None),
            "priority": _priority(celery_app, options.get("priority")),
            "max_attempts": ATTEMPTS_MAX if retries is None else min(retries + 1, ATTEMPTS_MAX),
            "correlation_id": options.get("task_id"),
            "tags": [name[:TAG_CHARS_MAX]],
        }
    )


def _plain_seconds(countdown: float | timedelta | None) -> float | None:
    if isinstance(countdown, timedelta):
        countdown = countdown.total_seconds()
    return None if countdown is None else max(0.0, float(countdown))


def _instant(celery_app: Any, eta: datetime | str | None) -> datetime | None:
    if isinstance(eta, str):
        eta = datetime.fromisoformat(eta)
    if eta is None or eta.tzinfo is not None:
        return eta
    # Celery reads a naive eta in its own zone.
    return eta.replace(tzinfo=celery_app.timezone or UTC)


def _deadline(celery_app: Any, expires: datetime | str | float | None) -> datetime | None:
    if isinstance(expires, int | float):
        return clock.wall() + timedelta(seconds=expires)
    return _instant(celery_app, expires)


def _priority(celery_app: Any, number: int | None) -> Priority | None:
    """Celery counts from 0 to 9, and what is urgent depends on its broker: 0 with Redis."""
    if number is None:
        return None
    if str(celery_app.conf.broker_url or "").startswith(("redis", "sentinel", "valkey")):
        number = 9 - number
    if number >= 9:
        return "critical"
    return "high" if number >= 6 else "normal" if number >= 3 else "low"
