"""The settlement of an attempt: what becomes of its job. Retry, dead letter, quarantine, success.

Owns: the decision that follows from an outcome, and nothing of how it is written.
Promises: every outcome has a settlement, also one that nobody can read (G1).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final, assert_never
from uuid import UUID

from windlass.limits import CRASHES_MAX, ERROR_TEXT_MAX
from windlass.model.job.attempt import Attempt, Fence
from windlass.model.job.outcome import (
    Awaited,
    Cancelled,
    Crashed,
    Failed,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
)
from windlass.model.job.retry import (
    Retry,
    default_for,
    honour_retry_after,
    read_retry,
    rest_seconds,
)
from windlass.model.job.states import State
from windlass.model.json.storable import harmless_json, harmless_record, harmless_text

# The cause of jobs whose outcome nobody could store or act upon.
UNSETTLED: Final = "unsettled"


# Not keyword-only, for `_settlement`: by position it is made in half the time (ADR 0043).
@dataclass(slots=True)
class Settlement:
    """A decision about one attempt, ready for the finishing statement."""

    job_id: UUID
    attempt: int
    claim_id: UUID
    # `queued` means: again after `rest_seconds`; `running`: the other side has it, see `callback`.
    state: State
    outcome: str
    # What telemetry wants to know.
    queue: str = ""
    kind: str = ""
    target: str | None = None
    task: str | None = None
    execution_id: UUID | None = None  # which goes on when it ends; None: it is no step
    rest_seconds: float = 0.0
    result: str | None = None
    error: str | None = None
    cause: str | None = None
    crashed: bool = False
    detail: str | None = None  # JSON of what the strategy kept of the attempt; None: nothing
    callback: Awaited | None = None
    is_listening: bool = False  # a signal to its execution ends its rest
    duration_seconds: float = 0.0  # for telemetry, too
    # The attempt, where the log is to tell of it; None: it went well, or nothing is known of it.
    subject: Attempt | None = None

    @property
    def fence(self) -> Fence:
        return self.job_id, self.claim_id


def settle(attempt: Attempt, outcome: Outcome, chance: float) -> Settlement:
    """The settlement of `attempt`. `chance` lies in [0, 1) and spreads the rest before a retry."""
    match outcome:
        case Succeeded():
            result = outcome.result
            return _settlement(
                attempt, outcome, "succeeded", 0.0, result.decode() if result else None
            )
        case Snoozed(rest, is_listening):
            settlement = _settlement(attempt, outcome, "queued", rest_seconds=rest)
            settlement.is_listening = is_listening
            return settlement
        case Cancelled():
            settlement = _settlement(attempt, outcome, "cancelled")
            settlement.subject = attempt
            return settlement
        case Failed() | TimedOut() | Crashed():
            return _retry_or_bury(attempt, outcome, chance)
        case Awaited():
            settlement = _settlement(attempt, outcome, "running")
            settlement.callback = outcome
            return settlement
        case _:
            assert_never(outcome)


def settle_or_bury(attempt: Attempt, outcome: Outcome, chance: float) -> Settlement:
    """As `settle`; and if nobody can read the outcome, which a plugin may have made, the attempt
    has ended all the same: its job is dead with the reason, and nothing is done again unrecorded.
    """
    try:
        return settle(attempt, outcome, chance)
    except Exception:
        attempt.detail = None  # perhaps it is what was kept to look at
    try:
        return settle(attempt, outcome, chance)
    except Exception as trouble:
        said = f"its outcome cannot be read: {type(trouble).__name__}: {trouble}"
    return settle(attempt, Failed(UNSETTLED, said, is_final=True), chance)


def cancelled(job_id: UUID, attempt: int, claim_id: UUID) -> Settlement:
    """The settlement of an attempt of which no more is known than its fence."""
    return Settlement(
        job_id=job_id,
        attempt=attempt,
        claim_id=claim_id,
        state="cancelled",
        outcome=Cancelled.name,
    )


def bury(settlement: Settlement, reason: str) -> Settlement:
    """The same attempt, ended for good: what became of it could not be applied."""
    message = f"it ended as {settlement.outcome}, which could not be applied: {reason}"
    error = {"cause": UNSETTLED, "message": message[:ERROR_TEXT_MAX]}
    return replace(
        settlement,
        state="dead",
        outcome=Failed.name,
        rest_seconds=0.0,
        result=None,
        error=harmless_json(error),
        cause=UNSETTLED,
        callback=None,
        is_listening=False,
    )


def _retry_or_bury(
    attempt: Attempt, outcome: Failed | TimedOut | Crashed, chance: float
) -> Settlement:
    cause, error = explain_failure(outcome)
    if isinstance(outcome, Crashed):
        rest = _rest_after_crash(attempt, chance)
    else:
        rest = rest_seconds(policy_of(attempt), attempt.tries, chance)
    if isinstance(outcome, Failed) and rest is not None:
        rest = None if outcome.is_final else _honour_retry_after(rest, outcome)
    settlement = _settlement(
        attempt,
        outcome,
        "dead" if rest is None else "queued",
        rest_seconds=rest or 0.0,
        error=error,
        cause=cause,
        crashed=isinstance(outcome, Crashed),
    )
    settlement.subject = attempt
    return settlement


def _rest_after_crash(attempt: Attempt, chance: float) -> float | None:
    """None: it is quarantined. It rests as after a failure, whatever tries are left."""
    crashes = attempt.crashes + 1
    if crashes >= CRASHES_MAX:
        return None
    return rest_seconds(policy_of(attempt), crashes, chance, max_attempts=CRASHES_MAX)


def _honour_retry_after(rest: float, outcome: Failed) -> float:
    wish = outcome.retry_after_seconds
    return wish if outcome.is_exact and wish is not None else honour_retry_after(rest, wish)


def policy_of(attempt: Attempt) -> Retry:
    if attempt.retry is None:
        return default_for(attempt.kind, attempt.max_attempts)
    fallback = default_for(attempt.kind, attempt.max_attempts)
    return read_retry(json.loads(attempt.retry), fallback)[0]


def explain_failure(outcome: Failed | TimedOut | Crashed) -> tuple[str, str]:
    """The cause for grouping, and the error document as JSON that PostgreSQL takes."""
    match outcome:
        case Failed(cause, message, detail):
            document = {"cause": cause, "message": message, **detail}
        case TimedOut(after_seconds, waited_for):
            cause = "timeout"
            said = "the attempt was stopped after"
            if waited_for is not None:
                said = f"{waited_for} did not come within"
            document = {"cause": cause, "message": f"{said} {after_seconds:g} s"}
        case Crashed(message):
            cause = "worker_died"
            document = {"cause": cause, "message": message}
        case _:
            assert_never(outcome)
    document["message"] = str(document["message"])[:ERROR_TEXT_MAX]
    return harmless_text(cause)[:200], harmless_json(document)


def _settlement(
    attempt: Attempt,
    outcome: Outcome,
    state: State,
    rest_seconds: float = 0.0,
    result: str | None = None,
    *,
    error: str | None = None,
    cause: str | None = None,
    crashed: bool = False,
) -> Settlement:
    return Settlement(
        attempt.job_id,
        attempt.number,
        attempt.claim_id,
        state,
        outcome.name,
        attempt.queue,
        attempt.kind,
        attempt.target,
        attempt.task,
        attempt.execution_id,
        rest_seconds,
        result,
        error,
        cause,
        crashed,
        None if attempt.detail is None else harmless_record(attempt.detail),
    )
