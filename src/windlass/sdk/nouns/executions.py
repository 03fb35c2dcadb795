"""Executions of workflows and durable functions: start, wait for, signal, cancel, rerun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypedDict, Unpack

from windlass.sdk.http.paging import Pages, Thing
from windlass.sdk.http.wait import poll_until
from windlass.sdk.http.wire import segment
from windlass.sdk.nouns.noun import Instant, Many, Noun, given

ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})


class StartOptions(TypedDict, total=False):
    priority: Literal["low", "normal", "high", "critical"]
    correlation_id: str
    tags: Sequence[str]


class ExecutionFilter(TypedDict, total=False):
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
    ) -> Thing:
        body = {**given(input=input, version=version), **options}
        path = f"/v1/workflows/{segment(workflow)}/executions"
        execution: Thing = await self._exchange.post(path, body, key=key)
        return execution if wait is None else await self.wait(execution["id"], wait)

    async def get(self, execution_id: str) -> Thing:
        return await self._read(self._one(execution_id))

    async def wait(self, execution_id: str, seconds: float | None = None) -> Thing:
        """It once it has ended, or as it is after so many seconds. None: however long."""
        path = self._one(execution_id)
        return await poll_until(self._exchange, path, seconds, lambda one: one["state"] in ENDED)

    def list(self, **filters: Unpack[ExecutionFilter]) -> Pages:
        """Newest first."""
        return self._pages(filters)

    def jobs(self, execution_id: str) -> Pages:
        return self._pages({}, path=self._one(execution_id, "jobs"))

    def events(self, execution_id: str) -> Pages:
        return self._pages({}, path=self._one(execution_id, "events"))

    async def graph(self, execution_id: str) -> Thing:
        return await self._read(self._one(execution_id, "graph"))

    async def why(self, execution_id: str) -> Thing:
        return await self._read(self._one(execution_id, "why"))

    async def cancel(self, execution_id: str) -> Thing:
        return await self._verb(execution_id, "cancel")

    async def pause(self, execution_id: str) -> Thing:
        """No further step starts."""
        return await self._verb(execution_id, "pause")

    async def resume(self, execution_id: str) -> Thing:
        return await self._verb(execution_id, "resume")

    async def rerun(self, execution_id: str, from_step: str | None = None) -> Thing:
        """Again from that step on. None: from what failed or never had its turn."""
        return await self._verb(execution_id, "rerun", given(from_step=from_step))

    async def signal(
        self, execution_id: str, name: str, payload: object = None, *, key: str | None = None
    ) -> Thing:
        """To the step that waits for it; kept until one does."""
        path = self._one(execution_id, "signals", segment(name))
        sent: Thing = await self._exchange.post(path, {"payload": payload}, key=key)
        return sent
