"""Calling a task, and what its value or exception becomes: an outcome.

Everything here runs where the task ran (its thread, the users' loop, its process): turning a value
into JSON and an exception into text calls the user's own code, which may take for ever.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Coroutine
from dataclasses import asdict
from traceback import format_exception
from typing import Any, Final

from windlass.errors import Cancelled, Drop, InvalidArguments, RetryAfter
from windlass.limits import ERROR_TEXT_MAX, RESULT_BYTES_MAX
from windlass.model.job import outcome as ends
from windlass.model.job.checkpoint import AttemptEnded
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.model.job.running import Running, current
from windlass.model.json import strict as strict_json
from windlass.model.json.storable import harmless_json
from windlass.strategies.python.span import NO_SPAN, task_span
from windlass.strategies.python.task import Task

TRACEBACK_FRAMES: Final = 20
NOTHING: Final = Succeeded()


def perform(
    task: Task, running: Running, args: list[Any], kwargs: dict[str, Any]
) -> Outcome | Coroutine[Any, Any, Any]:
    """Call a task. A coroutine comes back as it is: a decorator hid that it is async."""
    current.set(running)
    try:
        # What comes back to be awaited has its span there.
        with NO_SPAN if task.is_async else task_span(running):
            if task.decode is not None:
                given, named = task.decode(args, kwargs)
                value = task.function(*given, **named)
            else:
                value = task.function(*args, **kwargs)
        return value if inspect.iscoroutine(value) else succeeded(value, task)
    except (Exception, AttemptEnded) as raised:
        return outcome_of_exception(raised)
    finally:
        current.set(None)  # the thread goes on to another


async def perform_async(
    task: Task, running: Running, args: list[Any], kwargs: dict[str, Any]
) -> Outcome:
    current.set(running)
    try:
        with task_span(running):
            if task.decode is not None:
                given, named = task.decode(args, kwargs)
                value = await task.function(*given, **named)
            else:
                value = await task.function(*args, **kwargs)
        return succeeded(value, task)
    except (Exception, AttemptEnded) as raised:
        return outcome_of_exception(raised)


async def perform_coroutine(
    task: Task, running: Running, begun: Coroutine[Any, Any, Any]
) -> Outcome:
    """Await what `perform` brought back."""
    current.set(running)
    try:
        with task_span(running):
            value = await begun
        return succeeded(value, task)
    except (Exception, AttemptEnded) as raised:
        return outcome_of_exception(raised)


def succeeded(value: Any, task: Task) -> Outcome:
    if value is None and task.encode is None:
        return NOTHING
    try:
        # Nothing is a result as well: a task that says it gives text has to.
        text = _text_of(value).encode() if task.encode is None else task.encode(value)
    except InvalidArguments as refused:
        return Failed("result_unusable", _said(refused), is_final=True)
    except Exception as raised:
        # The work is done: doing it again would not give it a better result.
        return Failed("result_unusable", f"the result has no text: {_said(raised)}", is_final=True)
    if text is not None and len(text) > RESULT_BYTES_MAX:
        return Failed(
            "result_too_large",
            f"the result has {len(text)} bytes; at most {RESULT_BYTES_MAX} are kept",
            is_final=True,
        )
    return Succeeded(text)


def outcome_of_exception(raised: BaseException) -> Outcome:
    """What an exception means: some are how a task says what is to become of its job."""
    match raised:
        case AttemptEnded():
            return raised.outcome
        case Cancelled():
            return ends.Cancelled()
        case Drop() | InvalidArguments():
            return failed(raised, cause=raised.code, is_final=True)
        case RetryAfter():
            return failed(raised, retry_after_seconds=raised.seconds)
        case _:
            return failed(raised)


def failed(
    raised: BaseException,
    *,
    cause: str | None = None,  # None: the name of its class
    is_final: bool = False,
    retry_after_seconds: float | None = None,
) -> Failed:
    lines = "".join(format_exception(raised, limit=-TRACEBACK_FRAMES))[-ERROR_TEXT_MAX:]
    return Failed(
        cause or type(raised).__name__,
        _said(raised),
        {"type": _class_of(raised), "traceback": lines},
        is_final=is_final,
        retry_after_seconds=retry_after_seconds,
        is_exact=retry_after_seconds is not None,
    )


def _class_of(raised: BaseException) -> str:
    """ValueError, or shop.cards:Refused; by it a caller finds it (sdk.tasks.remote_error)."""
    kind = type(raised)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}:{kind.__qualname__}"


def _text_of(value: Any) -> str:
    try:
        return strict_json.write(value)
    except (TypeError, ValueError):
        return harmless_json(value)


def _said(raised: BaseException) -> str:
    try:
        return str(raised)[:ERROR_TEXT_MAX]
    except Exception:
        return f"a {type(raised).__name__} that cannot say what it is"


def to_line(outcome: Outcome) -> str:
    """The outcome of a task as one line of JSON, to cross a pipe."""
    match outcome:
        case Succeeded(result):
            return json.dumps({"result": result.decode() if result else None})
        case Failed():
            return harmless_json({"error": asdict(outcome)})
        case ends.Cancelled():
            return json.dumps({"cancelled": True})
        case _:
            raise ValueError(f"a task does not end as {outcome.name}")


def from_answer(answer: dict[str, Any]) -> Outcome:
    if "error" in answer:
        return Failed(**answer["error"])
    if "cancelled" in answer:
        return ends.Cancelled()
    result = answer["result"]
    return Succeeded(result.encode() if result is not None else None)
