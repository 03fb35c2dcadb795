"""Results as users of Celery know them: `get`, `ready`, `successful`, `failed`, `state`.

A failure raises JobFailed, a revoked task TaskRevoked and a wait that takes too long ResultLate:
the last two are Celery's exceptions as well, so that `except` finds them as before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NoReturn

from celery.exceptions import TaskRevokedError
from celery.exceptions import TimeoutError as CelerysTimeout

from windlass.clock import monotonic
from windlass.errors import JobFailed, ResultTimeout
from windlass.sdk.bridges.celery_json import from_json
from windlass.sdk.tasks.app import App
from windlass.sdk.tasks.handle import Handle, failure_of

_STATE: Final = {
    "blocked": "PENDING",
    "queued": "PENDING",
    "running": "STARTED",
    "succeeded": "SUCCESS",
    "dead": "FAILURE",
    "skipped": "FAILURE",
    "cancelled": "REVOKED",
    "expired": "REVOKED",
}
READY: Final = frozenset({"SUCCESS", "FAILURE", "REVOKED"})
_INSTEAD: Final = {
    "collect": "go through `parent`",
    "iterdeps": "go through `parent`",
    "graph": "look at the job in the dashboard",
    "then": "give link=… when the task is called",
    "save": "keep the ids of its results",
    "restore": "ask app.AsyncResult(id) for each",
    "backend": "results are kept by Windlass",
    "children": "keep the results of what the task starts",
}


class ResultLate(ResultTimeout, CelerysTimeout):  # type: ignore[misc]  # Celery has no types
    """The job has not ended in time; `celery.exceptions.TimeoutError` too."""


class TaskRevoked(JobFailed, TaskRevokedError):  # type: ignore[misc]
    """The job was cancelled or has expired; `celery.exceptions.TaskRevokedError` too."""


class Unlike:
    """What Celery's results have and these have not is said in a sentence."""

    def __getattr__(self, name: str) -> NoReturn:
        instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
        raise AttributeError(f"a result on Windlass has no {name!r}{instead}")


