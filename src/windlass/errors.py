"""Every error Windlass raises on purpose.

Each says what happened, to which one, and what to do; carries its facts as attributes; and names
the `code` and HTTP status that the API shows, so a reader of a log and a caller see the same word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from windlass.duration import parse_seconds
from windlass.limits import LOGIN_BURST


class WindlassError(Exception):
    """The parent of all of them."""

    code: str = "error"
    status: int = 500
    problem: dict[str, Any] | None = None  # as the API told it; None: it was raised in this process
    retry_after: float | None = None  # seconds, as the server asks for; None: it does not say

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """One thing wrong with one part of the input, by JSON pointer."""

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
        """With one problem, at this JSON pointer."""
        return cls(FieldProblem(pointer=pointer, detail=detail))


class MalformedBody(InvalidInput):
    """The body is not JSON that we take: syntax, depth, twin keys, NaN."""

    code = "malformed_body"
    status = 400


class BadHeader(InvalidInput):
    """A header cannot be understood, or says something that this route does not heed."""

    code = "bad_header"
    status = 400


class BodyTooLarge(WindlassError):
    """The body is larger than this route takes; send less, or in pieces."""

    code = "body_too_large"
    status = 413

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(f"the body is larger than {limit_bytes} bytes; send less at a time")

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"limit": self.limit_bytes, "unit": "bytes"}


class NotFound(WindlassError):
    """There is no such thing, or there is none any more."""

    code = "not_found"
    status = 404

    def __init__(self, noun: str, name: str) -> None:
        self.noun, self.name = noun, name
        hint = "; it may have been removed after retention" if noun == "job" else ""
        super().__init__(f"there is no {noun} {name!r}{hint}")

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"noun": self.noun, "name": self.name}


class Conflict(WindlassError):
    """The thing is there, but not in a state that allows this."""

    code = "conflict"
    status = 409


class PreconditionFailed(Conflict):
    """It is not as If-Match or If-None-Match says; nothing was changed. Read it again, then send
    the ETag you got."""

    code = "precondition_failed"
    status = 412

    def __init__(self, *, noun: str, name: str, header: str, etag: str | None) -> None:
        self.noun, self.name, self.header = noun, name, header
        self.etag = etag  # that it has now; None: there is no such thing
        if header == "If-None-Match":
            said = (
                f"there is a {noun} {name!r} that {header} rules out; to change it, read it and "
                "send the ETag you got as If-Match"
            )
        elif etag is None:
            said = f"there is no {noun} {name!r}, and {header} wants one; leave it out to make it"
        else:
            said = (
                f"{noun} {name!r} was changed after the ETag in {header}; read it again, then send "
                "the ETag you got"
            )
        super().__init__(said)

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {
            "noun": self.noun,
            "name": self.name,
            "etag": self.etag,
            "errors": [{"pointer": self.header, "detail": str(self)}],
        }


class NotAwaiting(Conflict):
    """A completion came for a job that does not wait for one."""

    code = "not_awaiting"

    def __init__(self, job_id: str, state: str) -> None:
        self.job_id, self.state = job_id, state
        super().__init__(
            f"{job_id} is {state} and does not wait for a completion; each attempt that its "
            "receiver takes over has a token of its own, which is good for one end"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"job_id": self.job_id, "state": self.state}


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

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"job_id": self.job_id}


class NotAWebhook(Conflict):
    """Asked of a job of another kind, which delivers nothing."""

    code = "not_a_webhook"

    def __init__(self, job_id: str, kind: str) -> None:
        self.job_id, self.kind = job_id, kind
        super().__init__(
            f"{job_id} is of kind {kind!r} and delivers nothing; its attempts are shown by "
            f"GET /v1/jobs/{job_id}/attempts"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"job_id": self.job_id, "kind": self.kind}


class LockHeld(Conflict):
    """All of a lock is taken, or kept for those who came before."""

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
        """What the API adds to the problem document beside the sentence."""
        return {
            "name": self.name,
            "capacity": self.capacity,
            "waiting": self.waiting,
            "holders": self.holders,
        }


class LockTimeout(LockHeld, TimeoutError):
    """A lock was not free within the time that its caller would wait (`client.lock(…, wait=…)`)."""

    def __init__(self, held: LockHeld, seconds: float) -> None:
        self.name, self.capacity = held.name, held.capacity
        self.waiting, self.holders = held.waiting, held.holders
        self.seconds = seconds
        self.problem = held.problem
        who = ", ".join(str(one.get("job_id") or one.get("owner")) for one in held.holders)
        Exception.__init__(
            self,
            f"lock {held.name!r} was not free within {seconds:g} seconds; held by "
            f"{who or 'nobody now, others came first'}; try again later, or wait longer",
        )

    def __str__(self) -> str:
        return str(self.args[0])


class LockNeverHeld(Conflict):
    """A token that nobody was given with this lock."""

    code = "lock_never_held"

    def __init__(self, name: str, token: int) -> None:
        self.name, self.token = name, token
        super().__init__(
            f"no hold of lock {name!r} has had token {token}; give the name and the token that "
            "were answered together"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"name": self.name, "token": self.token}


class LockLost(Conflict):
    """A token that holds nothing any more: somebody else may be inside."""

    code = "lock_lost"

    def __init__(self, name: str, token: int) -> None:
        self.name, self.token = name, token
        super().__init__(
            f"token {token} does not hold lock {name!r}: it ran out of time or was released; stop "
            "what it guards and take the lock again"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"name": self.name, "token": self.token}


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
        """What the API adds to the problem document beside the sentence."""
        return {"name": self.name, "job_id": self.job_id}


class IdempotencyMismatch(WindlassError):
    """This Idempotency-Key was used for another request."""

    code = "idempotency_mismatch"
    status = 422

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"Idempotency-Key {key!r} was used before with another body; use a new key for new work"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"key": self.key}


class QueueFull(WindlassError):
    """The queue holds as many jobs or bytes as its limit allows; try again later."""

    code = "queue_full"
    status = 429
    retry_after_seconds: ClassVar[int] = 5

    def __init__(self, *, queue: str, limit: int, current: int, requested: int, unit: str) -> None:
        self.queue, self.limit, self.current = queue, limit, current
        self.requested, self.unit = requested, unit
        self.retry_after = self.retry_after_seconds
        super().__init__(
            f"queue {queue!r} holds {current} of {limit} {unit} and {requested} more were asked "
            "for; try again later or raise its limit"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {
            "queue": self.queue,
            "limit": self.limit,
            "current": self.current,
            "requested": self.requested,
            "unit": self.unit,
        }


class QueueRate(WindlassError):
    """The queue takes only so many jobs a second; wait as long as it says."""

    code = "queue_rate"
    status = 429

    def __init__(
        self, *, queue: str, limit: float, current: int, requested: int, wait_seconds: float
    ) -> None:
        self.queue, self.limit, self.current, self.requested = queue, limit, current, requested
        self.unit = "jobs/s"
        self.retry_after_seconds = self.retry_after = max(1, math.ceil(wait_seconds))
        super().__init__(
            f"queue {queue!r} takes {limit:g} jobs a second and has taken {current}; {requested} "
            f"more can come in {self.retry_after_seconds} s"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {
            "queue": self.queue,
            "limit": self.limit,
            "current": self.current,
            "requested": self.requested,
            "unit": self.unit,
        }


class RateLimited(WindlassError):
    """More requests a second than your quota allows; wait as long as it says."""

    code = "rate_limited"
    status = 429

    def __init__(
        self, *, subject: str, limit: float, burst: int, wait_seconds: float, reset_seconds: float
    ) -> None:
        self.subject, self.limit, self.burst = subject, limit, burst
        self.current, self.remaining, self.requested = burst, 0, 1
        self.unit = "requests/s"
        self.retry_after_seconds = self.retry_after = max(1, math.ceil(wait_seconds))
        self.reset = max(1, math.ceil(reset_seconds))
        super().__init__(
            f"{subject} may make {limit:g} requests a second, {burst} at once, and has made them; "
            f"the next can come in {self.retry_after_seconds} s"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {
            "subject": self.subject,
            "limit": self.limit,
            "burst": self.burst,
            "current": self.current,
            "remaining": self.remaining,
            "requested": self.requested,
            "unit": self.unit,
            "reset": self.reset,
        }


class QuotaExceeded(WindlassError):
    """Your quota of jobs a day, or of bytes that wait, is spent; nothing was accepted."""

    code = "quota_exceeded"
    status = 429

    def __init__(
        self,
        *,
        subject: str,
        quota: str,  # which of its quotas: jobs_per_day, bytes_waiting
        limit: int,
        current: int,
        requested: int,
        wait_seconds: float,
    ) -> None:
        self.subject, self.quota = subject, quota
        self.limit, self.current, self.requested = limit, current, requested
        self.unit = "jobs" if quota == "jobs_per_day" else "bytes"
        self.remaining = max(0, limit - current)
        self.retry_after_seconds = self.retry_after = max(1, math.ceil(wait_seconds))
        said = (
            f"{current} of {limit} jobs of today (UTC)"
            if self.unit == "jobs"
            else f"{current} of {limit} bytes that may wait"
        )
        when = (
            f"the day ends in {self.retry_after_seconds} s"
            if self.unit == "jobs"
            else "room comes back as jobs end"
        )
        super().__init__(
            f"{subject} has used {said}, and {requested} more were asked for; nothing was "
            f"accepted, {when}"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {
            "subject": self.subject,
            "quota": self.quota,
            "limit": self.limit,
            "current": self.current,
            "remaining": self.remaining,
            "requested": self.requested,
            "unit": self.unit,
        }


class Unauthorized(WindlassError):
    """No key or session, or one that is not known: never, not any more. Which, is not told."""

    code = "unauthorized"
    status = 401

    def __init__(
        self,
        detail: str = "no valid key or session: send 'Authorization: Bearer wlk_…'; one that was "
        "good before was revoked, has expired, or was not used for too long",
    ) -> None:
        super().__init__(detail)


class Forbidden(WindlassError):
    """The caller is known, and may not do this."""

    code = "forbidden"
    status = 403
    # The right that it takes, and the roles that have it; None: something else is in the way.
    needs: str | None = None
    roles: Sequence[str] | None = None


class TooManyTries(WindlassError):
    """Too many tries to log in as this user, or from this address; wait as long as it says."""

    code = "too_many_tries"
    status = 429

    def __init__(self, wait_seconds: float) -> None:
        self.retry_after_seconds = max(1, math.ceil(wait_seconds))
        self.retry_after = self.retry_after_seconds
        self.limit = LOGIN_BURST  # so many are heard at once
        super().__init__(
            f"too many tries to log in; the next one is heard in {self.retry_after_seconds} s"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"limit": self.limit, "unit": "tries"}


class Unavailable(WindlassError):
    """A part we need does not answer; nothing was changed, or the caller may safely repeat."""

    code = "unavailable"
    status = 503
    retry_after_seconds: ClassVar[int] = 1


class NotSettledYet(Unavailable):
    """A completion came before the delivery that it belongs to was on record: say it again."""

    code = "not_settled_yet"

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(
            f"{job_id} is running, and the delivery that carried this token is not on record yet; "
            "nothing was changed, say the same again in a moment"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"job_id": self.job_id}


class MigrationMismatch(WindlassError):
    """The database was migrated by another release than this one."""

    code = "migration_mismatch"


class DatabaseNewer(WindlassError):
    """The tables are those of a later release."""

    code = "database_newer"

    def __init__(self, names: list[str]) -> None:
        self.names = names
        from_here = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
        super().__init__(
            f"this data was used by a newer Windlass (migration {from_here} is not known here); "
            "start that version, or give another folder with --data"
        )


class SchemaBehind(WindlassError):
    """The tables lack what this release brings, and the role that we log in as may not change
    them."""

    code = "schema_behind"

    def __init__(self, role: str, owner: str | None, missing: list[str]) -> None:
        self.role, self.owner, self.missing = role, owner, missing
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        whose = "a role that may make it" if owner is None else f"its owner, {owner!r}"
        super().__init__(
            f"schema windlass lacks migration {missing[0]}{more}, and the role {role!r} may not "
            f"change it; run `windlass migrate up` as {whose}, then start this again"
        )


class RightsMissing(WindlassError):
    """The role that we log in as lacks rights that a node needs."""

    code = "rights_missing"

    def __init__(self, role: str, owner: str | None, missing: list[str]) -> None:
        self.role, self.owner, self.missing = role, owner, missing
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        super().__init__(
            f"the role {role!r} lacks rights that a node needs ({missing[0]}{more}); "
            f"run `windlass migrate role {role}` as the owner of schema windlass, {owner!r}"
        )


class RoleUnfit(WindlassError):
    """A role that cannot be given only the rights of ours."""

    code = "role_unfit"


class AppNotLoaded(WindlassError):
    """`--app module:attr` did not lead to an object."""

    code = "app_not_loaded"


# -- what a task says, and what its caller hears -------------------------------------------------


class JobFailed(WindlassError):
    """The job behind a handle ended otherwise than `succeeded`.

    What a handle raises is also of the class that the task raised, where this process has it (see
    sdk.tasks.remote_error). So nothing here goes up the chain of classes: the other one is there.
    """

    code = "job_failed"

    def __init__(
        self,
        *,
        job_id: str,
        state: str,
        cause: str,
        message: str,
        remote_type: str | None = None,  # ValueError, shop.cards:Refused; None: it was no exception
        remote_traceback: str | None = None,  # None: it was no exception of a task
    ) -> None:
        self.job_id, self.state = job_id, state
        self.cause, self.message = cause, message
        self.remote_type, self.remote_traceback = remote_type, remote_traceback
        said = f"{job_id} is {state}: {cause}: {message}"
        Exception.__init__(self, f"{said}\n\n{remote_traceback}" if remote_traceback else said)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: by its facts, as it was made."""
        names = ("job_id", "state", "cause", "message", "remote_type", "remote_traceback")
        facts = {name: getattr(self, name) for name in names}
        return partial(self._remade, **facts), (), self.__dict__

    @classmethod
    def _remade(cls, **facts: Any) -> JobFailed:
        return cls(**facts)


