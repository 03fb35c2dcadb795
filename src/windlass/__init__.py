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
        InvalidArguments,
        InvalidInput,
        JobFailed,
        NotFound,
        NotInTask,
        QueueFull,
        ResultTimeout,
        RetryAfter,
        Unauthorized,
        Unavailable,
        WindlassError,
        WouldDeadlock,
    )
    from windlass.sdk import flow
    from windlass.sdk.app import App
    from windlass.sdk.async_client import AsyncClient
    from windlass.sdk.client import Client
    from windlass.sdk.cron import INSTANT
    from windlass.sdk.current import Current, current
    from windlass.sdk.durable import Durable
    from windlass.sdk.durable_errors import DurableMisuse
    from windlass.sdk.durable_verbs import step
    from windlass.sdk.execution_handle import ExecutionHandle
    from windlass.sdk.flow import approval, switch, when
    from windlass.sdk.handle import Handle
    from windlass.sdk.handles import Handles
    from windlass.sdk.options import Retry
    from windlass.sdk.pauses import sleep, wait_for
    from windlass.sdk.problems import ApiError, Unreachable
    from windlass.sdk.task import AsyncTask, Task
    from windlass.sdk.tracing_trouble import CannotTrace
    from windlass.sdk.tracing_value import Value
    from windlass.sdk.waiting import as_completed, await_all, wait
    from windlass.sdk.workflow_code import WorkflowCode

__version__ = "0.1.0"
__all__ = [
    "INSTANT",
    "ApiError",
    "App",
    "AsyncClient",
    "AsyncTask",
    "Cancelled",
    "CannotTrace",
    "Client",
    "Conflict",
    "Current",
    "Drop",
    "Durable",
    "DurableMisuse",
    "ExecutionHandle",
    "Handle",
    "Handles",
    "InvalidArguments",
    "InvalidInput",
    "JobFailed",
    "NotFound",
    "NotInTask",
    "QueueFull",
    "ResultTimeout",
    "Retry",
    "RetryAfter",
    "Task",
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
    "windlass.errors": "Cancelled Conflict Drop InvalidArguments InvalidInput JobFailed NotFound"
    " NotInTask QueueFull ResultTimeout RetryAfter Unauthorized Unavailable WindlassError"
    " WouldDeadlock",
    "windlass.sdk.app": "App",
    "windlass.sdk.async_client": "AsyncClient",
    "windlass.sdk.client": "Client",
    "windlass.sdk.cron": "INSTANT",
    "windlass.sdk.current": "Current current",
    "windlass.sdk.durable": "Durable",
    "windlass.sdk.durable_errors": "DurableMisuse",
    "windlass.sdk.durable_verbs": "step",
    "windlass.sdk.execution_handle": "ExecutionHandle",
    "windlass.sdk.flow": "approval switch when",
    "windlass.sdk.handle": "Handle",
    "windlass.sdk.handles": "Handles",
    "windlass.sdk.options": "Retry",
    "windlass.sdk.pauses": "sleep wait_for",
    "windlass.sdk.problems": "ApiError Unreachable",
    "windlass.sdk.task": "AsyncTask Task",
    "windlass.sdk.tracing_trouble": "CannotTrace",
    "windlass.sdk.tracing_value": "Value",
    "windlass.sdk.waiting": "as_completed await_all wait",
    "windlass.sdk.workflow_code": "WorkflowCode",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}

if not TYPE_CHECKING:  # for a type checker every other name is a mistake

    def __getattr__(name: str) -> Any:
        room = _ROOM_OF.get(name)
        if name == "flow":  # a whole room of words
            found = globals()[name] = import_module("windlass.sdk.flow")
            return found
        if room is None:
            raise AttributeError(f"module 'windlass' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(room), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
