"""Structured log lines: for people on a console, as JSON for machines.

As JSON every line is one object, whoever says it: what libraries and the event loop log, warnings,
and what nobody has caught, on any thread. A reader of lines is lost in a traceback of fifty.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any, Final

import structlog

# They tell at length, on the level on which an App tells what matters to it.
_TALKATIVE: Final = ("asyncio", "asyncpg", "redis", "uvicorn")


def configure_logs(log_format: str, level: int = logging.INFO) -> None:
    is_json = log_format == "json"
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if is_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=28)
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    pool = logging.getLogger("asyncpg.pool")
    if not pool.filters:
        pool.addFilter(_shortly)
    if is_json:
        _take_over_logging(shared, renderer, level)
        _take_over_uncaught()


def _shortly(record: logging.LogRecord) -> bool:
    """Each pool tells each time with a traceback that a server is away, which others tell as well:
    its last line says all.
    """
    if record.exc_info:
        record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]}", ()
        record.exc_info = None
    return True


def _take_over_logging(shared: list[Any], renderer: Any, level: int) -> None:
    """What is said through the standard library."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)


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
