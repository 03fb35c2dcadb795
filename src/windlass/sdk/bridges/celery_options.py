"""What Celery says about a call (`apply_async`, a signature, a task), in Windlass's words.

Each option is carried over, is about a broker and so means nothing here, or is refused; an option
that nobody knows is refused too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from windlass import clock
from windlass.limits import ATTEMPTS_MAX, TAG_CHARS_MAX, TIMEOUT_SECONDS_MAX
from windlass.model.job.states import Priority
from windlass.sdk.bridges.celery_json import to_json
from windlass.sdk.tasks import options as ours

_CARRIED: Final = frozenset(
    {
        *("queue", "countdown", "eta", "expires", "priority", "time_limit", "soft_time_limit"),
        *("task_id", "retries", "headers", "ignore_result", "shadow", "serializer"),
        *("link", "link_error"),
    }
)
# About messages, brokers and Celery's own objects: there is none of that here.
_BROKERS: Final = frozenset(
    {
        *("exchange", "exchange_type", "routing_key", "compression", "delivery_mode"),
        *("immediate", "mandatory", "retry", "retry_policy", "reply_to", "route_name"),
        *("argsrepr", "kwargsrepr", "add_to_parent", "root_id", "parent_id", "group_index"),
        *("producer", "publisher", "connection", "router", "result_cls"),
        "task_type",
    }
)
# What Celery calls it, and what to do instead.
_REFUSED: Final = {
    "chord": ("chord", "start the chord from outside of the task, with chord(header)(body)"),
    "chain": ("chain", "start the chain from outside of the task, with chain(…).apply_async()"),
    "group_id": ("group_id", "start the group from outside of the task, with group(…)()"),
    "stamped_headers": ("stamped_headers", "give headers={…} instead of stamps"),
    "replaced_task_nesting": (
        "self.replace",
        "a job ends with its own task: start a chain from outside, or call the function itself",
    ),
}


def fields_of(celery_app: Any, name: str, task: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of POST /v1/jobs. `task` is None when only its name is known here."""
    check_options(name, options)
    retries = getattr(task, "max_retries", 3)
    label = options.get("shadow") or name
    return ours.fields_of(
        {
            "queue": options["queue"],
            "run_after": _plain_seconds(options.get("countdown")),
            "run_at": _instant(celery_app, options.get("eta")),
            "deadline": _deadline(celery_app, options.get("expires")),
            # Celery knows no limit unless it is told one.
            "timeout": limit_of(celery_app, task, options, "time_limit") or TIMEOUT_SECONDS_MAX,
            "priority": _priority(celery_app, options.get("priority")),
            "max_attempts": ATTEMPTS_MAX if retries is None else min(retries + 1, ATTEMPTS_MAX),
            "correlation_id": options.get("task_id"),
            "tags": [label[:TAG_CHARS_MAX]],
        }
    )


def given_of(celery_app: Any, name: str, task: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the node that performs it has to know beside the arguments."""
    said = {
        "retries": options.get("retries") or 0,
        "id": options.get("task_id"),
        "headers": to_json(f"the headers of {name}", options.get("headers") or None),
        "soft_time_limit": limit_of(celery_app, task, options, "soft_time_limit"),
        "expires": _text_of(_deadline(celery_app, options.get("expires"))),
        "eta": _text_of(_instant(celery_app, options.get("eta"))),
    }
    return {word: value for word, value in said.items() if value is not None}


def limit_of(celery_app: Any, task: Any, options: Mapping[str, Any], limit: str) -> float | None:
    """`time_limit` or `soft_time_limit`: of the call, of the task, or of all tasks."""
    found = options.get(limit) or getattr(task, limit, None) or celery_app.conf[f"task_{limit}"]
    return None if found is None else float(found)


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raises ValueError for an option that Windlass cannot keep."""
    for option, value in options.items():
        if value is None or option in _CARRIED or option in _BROKERS:
            continue
        if option in _REFUSED:
            if not value:
                continue
            called, instead = _REFUSED[option]
            raise ValueError(f"{name}: Windlass does not take Celery's {called}; {instead}")
        raise ValueError(
            f"{name}: Windlass knows no option {option!r}; leave it out, or send it by headers={{}}"
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


def _text_of(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def _priority(celery_app: Any, number: int | None) -> Priority | None:
    """Celery counts from 0 to 9, and what is urgent depends on its broker: 0 with Redis."""
    if number is None:
        return None
    if str(celery_app.conf.broker_url or "").startswith(("redis", "sentinel", "valkey")):
        number = 9 - number
    if number >= 9:
        return "critical"
    return "high" if number >= 6 else "normal" if number >= 3 else "low"
