"""Structured log lines: for people on a console, as JSON for machines.

    log.warning("redis_away", where=…) -> sentence (messages) -> flood gate -> no passwords -> shown

As JSON every line is one object, whoever says it: what libraries and the event loop log, warnings,
and what nobody has caught, on any thread. A reader of lines is lost in a traceback of fifty. On a
console what libraries and tasks say through the standard library looks like the rest, unless the
App has configured that itself: then its lines are as it wants them.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
import threading
from collections.abc import MutableMapping
from typing import Any, Final, TextIO

import structlog

from windlass.telemetry import task_logging
from windlass.telemetry.console import ConsoleLines, has_colours
from windlass.telemetry.flood import GATE
from windlass.telemetry.messages import message_of
from windlass.telemetry.outage import is_quiet

LEVELS: Final = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning")}
LEVELS["error"] = logging.ERROR

# While a server is away a line of these is one of many that its outage has said already.
_WAITS: Final = frozenset(
    {"checkpoints_wait", "finish_waits", "leadership_waits", "lease_not_renewed", "loop_waits"}
    | {"node_waits_for_database", "notes_wait", "notify_children_put_off", "operation_waits"}
    | {"recover_put_off", "refresh_left_to_the_net", "retain_waits", "tending_put_off"}
    | {"turns_put_off", "day_not_dropped", "cancel_not_told"}
)
# Their own place bounds these, before they are put together (telemetry.job_lines).
_BOUNDED: Final = frozenset(
    {"job_cancelled", "job_crashed", "job_dead", "job_quarantined", "job_retried", "lines_left_out"}
)
# Greedy where a password may hold anything; elsewhere up to the end of the host.
_ADDRESS_SECRET: Final = re.compile(
    r"((?:postgres(?:ql)?|redis(?:s)?(?:\+\w+)?|unix)://)\S*@|(\b[a-z][a-z0-9+.-]*://)[^\s/?#@]*@",
    re.IGNORECASE,
)

Line = MutableMapping[str, Any]


class _Configured:
    """What `configure_logs` was told; None: nobody has called it, this is not our process."""

    log_format: str | None = None
    level: int = logging.INFO
    renderer: Any = None


def configure_logs(log_format: str, level: str = "info") -> None:
    least = LEVELS[level]
    is_json = log_format == "json"
    renderer: Any = (
        structlog.processors.JSONRenderer(default=str)
        if is_json
        else ConsoleLines(is_coloured=has_colours(sys.stderr))
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        task_logging.add_job,
        structlog.processors.format_exc_info,
        _without_passwords,
    ]
    structlog.configure(
        processors=[_from(least), _with_sentence, *shared, renderer],
        # Jobs' logs begin with info, whatever the node's begins with.
        wrapper_class=structlog.make_filtering_bound_logger(min(least, logging.INFO)),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = _handler(shared, renderer, least)
    _Configured.log_format, _Configured.level = log_format, least
    _Configured.renderer = handler
    GATE.is_open = least <= logging.DEBUG
    pool = logging.getLogger("asyncpg.pool")
    if not pool.filters:
        pool.addFilter(_shortly)
    if is_json:
        _take_over_logging(handler, least)
        _take_over_uncaught()
    atexit.unregister(GATE.flush)
    atexit.register(GATE.flush)


def configured() -> tuple[str, str] | None:
    """Format and level, as `configure_logs` takes them; None: somebody else's logs."""
    if _Configured.log_format is None:
        return None
    named = {number: name for name, number in LEVELS.items()}
    return _Configured.log_format, named[_Configured.level]


def hear_app() -> None:
    """Take in what the App and its tasks say, once the App is loaded: it may have configured the
    standard library's logs for itself, and then they stay as it wants them.
    """
    root = logging.getLogger()
    if _Configured.log_format == "console" and not root.handlers:
        _take_over_logging(_Configured.renderer, _Configured.level)
    task_logging.hear_tasks(min(_Configured.level, logging.INFO))


def is_enabled(level: int) -> bool:
    """Is a line of this level shown? For whoever has to do something to put it together."""
    return _Configured.level <= level


# -- processors ----------------------------------------------------------------------------------


def _from(least: int) -> Any:
    numbers = {**LEVELS, "exception": logging.ERROR, "critical": logging.CRITICAL, "fatal": 50}

    def keep(_logger: Any, method: str, line: Line) -> Line:
        if numbers.get(method, logging.INFO) < least:
            raise structlog.DropEvent
        return line

    return keep


def _with_sentence(_logger: Any, method: str, line: Line) -> Line:
    """The node's own lines: what they mean, and not too many of them."""
    if task_logging.speaking_task() is not None:
        return line
    event = line.get("event")
    if event in _WAITS and not is_enabled(logging.DEBUG) and is_quiet(line.get("reason")):
        raise structlog.DropEvent
    message = message_of(event, line) if isinstance(event, str) else None
    if message is None:
        return line
    level = "error" if method in ("exception", "critical") else method
    if event not in _BOUNDED and not GATE.admits((str(event), message), level):
        raise structlog.DropEvent
    line["message"] = message
    return line


def _without_passwords(_logger: Any, _method: str, line: Line) -> Line:
    for name, value in line.items():
        if isinstance(value, str) and "://" in value:
            line[name] = _ADDRESS_SECRET.sub(r"\1\2***@", value)
    return line


# -- what is said through the standard library -----------------------------------------------------


class _NodeLogHandler(logging.StreamHandler[TextIO]):
    """One whose lines are said, also where the arguments of a message do not fit it."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            return super().format(record)
        except Exception:
            plain = logging.makeLogRecord(vars(record))
            plain.msg, plain.args = task_logging.message_text(record), ()
            return super().format(plain)


def _handler(shared: list[Any], renderer: Any, level: int) -> logging.Handler:
    handler = _NodeLogHandler(sys.stderr)
    handler.setLevel(level)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    return handler


def _take_over_logging(handler: logging.Handler, level: int) -> None:
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(min(level, logging.INFO))
    for name in task_logging.TALKATIVE:
        library = logging.getLogger(name)
        if library.level == logging.NOTSET:
            library.setLevel(logging.WARNING)
    logging.captureWarnings(True)


def _shortly(record: logging.LogRecord) -> bool:
    """Each pool tells each time with a traceback that a server is away, which the outage tells once
    for all; of other trouble its last line says all.
    """
    trouble = record.exc_info[1] if record.exc_info else None
    is_away = isinstance(trouble, OSError) or type(trouble).__module__.startswith("asyncpg")
    if is_away and not is_enabled(logging.DEBUG):
        return False  # said once, by the outage
    if record.exc_info:
        record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]}", ()
        record.exc_info = None
    return True


def _take_over_uncaught() -> None:
    """What ends a thread or the process, and what the interpreter can only complain of."""
    log = structlog.get_logger()

    def uncaught(kind: Any, error: Any, trace: Any) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        log.critical("uncaught", exc_info=(kind, error, trace))

    def uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
        if not issubclass(args.exc_type, SystemExit):
            name = args.thread.name if args.thread is not None else None
            raised = (args.exc_type, args.exc_value, args.exc_traceback)
            log.critical("uncaught", thread=name, exc_info=raised)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        raised = (args.exc_type, args.exc_value, args.exc_traceback)
        log.error("unraisable", of=repr(args.object), exc_info=raised)

    sys.excepthook = uncaught
    threading.excepthook = uncaught_in_thread
    sys.unraisablehook = unraisable
