"""Jobs: submit, read, wait for, cancel, retry."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypedDict, Unpack

from windlass.limits import HINT_JOBS_MAX
from windlass.model.job.states import is_terminal
from windlass.sdk.http.paging import Pages
from windlass.sdk.http.wait import poll_until
from windlass.sdk.limits import TRY_BATCH_SECONDS
from windlass.sdk.nouns.noun import Duration, Instant, Many, Noun, given
from windlass.sdk.objects.jobs import (
    Attempt,
    BulkOperation,
    BulkPreview,
    Completed,
    Event,
    Job,
    JobRef,
    LogLine,
    WebhookStatus,
    Why,
)
from windlass.sdk.tasks.options import JobLabels


class JobOptions(JobLabels, total=False):
    """What a submission says beside its kind and its input."""

    queue: str
    priority: Literal["low", "normal", "high", "critical"]
    run_at: Instant
    delay: Duration
    deadline: Instant
    timeout: Duration
    retry: Mapping[str, Any]
    depends_on: Sequence[str]
    on_parent_failure: Literal["skip", "fail", "run"]
    tags: Sequence[str]
    locks: Sequence[Any]
    limits: Sequence[Mapping[str, Any]]
    unique_for: Duration
    debounce: Duration
    debounce_max: Duration


class Completion(TypedDict, total=False):
    """How it ended, or how much more time it needs."""

    state: Literal["succeeded", "failed"]
    result: Any
    error: Any
    is_final: bool
    extend: Duration


class JobFilter(TypedDict, total=False):
    """Which jobs are wanted, and how many."""

    state: Many
    queue: str
    kind: str
    task: str
    tag: Many
    target: str
    execution_id: str
    correlation_id: str
    key: str
    created_after: Instant
    created_before: Instant
    finished_after: Instant
    finished_before: Instant
    limit: int


class BulkFilter(TypedDict, total=False):
    """Which jobs a bulk operation is about."""

    state: Many
    queue: str
    kind: str
    task: str
    tag: str
    target: str
    execution_id: str
    correlation_id: str
    key: str
    cause: str
    created_after: Instant
    created_before: Instant
    finished_after: Instant
    finished_before: Instant


class Jobs(Noun):
    """Jobs of every kind."""

    path: ClassVar[str] = "/v1/jobs"

    async def submit(
        self,
        kind: str,
        input: object = None,  # noqa: A002 (as the API calls it)
        *,
        idempotency_key: str | None = None,  # None: this call is told from all others
        room_seconds: float = 0.0,  # how long a full queue is waited for; 0: QueueFull at once
        **options: Unpack[JobOptions],
    ) -> Job:
        """Make a job; or get the one that has its `key`, or was made with this idempotency key."""
        body = {"kind": kind, **given(input=input), **options}
        made = await self._exchange.call(
            "POST", self.path, body, key=idempotency_key, room_seconds=room_seconds
        )
        return Job(made)

    async def submit_many(
        self,
        jobs: Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
        room_seconds: float = 0.0,
    ) -> builtins.list[JobRef]:
        """Make all of them or none, in one request; answered with their ids, in the same order."""
        if not jobs:
            return []
        answer = await self._exchange.call(
            "POST",
            f"{self.path}/batch",
            {"jobs": jobs},
            key=idempotency_key,
            timeout_seconds=TRY_BATCH_SECONDS,
            room_seconds=room_seconds,
        )
        return [JobRef(id=job_id) for job_id in answer["ids"]]

    async def get(self, job_id: str, *, at: Instant | None = None) -> Job:
        """Read a job as it is, or as it was then."""
        return await self._read(Job, self._one(job_id), {"at": at})

    async def wait(self, job_id: str, seconds: float | None = None) -> Job:
        """Wait for its end: as it is then, or after so many seconds. None: however long."""
        found = await poll_until(
            self._exchange, self._one(job_id), seconds, lambda job: is_terminal(job["state"])
        )
        return Job(found)

    def list(self, **filters: Unpack[JobFilter]) -> Pages[Job]:
        """List jobs, newest first."""
        return self._pages(Job, filters)

    async def why(self, job_id: str) -> Why:
        """Say what holds it back, since when, and when it is expected to start."""
        return await self._read(Why, self._one(job_id, "why"))

    async def attempts(self, job_id: str) -> builtins.list[Attempt]:
        """Read its tries, oldest first."""
        return await self._all(Attempt, self._one(job_id, "attempts"))

    async def events(self, job_id: str) -> builtins.list[Event]:
        """Read what happened to it, oldest first."""
        return await self._all(Event, self._one(job_id, "events"))

    def logs(self, job_id: str) -> Pages[LogLine]:
        """List what its task logged, oldest first."""
        return self._pages(LogLine, {}, path=self._one(job_id, "logs"))

    async def webhook_status(self, job_id: str) -> WebhookStatus:
        """Read how the deliveries of a webhook went."""
        return await self._read(WebhookStatus, self._one(job_id, "webhook-status"))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job; one that runs is asked to stop, which takes its time."""
        return await self._verb(Job, job_id, "cancel")

    async def retry(self, job_id: str) -> Job:
        """Run it again, after it has ended; at once, if it waits for its next try."""
        return await self._verb(Job, job_id, "retry")

    async def promote(self, job_id: str) -> Job:
        """Make it due now, whatever it waited for the time of."""
        return await self._verb(Job, job_id, "promote")

    async def bulk(
        self,
        verb: Literal["cancel", "promote", "retry", "delete", "replay", "discard"],
        *,
        everything: bool = False,  # no filter, and that is meant
        dry_run: bool = False,
        rate: float | None = None,  # jobs a second; None: as fast as it goes
        most: int | None = None,  # None: as many as there are
        **which: Unpack[BulkFilter],
    ) -> BulkOperation | BulkPreview:
        """Do it to all jobs that match: the operation that does it (`client.operations`), or what
        it would touch.
        """
        body = {"verb": verb, **given(rate=rate, most=most)}
        if which:
            state = which.get("state")
            body["filter"] = {**which, "state": [state]} if isinstance(state, str) else which
        if everything:
            body["all"] = True
        if dry_run:
            body["dry_run"] = True
        answer = await self._exchange.post(f"{self.path}/bulk", body)
        return BulkPreview(answer) if dry_run else BulkOperation(answer)

    def bulk_operations(
        self, *, verb: Many | None = None, phase: Many | None = None, limit: int | None = None
    ) -> Pages[BulkOperation]:
        """List bulk operations, newest first."""
        filters = {"verb": verb, "phase": phase, "limit": limit}
        return self._pages(BulkOperation, filters, path=f"{self.path}/bulk")

    async def hint(self, job_ids: Sequence[str]) -> None:
        """Tell the nodes of jobs that were committed by SQL, so that they look for them now."""
        for start in range(0, len(job_ids), HINT_JOBS_MAX):
            some = list(job_ids[start : start + HINT_JOBS_MAX])
            await self._exchange.call("POST", f"{self.path}/hint", {"ids": some}, needs_key=False)

    async def complete(self, job_id: str, token: str, **said: Unpack[Completion]) -> Completed:
        """Say what its receiver says that took it over, with the token of its delivery."""
        return await self._verb(Completed, job_id, "complete", {"token": token, **said})

    async def delete(self, job_id: str) -> None:
        """Forget a job that has ended."""
        await self._exchange.delete(self._one(job_id))
