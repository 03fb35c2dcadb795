"""Errors as the API tells them, as the classes that the server raised them by.

A problem's `code` decides. What the document says beside the sentence is an attribute, as it is
where the error is made: `full.limit`, `held.holders`. A code that has no class of its own is an
ApiError, or a Conflict if its status says so.
"""

from __future__ import annotations

import json
from typing import Any, Final

from windlass import errors
from windlass.errors import FieldProblem, InvalidInput, Unavailable, WindlassError

_KNOWN: Final[tuple[type[WindlassError], ...]] = (
    errors.BodyTooLarge,
    errors.Conflict,
    errors.Forbidden,
    errors.IdempotencyMismatch,
    errors.InvalidInput,
    errors.LockHeld,
    errors.LockLost,
    errors.LockNeverHeld,
    errors.LockOfJob,
    errors.MalformedBody,
    errors.NotAWebhook,
    errors.NotAwaiting,
    errors.NotFound,
    errors.PreconditionFailed,
    errors.QueueFull,
    errors.QueueRate,
    errors.QuotaExceeded,
    errors.RateLimited,
    errors.TooManyTries,
    errors.Unauthorized,
    errors.Unavailable,
    errors.WrongToken,
)
_BY_CODE: Final = {known.code: known for known in _KNOWN}
# What code that uses this client can do about a full queue.
WHAT_TO_DO: Final = (
    "windlass: to wait for room, say task.using(wait_for_room='30s') or client.jobs.submit(…, "
    "room_seconds=30); to raise the limit, client.queues.put(name, max_jobs=…)"
)
# Whoever answers for the server while that is away says no code.
_BY_STATUS: Final[dict[int, type[WindlassError]]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    409: errors.Conflict,
    412: errors.PreconditionFailed,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
}


class ApiError(WindlassError):
    """A refusal whose code has no class here; `problem` is the whole document."""

    def __init__(self, code: str, status: int, problem: dict[str, Any]) -> None:
        self.code, self.status, self.problem = code, status, problem
        super().__init__(str(problem.get("detail") or f"the server answered {status}"))


class Unreachable(Unavailable):
    """Nobody answered; what was asked may have been done all the same."""

    code = "unreachable"

    def __init__(self, url: str, reason: str, *, is_final: bool = False) -> None:
        self.url, self.reason = url, reason
        self.is_final = is_final  # True: asking again would be answered in the same way
        super().__init__(
            f"cannot reach Windlass at {url}: {reason}; is it running (windlass up), and is this "
            "its address (url= or WINDLASS_URL)?"
        )

    @property
    def network_error(self) -> OSError | None:
        """What it was raised for; None: the server is there, and its answer cannot be taken."""
        return self.__context__ if isinstance(self.__context__, OSError) else None


def error_of(status: int, headers: dict[str, str], body: bytes) -> WindlassError:
    """The error that this answer is, whoever wrote it: Windlass, or a proxy before it."""
    problem = _read(status, headers, body)
    code = str(problem.get("code") or "")
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status)
    error = (
        ApiError(code or f"http_{status}", status, problem)
        if kind is None
        else _revived(kind, code, status, problem)
    )
    error.retry_after = retry_after_seconds(headers)
    if isinstance(error, errors.QueueFull):
        error.add_note(WHAT_TO_DO)
    return error


def retry_after_seconds(headers: dict[str, str]) -> float | None:
    """How long the server asks to be left alone; None when it does not say."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None


def document_of(body: bytes) -> dict[str, Any] | None:
    """The JSON object that a refusal is; None: it is something else."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _revived(
    kind: type[WindlassError], code: str, status: int, problem: dict[str, Any]
) -> WindlassError:
    """The error with the sentence of the document instead of one made anew from its facts."""
    if issubclass(kind, InvalidInput) and isinstance(problem.get("errors"), list):
        error: WindlassError = kind(
            *(
                FieldProblem(pointer=str(found["pointer"]), detail=str(found["detail"]))
                for found in problem["errors"]
            )
        )
    else:
        error = kind.__new__(kind)
        Exception.__init__(error, str(problem.get("detail")))
    error.__dict__.update(problem)
    error.code, error.status, error.problem = code or kind.code, status, problem
    return error


def _read(status: int, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    problem = document_of(body)
    if problem is not None and "problem+json" in headers.get("content-type", ""):
        return problem
    from http import HTTPStatus  # takes long to import, and is seldom needed

    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Unknown"
    shown = " ".join(body[:200].decode(errors="replace").split())
    detail = f"the server answered {status} {title}{': ' if shown else ''}{shown}"
    return {"title": title, "status": status, "detail": detail}