class Result(Unlike):
    """Of one job; `parents` are those whose results it was given."""

    def __init__(
        self,
        app: App,
        job_id: str | None,  # None: it is found by its task id
        parents: tuple[Result, ...] = (),
        *,
        task_id: str | None = None,  # that its caller chose; None: the job's
        ignored: bool = False,
    ) -> None:
        self.id = self.task_id = task_id or job_id or ""
        self.parents, self.ignored = parents, ignored
        self._app, self._job_id = app, job_id

    @property
    def parent(self) -> Result | GroupResult | None:
        """What stands before it: a result in a chain, those of the header in a chord."""
        if len(self.parents) > 1:
            return GroupResult(self.parents)
        return self.parents[0] if self.parents else None

    @property
    def job_id(self) -> str | None:
        """None: there is no job with this task id."""
        if self._job_id is None:
            jobs = self._app.blocking.jobs.list(correlation_id=self.id, limit=1)
            self._job_id = next((job["id"] for job in jobs), None)
        return self._job_id

    def get(self, timeout: float | None = None, propagate: bool = True, **_polling: Any) -> Any:
        """What the task returned. Raises JobFailed, that of the one above which failed, and
        ResultLate.
        """
        if self.ignored:
            return None
        job_id = self.job_id
        if job_id is None:
            raise ResultLate(self.id, 0.0)
        try:
            return from_json(Handle(self._app, job_id, _as_it_is).result(timeout))
        except ResultTimeout as late:
            raise ResultLate(late.job_id, late.seconds) from None
        except JobFailed as failure:
            return self._failed(_revoked(failure), propagate)

    wait = get

    def maybe_throw(self, propagate: bool = True, callback: Any = None) -> Any:
        """Its result; raises what became of it, if that was a failure."""
        found = self.result
        return self._failed(found, propagate) if isinstance(found, JobFailed) else found

    @property
    def state(self) -> str:
        job = self._job()
        if job is None:
            return "PENDING"
        state = _STATE[job["state"]]
        if state == "STARTED":
            return _said_by_task(job)[0] or state
        return "RETRY" if state == "PENDING" and job["attempt"] > 0 else state

    status = state

    @property
    def result(self) -> Any:
        """The value, or the exception; before there is one what the task said by update_state."""
        job = self._job()
        if job is None:
            return None
        state = _STATE[job["state"]]
        if state == "SUCCESS":
            return from_json(job["result"])
        return _revoked(failure_of(job)) if state in READY else _said_by_task(job)[1]

    info = result

    @property
    def traceback(self) -> str | None:
        job = self._job()
        if job is None or _STATE[job["state"]] != "FAILURE":
            return None
        return failure_of(job).remote_traceback

    @property
    def date_done(self) -> datetime | None:
        job = self._job()
        at = None if job is None else job["finished_at"]
        return None if at is None else datetime.fromisoformat(at)

    @property
    def name(self) -> Any:
        return self._call(0)

    @property
    def args(self) -> Any:
        return from_json(self._call(1))

    @property
    def kwargs(self) -> Any:
        return from_json(self._call(2))

    @property
    def queue(self) -> str | None:
        job = self._job()
        return None if job is None else job["queue"]

    @property
    def retries(self) -> int:
        job = self._job() or {"attempt": 0, "snoozes": 0, "crashes": 0}
        return max(0, int(job["attempt"] - job["snoozes"] - job["crashes"] - 1))

    def ready(self) -> bool:
        return self.state in READY

    def successful(self) -> bool:
        return self.state == "SUCCESS"

    def failed(self) -> bool:
        return self.state == "FAILURE"

    def revoke(self, *_connection: Any, **_how: Any) -> None:
        """A task that runs is asked to stop."""
        if self.job_id is not None:
            self._app.blocking.jobs.cancel(self.job_id)

    def forget(self) -> None:
        """Nothing to do: Windlass keeps what its retention says."""

    def _failed(self, failure: JobFailed, propagate: bool) -> JobFailed:
        if not propagate:
            return failure
        # What failed is above: this one has only been skipped for it.
        if failure.state == "skipped":
            for parent in self.parents:
                parent.maybe_throw()
        raise failure

    def _call(self, place: int) -> Any:
        """A part of what the bridge was asked: the name, args or kwargs."""
        job = self._job()
        return None if job is None else job["input"]["args"][place]

    def _job(self) -> dict[str, Any] | None:
        job_id = self.job_id
        return None if job_id is None else self._app.blocking.jobs.get(job_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Result {self.id}>"

    def __str__(self) -> str:
        return self.id


class GroupResult(Unlike):
    """Of jobs side by side; of chains that end in groups, results of groups are in it."""

    def __init__(self, results: tuple[Result | GroupResult, ...]) -> None:
        self.results = list(results)

    def get(self, timeout: float | None = None, propagate: bool = True, **_polling: Any) -> Any:
        until = None if timeout is None else monotonic() + timeout
        return [
            one.get(None if until is None else max(0.0, until - monotonic()), propagate)
            for one in self.results
        ]

    join = join_native = get

    def maybe_throw(self, propagate: bool = True, callback: Any = None) -> None:
        for one in self.results:
            one.maybe_throw(propagate)

    def ready(self) -> bool:
        return all(one.ready() for one in self.results)

    def waiting(self) -> bool:
        return not self.ready()

    def successful(self) -> bool:
        return all(one.successful() for one in self.results)

    def failed(self) -> bool:
        return any(one.failed() for one in self.results)

    def completed_count(self) -> int:
        return sum(
            one.completed_count() if isinstance(one, GroupResult) else one.successful()
            for one in self.results
        )

    def revoke(self, *_connection: Any, **_how: Any) -> None:
        for one in self.results:
            one.revoke()

    def forget(self) -> None:
        """Nothing to do: Windlass keeps what its retention says."""

    def __getitem__(self, number: int) -> Result | GroupResult:
        return self.results[number]

    def __iter__(self) -> Iterator[Result | GroupResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        return f"<GroupResult of {len(self.results)}>"


def _revoked(failure: JobFailed) -> JobFailed:
    if _STATE[failure.state] != "REVOKED":
        return failure
    return TaskRevoked(
        job_id=failure.job_id, state=failure.state, cause=failure.cause, message=failure.message
    )


def _said_by_task(job: dict[str, Any]) -> tuple[str | None, Any]:
    """The state and the meta of `self.update_state`; None: it said nothing."""
    message = (job.get("progress") or {}).get("message") or ""
    try:
        said = json.loads(message)
        return said["state"], from_json(said["meta"])
    except (ValueError, TypeError, KeyError):
        return None, None


def _as_it_is(value: Any) -> Any:
    return value
