"""What tasks say through `logging` and structlog: into their job's log, with its id on the line.

A task logs as any program does. Each line goes where the App's configuration sends it, which is the
node's log unless it says otherwise, and beside that into the job's own log (`windlass job logs`),
bounded as everything there is (model.job.task_log).

    logging.getLogger(__name__).info("packed %s", box)   structlog.get_logger().info("packed", …)
                     |                                                   |
                _JobLogHandler                                        to_job_log
                     '------------ current.get().note_line ---------------'

Promises: nothing of this raises into a task or waits for anything. A message that cannot be
formatted is kept as far as it goes, and says so. What the node itself logs while it serves a task,
on its own loop, is none of the task's lines.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import structlog

from windlass.limits import LOG_LINE_CHARS_MAX
from windlass.model.job.running import Running, current
from windlass.supervise import is_node_loop

# They tell at length, on the level on which an App tells what matters to it.
TALKATIVE: Final = ("asyncio", "asyncpg", "httpcore", "httpx", "redis", "uvicorn")
_LEVEL_NAMES: Final[Mapping[str, str]] = {
    "critical": "error",
    "exception": "error",
    "fatal": "error",
    "msg": "info",
    "notset": "debug",
    "warn": "warning",
}
# What structlog adds on the way and the job's log knows anyhow.
_NO_FIELDS: Final = frozenset(
    {"event", "level", "timestamp", "job", "task", "exc_info", "stack_info", "_record"}
    | {"_from_structlog", "logger", "message"}
)
# What stands in a record beside its `extra`.
_OF_ANY_RECORD: Final = frozenset(
    {*vars(logging.makeLogRecord({})), "asctime", "job_id", "message", "task", "taskName"}
)


def speaking_task() -> Running | None:
    """The task whose code runs here; None: none does, or it is the node that works for one."""
    running = current.get()
    if running is None:
        return None
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return running
    return None if is_node_loop(loop) else running


def add_job(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor: whose line it is; and no longer than in its job's log."""
    running = speaking_task()
    if running is not None:
        event = line.get("event")
        if isinstance(event, str) and len(event) > LOG_LINE_CHARS_MAX:
            line["event"] = event[: LOG_LINE_CHARS_MAX - 1] + "…"
        line.setdefault("job", running.facts.job_id)
        line.setdefault("task", running.facts.task)
    return line


def to_job_log(
    logger: Any, method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """A processor, the first: the line of a task is one of its job's log, too."""
    running = speaking_task()
    # One that goes on to the standard library is heard there.
    if running is not None and not isinstance(logger, logging.Logger):
        fields = {name: value for name, value in line.items() if name not in _NO_FIELDS}
        if line.get("exc_info"):
            fields["error"] = _error_of(line["exc_info"])
        _note(running, method, line.get("event", ""), fields)
    return line


class _JobLogHandler(logging.Handler):
    """Stands first among the handlers of the root: formats may name %(job_id)s and %(task)s."""

    def emit(self, record: logging.LogRecord) -> None:
        running = speaking_task()
        if running is None:
            return
        record.job_id, record.task = running.facts.job_id, running.facts.task
        if record.levelno < logging.WARNING and record.name.split(".")[0] in TALKATIVE:
            return
        fields: dict[str, Any] = {}
        message: object
        if isinstance(record.msg, dict):  # structlog, through the standard library
            said = record.msg
            fields = {name: value for name, value in said.items() if name not in _NO_FIELDS}
            message = said.get("event", "")
        else:
            fields = {k: v for k, v in vars(record).items() if k not in _OF_ANY_RECORD}
            message = message_text(record)
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = _error_of(record.exc_info)
        _note(running, record.levelname.lower(), message, fields)


def hear_tasks(level: int) -> None:
    """Have what tasks say in their jobs' logs, from `level` on. Called once the App is loaded: it
    may have configured logs, and what it has chosen stays; this is added.
    """
    root = logging.getLogger()
    handlers = [one for one in root.handlers if not isinstance(one, _JobLogHandler)]
    root.handlers[:] = [_JobLogHandler(level), *handlers]
    processors = structlog.get_config()["processors"]
    if to_job_log not in processors:
        # In place where that can be: loggers that the App has used already hold this very list.
        if isinstance(processors, list):
            processors.insert(0, to_job_log)
        else:
            structlog.configure(processors=[to_job_log, *processors])


def _note(running: Running, level: str, message: object, fields: Mapping[str, Any]) -> None:
    level = _LEVEL_NAMES.get(level, level)
    if level not in ("debug", "info", "warning", "error"):
        level = "info"  # one of the App's own
    try:
        running.note_line(level, _text_of(message), fields)
    except Exception:
        _complain(running, level)


def _complain(running: Running, level: str) -> None:
    try:
        running.note_line(level, "a line that cannot be shown was logged here", {})
    except Exception:
        return  # the pipe of its process is closed: nobody is left to be told


def message_text(record: logging.LogRecord) -> str:
    """What it says; if its arguments do not fit its message, that."""
    try:
        return record.getMessage()
    except Exception as trouble:
        why = f"{type(trouble).__name__}: {_text_of(trouble)}"
        return f"{_text_of(record.msg)} (its arguments do not fit: {why})"


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as trouble:
        return f"a {type(value).__name__} that cannot be shown ({type(trouble).__name__})"


def _error_of(exc_info: Any) -> str:
    if exc_info is True:
        exc_info = sys.exc_info()
    if isinstance(exc_info, tuple):
        exc_info = exc_info[1]
    if not isinstance(exc_info, BaseException):
        return "an error"
    return f"{type(exc_info).__name__}: {_text_of(exc_info)}"
