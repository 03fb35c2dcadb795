"""The line of each job that ended badly, is tried again, or was cancelled.

    shop.send failed (attempt 2 of 5): ValueError: no such order; next try in 4.2 s, at 14:02:15

A settlement that went well costs nothing here: it has no `subject` (model.job.settle), unless the
log is at the debug level. Of lines alike (the same event, task or host, and cause) a few are
written and the others counted (telemetry.flood); nothing is put together for those.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec
import structlog

from windlass import ids
from windlass.clock import wall
from windlass.limits import CRASHES_MAX, LOG_ERROR_CHARS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.settle import Settlement, policy_of
from windlass.telemetry.flood import GATE
from windlass.telemetry.logs import is_enabled

log = structlog.get_logger()


class _Error(msgspec.Struct):
    """What an error document says; whatever else it holds is not read."""

    cause: str = ""
    message: str = ""
    status_code: int | None = None  # None: nobody answered
    traceback: str | None = None  # None: it was no exception


_ERROR: Final = msgspec.json.Decoder(_Error)


def says_all() -> bool:
    """Are the starts and successes of jobs said, too?"""
    return is_enabled(logging.DEBUG)


def say_started(attempt: Attempt) -> None:
    log.debug("job_started", name=_name(attempt), **_facts(attempt), attempt=attempt.number)


def say_settled(settlements: Iterable[Settlement], states: Mapping[Any, str]) -> None:
    """Of those that have a subject. `states`: of jobs that ended, as they are in the database; it
    may be another than was meant, where somebody asked to cancel one meanwhile.
    """
    for settlement in settlements:
        attempt = settlement.subject
        if attempt is None:
            continue
        match states.get(settlement.job_id, settlement.state):
            case "cancelled":
                _say_cancelled(attempt)
            case "dead":
                _say_dead(attempt, settlement)
            case "queued" if settlement.error is not None:
                _say_retried(attempt, settlement)
            case state:
                seconds = round(settlement.duration_seconds, 3)
                facts = _facts(attempt)
                log.debug("job_settled", name=_name(attempt), state=state, seconds=seconds, **facts)


def _say_cancelled(attempt: Attempt) -> None:
    name = _name(attempt)
    if GATE.admits(("job_cancelled", name, "cancelled"), "info"):
        log.info("job_cancelled", name=name, **_facts(attempt))


def _say_dead(attempt: Attempt, settlement: Settlement) -> None:
    name = _name(attempt)
    if not GATE.admits(("job_dead", name, f"dead, {settlement.cause}"), "error"):
        return
    facts = {"name": name, **_why(settlement), **_facts(attempt)}
    if settlement.crashed:
        log.error("job_quarantined", crash=attempt.crashes + 1, **facts)
        return
    most = _attempts_max(attempt)
    log.error("job_dead", attempt=attempt.tries, attempts_max=most, **facts)


def _say_retried(attempt: Attempt, settlement: Settlement) -> None:
    name = _name(attempt)
    if not GATE.admits(("job_retried", name, str(settlement.cause)), "warning"):
        return
    rest = settlement.rest_seconds
    again = {
        "retry_seconds": round(rest, 1),
        "retry_at": (wall() + timedelta(seconds=rest)).isoformat(timespec="seconds"),
    }
    facts = {"name": name, **_why(settlement), **again, **_facts(attempt)}
    if settlement.crashed:
        log.warning("job_crashed", crash=attempt.crashes + 1, crashes_max=CRASHES_MAX, **facts)
        return
    most = _attempts_max(attempt)
    log.warning("job_retried", attempt=attempt.tries, attempts_max=most, **facts)


def _name(attempt: Attempt) -> str:
    """By which a person knows it: its task, the host that it calls, or its kind."""
    if attempt.target is not None:
        return f"webhook to {attempt.target}"
    return attempt.task or attempt.kind


def _facts(attempt: Attempt) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "job": ids.show("job", attempt.job_id),
        "kind": attempt.kind,
        "queue": attempt.queue,
    }
    if attempt.task is not None:
        facts["task"] = attempt.task
    if attempt.target is not None:
        facts["target"] = attempt.target
    if attempt.execution_id is not None:
        facts["execution"] = ids.show("execution", attempt.execution_id)
    if attempt.correlation_id is not None:
        facts["correlation_id"] = attempt.correlation_id
    return facts


def _why(settlement: Settlement) -> dict[str, Any]:
    try:
        error = _ERROR.decode(settlement.error or "{}")
    except msgspec.MsgspecError:  # somebody has put there what he liked
        error = _Error(cause=settlement.cause or "")
    text = " ".join(error.message[: 2 * LOG_ERROR_CHARS_MAX].split())
    if text.startswith("[Errno"):
        text = error.cause  # the same in words
    # The class of an exception tells; a cause of ours stands in the message.
    elif error.cause[:1].isupper() or not text:
        text = f"{error.cause}: {text}" if text else error.cause
    if len(text) > LOG_ERROR_CHARS_MAX:
        text = text[: LOG_ERROR_CHARS_MAX - 1] + "…"
    why: dict[str, Any] = {"error": text, "cause": error.cause}
    if error.status_code is not None:
        why["status_code"] = error.status_code
    if error.traceback is not None and says_all():
        why["traceback"] = error.traceback
    return why


def _attempts_max(attempt: Attempt) -> int:
    return policy_of(attempt).max_attempts
