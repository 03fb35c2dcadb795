"""Handle of an execution that was started: its output, its state, and why it has not ended.

The twin of `Handle`, for workflows and durable functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from windlass.errors import JobFailed
from windlass.model.workflow.execution import ENDED
from windlass.sdk.tasks.handle import AnyHandle, HasClient, Waitable, run
from windlass.sdk.tasks.remote_error import failure_from

R_co = TypeVar("R_co", covariant=True)


class ExecutionHandle(AnyHandle[R_co]):
    """The handle of an execution: `id` is the execution's."""

    __slots__ = ("_read",)

    def __init__(
        self,
        home: HasClient,
        execution_id: str,
        read: Callable[[Any], R_co] | None = None,  # None: the output is what JSON gave
    ) -> None:
        super().__init__(home, execution_id)
        self._read = read

    @property
    def _noun(self) -> Waitable:
        return self._home.client.executions

    def _has_ended(self, thing: dict[str, Any]) -> bool:
        return thing["state"] in ENDED

    def _result(self, thing: dict[str, Any]) -> R_co:
        output: R_co = thing["output"]
        return output if self._read is None else self._read(output)

    def _failure(self, thing: dict[str, Any]) -> JobFailed:
        error = thing.get("error") or {}
        return failure_from(
            error,
            job_id=error.get("job_id") or thing["id"],
            state=thing["state"],
            cause=error.get("cause") or thing["state"],
            message=error.get("message") or f"the workflow {thing['workflow']} did not succeed",
        )

    def signal(self, name: str, payload: object = None) -> None:
        """Tell it something that it waits for, or will."""
        run(self.asignal(name, payload))

    async def asignal(self, name: str, payload: object = None) -> None:
        """`signal` for code that awaits."""
        await self._home.client.executions.signal(self.id, name, payload)
