"""What a task's value or exception becomes.

Everything here runs where the task ran (its thread, the users' loop, its process): turning a value
into JSON and an exception into text calls the user's own code, which may take for ever.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine
from traceback import format_exception
from typing import Any, Final

from windlass.limits import ERROR_TEXT_MAX, RESULT_BYTES_MAX
from windlass.model import strict_json
from windlass.model.harmless import harmless_json
from windlass.model.outcome import Failed, Outcome, Succeeded

TRACEBACK_FRAMES: Final = 20


def perform(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> Outcome | Coroutine[Any, Any, Any]:
    """Call a function. A coroutine comes back as it is: a decorator hid that it is async."""
    try:
        value = function(*args, **kwargs)
    except Exception as raised:
        return failed(raised)
    return value if inspect.iscoroutine(value) else succeeded(value)


async def perform_async(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> Outcome:
    try:
        return succeeded(await function(*args, **kwargs))
    except Exception as raised:
        return failed(raised)


def succeeded(value: Any) -> Outcome:
    if value is None:
        return Succeeded()
    try:
        text = _text_of(value).encode()
    except Exception as raised:
        # The work is done: doing it again would not give it a better result.
        return Failed("result_unusable", f"the result has no text: {_said(raised)}", is_final=True)
    if len(text) > RESULT_BYTES_MAX:
        return Failed(
            "result_too_large",
            f"the result has {len(text)} bytes; at most {RESULT_BYTES_MAX} are kept",
            is_final=True,
        )
    return Succeeded(text)


def failed(raised: BaseException) -> Failed:
    lines = "".join(format_exception(raised, limit=-TRACEBACK_FRAMES))[-ERROR_TEXT_MAX:]
    return Failed(type(raised).__name__, _said(raised), {"traceback": lines})


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
        case Failed(cause, message, detail, is_final):
            error = {"cause": cause, "message": message, "detail": detail, "is_final": is_final}
            return harmless_json({"error": error})
        case _:
            raise ValueError(f"a task does not end as {outcome.name}")


def from_line(line: bytes) -> Outcome:
    answer = json.loads(line)
    if "error" in answer:
        return Failed(**answer["error"])
    result = answer["result"]
    return Succeeded(result.encode() if result is not None else None)
