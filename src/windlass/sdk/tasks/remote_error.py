"""The exception of a task, raised again where its result is asked for.

A job that failed raises `JobFailed`. Where the task raised a built-in exception, or one whose class
this process has imported already, what is raised is of that class too:

    try:
        charge.enqueue(order).result()
    except CardRefused as refused:          # also a windlass.JobFailed
        print(refused.message, refused.remote_traceback)

Promises: nothing is imported and no constructor is called for it; what cannot be had so is a plain
JobFailed. It can be pickled and copied; who unpickles it without that class gets a plain JobFailed.
Never: raises what would end more than the caller's block (SystemExit, KeyboardInterrupt), what
ends an iteration, a group without its members, or an error of Windlass's own, which would say
that this call failed so.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from windlass.errors import JobFailed, WindlassError

# They would change what the code around them does, or cannot be without their members.
_NEVER: Final = (StopIteration, StopAsyncIteration, BaseExceptionGroup, WindlassError)
_HEAP_TYPE: Final = 1 << 9  # of __flags__: a class made by Python code


def job_failed(**facts: Any) -> JobFailed:
    """As JobFailed takes them; also of the class that `remote_type` names, if that can be."""
    kind = _class_named(facts.get("remote_type"))
    joined: type[JobFailed] | None = None if kind is None else _joined(kind)
    if joined is None:
        return JobFailed(**facts)
    # The constructor of the class may want anything, so it is not called; but the memory of some
    # built-in ones is laid out by their own __new__.
    layout: Any = joined
    while layout.__flags__ & _HEAP_TYPE:
        layout = layout.__base__
    error: JobFailed = layout.__new__(joined)
    try:
        JobFailed.__init__(error, **facts)
    except Exception:  # it has a property of the same name, for one
        return JobFailed(**facts)
    return error


def failure_from(error: Mapping[str, Any] | None, **facts: Any) -> JobFailed:
    """Of a job or an execution, with the `error` that it shows."""
    told = error or {}
    trace, cause = told.get("traceback"), told.get("cause")
    # A node of an earlier release says the bare name alone, as the cause.
    kind = told.get("type") or (cause if trace and _class_named(cause) else None)
    return job_failed(**facts, remote_type=kind, remote_traceback=trace)


def _class_named(name: object) -> Any:
    """The class `ValueError` or `module:qualname` of what is imported; None: there is none, or
    none that may be raised here.
    """
    if not isinstance(name, str):
        return None
    module, _, path = name.rpartition(":")
    found: Any = sys.modules.get(module) if module else builtins
    for part in path.split("."):
        # Not getattr: a module may import something when it is asked for a name.
        found = getattr(found, "__dict__", {}).get(part)
    if isinstance(found, type) and issubclass(found, Exception) and not issubclass(found, _NEVER):
        return found
    return None


@cache
def _joined(kind: Any) -> type[JobFailed] | None:
    """JobFailed and `kind` in one; None: Python cannot have both in one class."""
    fields = {
        "__module__": JobFailed.__module__,
        "__doc__": f"A job failed, and its task raised {kind.__qualname__}.",
        "_remade": staticmethod(job_failed),
    }
    try:
        return type(JobFailed.__name__, (JobFailed, kind), fields)
    except Exception:  # a metaclass, __init_subclass__ or a layout that will not
        return None
