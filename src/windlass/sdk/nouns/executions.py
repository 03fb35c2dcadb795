"""Executions of workflows and durable functions: start, wait for, signal, cancel, rerun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypedDict, Unpack

from windlass.sdk.http.paging import Pages
from windlass.sdk.http.wait import poll_until
from windlass.sdk.http.wire import segment
from windlass.sdk.nouns.noun import Instant, Many, Noun, given
from windlass.sdk.objects.executions import Execution, ExecutionGraph, ExecutionSignal, WhyExecution
from windlass.sdk.objects.jobs import Event, Job

ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})


class StartOptions(TypedDict, total=False):
    """What is said of an execution beside its input."""

    priority: Literal["low", "normal", "high", "critical"]
    correlation_id: str
    tags: Sequence[str]


class ExecutionFilter(TypedDict, total=False):
    """Which executions are wanted, and how many."""

    workflow: str
    state: Many
    tag: Many
    correlation_id: str
    created_after: Instant
    created_before: Instant
    finished_after: Instant
    finished_before: Instant
    limit: int


class Executions(Noun):
    """Executions of workflows and durable functions."""

    path: ClassVar[str] = "/v1/executions"

    async def start(
        self,
        workflow: str,
        input: Mapping[str, Any] | None = None,  # noqa: A002 (as the API calls it)
        *,
        key: str | None = None,  # the same key starts it once; None: this call is like no other
        version: int | None = None,  # None: the newest
        wait: float | None = None,  # seconds to wait for its end; None: not at all
        **options: Unpack[StartOptions],
    ) -> Execution:
        """Start a workflow: its execution, which has ended if `wait` was long enough."""
        body = {**given(input=input, version=version), **options}
        path = f"/v1/workflows/{segment(workflow)}/executions"
        execution = Execution(await self._exchange.post(path, body, key=key))
        return execution if wait is None else await self.wait(execution.id, wait)

    async def get(self, execution_id: str) -> Execution:
        """Read one as it is."""
        return await self._read(Execution, self._one(execution_id))

    async def wait(self, execution_id: str, seconds: float | None = None) -> Execution:
        """Wait for its end: as it is then, or after so many seconds. None: however long."""
        path = self._one(execution_id)
        poll = poll_until(self._exchange, path, seconds, lambda one: one["state"] in ENDED)
        return Execution(await poll)

    def list(self, **filters: Unpack[ExecutionFilter]) -> Pages[Execution]:
        """List them, newest first."""
        return self._pages(Execution, filters)

    def jobs(self, execution_id: str) -> Pages[Job]:
        """List the jobs of one."""
        return self._pages(Job, {}, path=self._one(execution_id, "jobs"))

    def events(self, execution_id: str) -> Pages[Event]:
        """List what happened to one."""
        return self._pages(Event, {}, path=self._one(execution_id, "events"))

    async def graph(self, execution_id: str) -> ExecutionGraph:
        """Read its steps and how they hang together."""
        return await self._read(ExecutionGraph, self._one(execution_id, "graph"))

    async def why(self, execution_id: str) -> WhyExecution:
        """Say which of its jobs it waits for, and why those wait."""
        return await self._read(WhyExecution, self._one(execution_id, "why"))

    async def cancel(self, execution_id: str) -> Execution:
        """Stop it: what has not begun is cancelled, and what runs is asked to stop."""
        return await self._verb(Execution, execution_id, "cancel")

    async def pause(self, execution_id: str) -> Execution:
        """Pause it: no further step starts."""
        return await self._verb(Execution, execution_id, "pause")

    async def resume(self, execution_id: str) -> Execution:
        """Let it go on after a pause."""
        return await self._verb(Execution, execution_id, "resume")

    async def rerun(self, execution_id: str, from_step: str | None = None) -> Execution:
        """Run it again from that step on. None: from what failed or never had its turn."""
        return await self._verb(Execution, execution_id, "rerun", given(from_step=from_step))

    async def signal(
        self, execution_id: str, name: str, payload: object = None, *, key: str | None = None
    ) -> ExecutionSignal:
        """Send a signal to the step that waits for it; it is kept until one does."""
        path = self._one(execution_id, "signals", segment(name))
        return ExecutionSignal(await self._exchange.post(path, {"payload": payload}, key=key))
