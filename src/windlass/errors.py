"""Every error Windlass raises on purpose.

Each says what happened, to which one, and what to do; carries its facts as attributes; and names
the `code` and HTTP status that the API shows, so a reader of a log and a caller see the same word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


class WindlassError(Exception):
    """The parent of all of them."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """One thing wrong with one place of the input, by JSON pointer."""

    pointer: str
    detail: str


class InvalidInput(WindlassError):
    """The request cannot be understood or accepted as it is."""

    code = "invalid_input"
    status = 422

    def __init__(self, *problems: FieldProblem) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{p.pointer or '/'}: {p.detail}" for p in problems))

    @classmethod
    def at(cls, pointer: str, detail: str) -> InvalidInput:
        return cls(FieldProblem(pointer=pointer, detail=detail))


class MalformedBody(InvalidInput):
    """The body is not JSON that we take: syntax, depth, twin keys, NaN."""

    code = "malformed_body"
    status = 400


class BodyTooLarge(WindlassError):
    code = "body_too_large"
    status = 413

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(f"the body is larger than {limit_bytes} bytes; send less at a time")

    @property
    def facts(self) -> dict[str, Any]:
        return {"limit": self.limit_bytes, "unit": "bytes"}


class NotFound(WindlassError):
    code = "not_found"
    status = 404

    def __init__(self, noun: str, name: str) -> None:
        self.noun, self.name = noun, name
        hint = "; it may have been removed after retention" if noun == "job" else ""
        super().__init__(f"there is no {noun} {name!r}{hint}")


class Conflict(WindlassError):
    """The thing is there, but not in a state that allows this."""

    code = "conflict"
    status = 409


class NotAwaiting(Conflict):
    """A completion came for a job that does not wait for one."""

    code = "not_awaiting"

    def __init__(self, job_id: str, state: str) -> None:
        self.job_id, self.state = job_id, state
        super().__init__(
            f"{job_id} is {state} and does not wait for a completion; each attempt that its "
            "receiver takes over has a token of its own, which is good for one end"
        )


class WrongToken(WindlassError):
    """A completion without the token that the delivery carried."""

    code = "wrong_token"
    status = 403

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(
            f"this is not the token of {job_id}'s newest attempt; send the windlass-callback-token "
            "of its delivery as `token` or as Authorization: Bearer"
        )


class NotAWebhook(Conflict):
    """Asked of a job of another kind, which delivers nothing."""

    code = "not_a_webhook"

    def __init__(self, job_id: str, kind: str) -> None:
        self.job_id, self.kind = job_id, kind
        super().__init__(
            f"{job_id} is of kind {kind!r} and delivers nothing; its attempts are shown by "
            f"GET /v1/jobs/{job_id}/attempts"
        )


class LockHeld(Conflict):
    """All places of a lock are taken, or kept for those who came before."""

    code = "lock_held"

    def __init__(self, *, name: str, capacity: int, waiting: int, holders: list[Any]) -> None:
        self.name, self.capacity = name, capacity
        self.waiting, self.holders = waiting, holders
        super().__init__(
            f"lock {name!r} is taken ({capacity} may hold it at once, {waiting} wait); try again "
            "later, or wait longer"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "capacity": self.capacity,
            "waiting": self.waiting,
            "holders": self.holders,
        }


class LockLost(Conflict):
    """A token that holds nothing any more: somebody else may be inside."""

    code = "lock_lost"

    def __init__(self, name: str, token: int) -> None:
        self.name, self.token = name, token
        super().__init__(
            f"token {token} does not hold lock {name!r}: it ran out of time or was released; stop "
            "what it guards and take the lock again"
        )


class LockOfJob(Conflict):
    """A job's hold ends with the job and not otherwise."""

    code = "lock_of_job"

    def __init__(self, name: str, job_id: str) -> None:
        self.name, self.job_id = name, job_id
        super().__init__(
            f"lock {name!r} is held by {job_id} until that ends; cancel the job to free it"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"job_id": self.job_id}


class IdempotencyMismatch(WindlassError):
    code = "idempotency_mismatch"
    status = 422

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"Idempotency-Key {key!r} was used before with another body; use a new key for new work"
        )


class QueueFull(WindlassError):
    code = "queue_full"
    status = 429
    retry_after_seconds: ClassVar[int] = 5

    def __init__(self, *, queue: str, limit: int, current: int, requested: int, unit: str) -> None:
        self.queue, self.limit, self.current = queue, limit, current
        self.requested, self.unit = requested, unit
        super().__init__(
            f"queue {queue!r} holds {current} of {limit} {unit} and {requested} more were asked "
            "for; try again later or raise its limit"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "queue": self.queue,
            "limit": self.limit,
            "current": self.current,
            "requested": self.requested,
            "unit": self.unit,
        }


class Unauthorized(WindlassError):
    code = "unauthorized"
    status = 401

    def __init__(self, detail: str = "send 'Authorization: Bearer wlk_…' with a valid key") -> None:
        super().__init__(detail)


class Unavailable(WindlassError):
    """A part we need does not answer; nothing was changed, or the caller may safely repeat."""

    code = "unavailable"
    status = 503
    retry_after_seconds: ClassVar[int] = 1


class MigrationMismatch(WindlassError):
    code = "migration_mismatch"


class AppNotLoaded(WindlassError):
    """`--app module:attr` did not lead to an object."""

    code = "app_not_loaded"
