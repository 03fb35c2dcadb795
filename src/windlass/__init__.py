"""Windlass runs work that must not be lost.

What users import. Each name is fetched when it is first asked for, so `import windlass` costs next
to nothing and brings no server, no HTTP client and no event loop into a process that needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windlass.errors import (
        Cancelled,
        Conflict,
        Drop,
        Forbidden,
        InvalidArguments,
        InvalidInput,
        JobFailed,
        LockHeld,
        LockLost,
        LockTimeout,
        NotFound,
        NotInTask,
        QueueFull,
        QueueRate,
        QuotaExceeded,
        RateLimited,
        ResultTimeout,
        RetryAfter,
        TooManyTries,
        Unauthorized,
        Unavailable,
        WindlassError,
        WouldDeadlock,
    )
    from windlass.sdk.durable.difference import DurableMisuse
    from windlass.sdk.durable.durable import Durable
    from windlass.sdk.durable.verbs import step
    from windlass.sdk.http.async_client import AsyncClient
    from windlass.sdk.http.client import Client
    from windlass.sdk.http.problems import ApiError, Unreachable
    from windlass.sdk.nouns.lock import AsyncLock, Lock
    from windlass.sdk.objects.executions import Execution
    from windlass.sdk.objects.jobs import Job
    from windlass.sdk.tasks.app import App
    from windlass.sdk.tasks.cron import INSTANT
    from windlass.sdk.tasks.current import Current, current
    from windlass.sdk.tasks.execution_handle import ExecutionHandle
    from windlass.sdk.tasks.handle import Handle, Handles
    from windlass.sdk.tasks.options import Retry
    from windlass.sdk.tasks.pauses import sleep, wait_for
    from windlass.sdk.tasks.task import AsyncTask, Task
    from windlass.sdk.tasks.waiting import as_completed, await_all, wait
    from windlass.sdk.workflow import flow
    from windlass.sdk.workflow.cannot_trace import CannotTrace
    from windlass.sdk.workflow.code import WorkflowCode
    from windlass.sdk.workflow.flow import approval, switch, when
    from windlass.sdk.workflow.value import Value

__version__ = "0.1.0"
__all__ = [
    "INSTANT",
    "ApiError",
    "App",
    "AsyncClient",
    "AsyncLock",
    "AsyncTask",
    "Cancelled",
    "CannotTrace",
    "Client",
    "Conflict",
    "Current",
    "Drop",
    "Durable",
    "DurableMisuse",
    "Execution",
    "ExecutionHandle",
    "Forbidden",
    "Handle",
    "Handles",
    "InvalidArguments",
    "InvalidInput",
    "Job",
    "JobFailed",
    "Lock",
    "LockHeld",
    "LockLost",
    "LockTimeout",
    "NotFound",
    "NotInTask",
    "QueueFull",
    "QueueRate",
    "QuotaExceeded",
    "RateLimited",
    "ResultTimeout",
    "Retry",
    "RetryAfter",
    "Task",
    "TooManyTries",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "Value",
    "WindlassError",
    "WorkflowCode",
    "WouldDeadlock",
    "__version__",
    "approval",
    "as_completed",
    "await_all",
    "current",
    "flow",
    "sleep",
    "step",
    "switch",
    "wait",
    "wait_for",
    "when",
]

# Where each of them lives.
_ROOMS = {
    "windlass.errors": "Cancelled Conflict Drop Forbidden InvalidArguments InvalidInput JobFailed"
    " LockHeld LockLost LockTimeout NotFound NotInTask QueueFull QueueRate QuotaExceeded"
    " RateLimited ResultTimeout RetryAfter TooManyTries Unauthorized Unavailable WindlassError"
    " WouldDeadlock",
    "windlass.sdk.tasks.app": "App",
    "windlass.sdk.http.async_client": "AsyncClient",
    "windlass.sdk.http.client": "Client",
    "windlass.sdk.nouns.lock": "AsyncLock Lock",
    "windlass.sdk.objects.executions": "Execution",
    "windlass.sdk.objects.jobs": "Job",
    "windlass.sdk.tasks.cron": "INSTANT",
    "windlass.sdk.tasks.current": "Current current",
    "windlass.sdk.durable.durable": "Durable",
    "windlass.sdk.durable.difference": "DurableMisuse",
    "windlass.sdk.durable.verbs": "step",
    "windlass.sdk.tasks.execution_handle": "ExecutionHandle",
    "windlass.sdk.workflow.flow": "approval switch when",
    "windlass.sdk.tasks.handle": "Handle Handles",
    "windlass.sdk.tasks.options": "Retry",
    "windlass.sdk.tasks.pauses": "sleep wait_for",
    "windlass.sdk.http.problems": "ApiError Unreachable",
    "windlass.sdk.tasks.task": "AsyncTask Task",
    "windlass.sdk.workflow.cannot_trace": "CannotTrace",
    "windlass.sdk.workflow.value": "Value",
    "windlass.sdk.tasks.waiting": "as_completed await_all wait",
    "windlass.sdk.workflow.code": "WorkflowCode",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}

if not TYPE_CHECKING:  # for a type checker every other name is a mistake

    def __getattr__(name: str) -> Any:
        room = _ROOM_OF.get(name)
        if name == "flow":  # a whole room of words
            found = globals()[name] = import_module("windlass.sdk.workflow.flow")
            return found
        if room is None:
            raise AttributeError(f"module 'windlass' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(room), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