class RetryAfter(WindlassError):
    """Raised by a task: this attempt failed, try again after so long. It spends an attempt."""

    code = "retry_after"

    def __init__(self, after: float | str, reason: str = "") -> None:
        self.seconds = parse_seconds(after)
        self.reason = reason
        super().__init__(reason or f"the task asked to be tried again after {after}")


class Drop(WindlassError):
    """Raised by a task: give up at once, another try cannot help."""

    code = "dropped"

    def __init__(self, why: str = "the task gave up") -> None:
        self.why = why
        super().__init__(why)


class Cancelled(WindlassError):
    """The job is to stop: somebody cancelled it, its time is up, or its node let it go.

    A task that raises it by itself ends its job `cancelled`.
    """

    code = "cancelled"
    status = 409

    def __init__(self, why: str = "the job was cancelled") -> None:
        self.why = why
        super().__init__(why)


class InvalidArguments(WindlassError):
    """A task was given what its signature does not take, or gave what its hint does not allow."""

    code = "invalid_arguments"
    status = 422

    def __init__(self, *, task: str, parameter: str | None, detail: str) -> None:
        self.task, self.parameter, self.detail = task, parameter, detail
        where = f", parameter {parameter!r}" if parameter else ""  # None: no single one
        super().__init__(f"task {task!r}{where}: {detail}")

    @property
    def facts(self) -> dict[str, Any]:
        """What the API adds to the problem document beside the sentence."""
        return {"task": self.task, "parameter": self.parameter}


class ResultTimeout(WindlassError):
    """Nobody knew the end of a job within the time that its caller gave."""

    code = "result_timeout"
    status = 504

    def __init__(self, job_id: str, seconds: float) -> None:
        self.job_id, self.seconds = job_id, seconds
        super().__init__(
            f"{job_id} has not ended within {seconds:g} seconds; it goes on: ask again, or why() "
            "it waits"
        )


class WouldDeadlock(WindlassError):
    """A task asked for another job's result, and would keep its slot until that has one."""

    code = "would_deadlock"
    status = 409

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(
            f"a task may not wait for {job_id}: its slot would wait for a slot; let a workflow or "
            "depends_on bring the result, or end this task and go on in another"
        )


class NotInTask(WindlassError):
    """`windlass.current()` where no job runs."""

    code = "not_in_task"

    def __init__(self, asked: str = "windlass.current()") -> None:
        super().__init__(f"{asked} is for code that a node runs as a task; nothing runs here")
