"""Handle of an execution that was started: its output, its state, and why it has not ended.

The twin of `Handle`, for workflows and durable functions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from windlass.errors import JobFailed, ResultTimeout
from windlass.model.workflow.execution import ENDED
from windlass.sdk.tasks.handle import HasClient, refuse_in_task, run
from windlass.sdk.tasks.options import Duration, seconds_of

R_co = TypeVar("R_co", covariant=True)


class ExecutionHandle(Generic[R_co]):
    """`id` is the execution's."""

    __slots__ = ("_home", "_read", "id")

    def __init__(
        self,
        home: HasClient,
        execution_id: str,
        read: Callable[[Any], R_co] | None = None,  # None: the output is what JSON gave
    ) -> None:
        self.id = execution_id
        self._home, self._read = home, read

    def result(self, timeout: Duration | None = None) -> R_co:
        """Its output. Raises JobFailed, and ResultTimeout when it takes longer."""
        return run(self.aresult(timeout))

    async def aresult(self, timeout: Duration | None = None) -> R_co:
        refuse_in_task(self.id)
        seconds = None if timeout is None else seconds_of(timeout)
        execution = await self._home.client.executions.wait(self.id, seconds)
        if execution["state"] not in ENDED:
            raise ResultTimeout(self.id, seconds or 0.0)
        if execution["state"] != "succeeded":
            raise _failure_of(execution)
        output: R_co = execution["output"]
        return output if self._read is None else self._read(output)

    def __await__(self) -> Generator[Any, None, R_co]:
        return self.aresult().__await__()

    def state(self) -> str:
        """One of: pending running succeeded failed cancelled."""
        return run(self.astate())

    async def astate(self) -> str:
        state: str = (await self._home.client.executions.get(self.id))["state"]
        return state

    def why(self) -> dict[str, Any]:
        """Which of its jobs it waits for, and why those wait."""
        return run(self.awhy())

    async def awhy(self) -> dict[str, Any]:
        return await self._home.client.executions.why(self.id)

    def cancel(self) -> None:
        run(self.acancel())

    async def acancel(self) -> None:
        await self._home.client.executions.cancel(self.id)

    def signal(self, name: str, payload: object = None) -> None:
        """Tell it something that it waits for, or will."""
        run(self.asignal(name, payload))

    async def asignal(self, name: str, payload: object = None) -> None:
        await self._home.client.executions.signal(self.id, name, payload)

    async def aended(self, seconds: float) -> bool:
        """Whether it has ended, after a wait of at most so long."""
        return (await self._home.client.executions.wait(self.id, seconds))["state"] in ENDED

    def __repr__(self) -> str:
        return f"ExecutionHandle({self.id})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


def _failure_of(execution: dict[str, Any]) -> JobFailed:
    error = execution.get("error") or {}
    return JobFailed(
        job_id=error.get("job_id") or execution["id"],
        state=execution["state"],
        cause=error.get("cause") or execution["state"],
        message=error.get("message") or f"the workflow {execution['workflow']} did not succeed",
        remote_traceback=error.get("traceback"),
    )
