"""Results as users of Celery know them: `get`, `ready`, `successful`, `failed`, `state`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from windlass.clock import monotonic
from windlass.errors import JobFailed
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


class Result:
    """Of one job; `parents` are those whose results it was given."""

    def __init__(self, app: App, job_id: str, parents: tuple[Result, ...] = ()) -> None:
        self.id = self.task_id = job_id
        self.parents = parents
        self._app = app

    @property
    def parent(self) -> Result | None:
        """What stands before it in a chain."""
        return self.parents[0] if len(self.parents) == 1 else None

    def get(self, timeout: float | None = None, propagate: bool = True, **_polling: Any) -> Any:
        """What the task returned. Raises JobFailed, its parents' first, and ResultTimeout."""
        until = None if timeout is None else monotonic() + timeout
        if propagate:
            for parent in self.parents:
                parent.get(None if until is None else max(0.0, until - monotonic()))
        left = None if until is None else max(0.0, until - monotonic())
        try:
            return Handle(self._app, self.id, _as_it_is).result(left)
        except JobFailed as failure:
            if propagate:
                raise
            return failure

    @property
    def state(self) -> str:
        job = self._job()
        state = _STATE[job["state"]]
        return "RETRY" if state == "PENDING" and job["attempt"] > 0 else state

    status = state

    @property
    def result(self) -> Any:
        """The value, or the exception; None before there is one."""
        job = self._job()
        state = _STATE[job["state"]]
        return job["result"] if state == "SUCCESS" else failure_of(job) if state in READY else None

    @property
    def traceback(self) -> str | None:
        job = self._job()
        return failure_of(job).remote_traceback if _STATE[job["state"]] == "FAILURE" else None

    def ready(self) -> bool:
        return self.state in READY

    def successful(self) -> bool:
        return self.state == "SUCCESS"

    def failed(self) -> bool:
        return self.state == "FAILURE"

    def revoke(self, **_how: Any) -> None:
        """A task that runs is asked to stop."""
        self._app.blocking.jobs.cancel(self.id)

    def forget(self) -> None:
        """Nothing to do: Windlass keeps what its retention says."""

    def _job(self) -> dict[str, Any]:
        return self._app.blocking.jobs.get(self.id)

    def __repr__(self) -> str:
        return f"<Result {self.id}>"

    def __str__(self) -> str:
        return self.id


class GroupResult:
    """Of jobs side by side."""

    def __init__(self, results: tuple[Result, ...]) -> None:
        self.results = list(results)

    def get(self, timeout: float | None = None, propagate: bool = True, **_polling: Any) -> Any:
        until = None if timeout is None else monotonic() + timeout
        return [
            one.get(None if until is None else max(0.0, until - monotonic()), propagate)
            for one in self.results
        ]

    join = get

    def ready(self) -> bool:
        return all(one.ready() for one in self.results)

    def successful(self) -> bool:
        return all(one.successful() for one in self.results)

    def failed(self) -> bool:
        return any(one.failed() for one in self.results)

    def completed_count(self) -> int:
        return sum(one.successful() for one in self.results)

    def revoke(self, **_how: Any) -> None:
        for one in self.results:
            one.revoke()

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


def _as_it_is(value: Any) -> Any:
    return value
