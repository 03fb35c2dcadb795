"""Tracing: a task runs inside an OpenTelemetry span, below the one it was submitted from.

Only where somebody has set that up: who wants spans has done so in the `--app` module.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Final

from windlass.model.job.running import Running

NO_SPAN: Final[AbstractContextManager[Any]] = contextlib.nullcontext()


def task_span(running: Running) -> AbstractContextManager[Any]:
    """The span is current inside; what is raised there is recorded in it."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    # Libraries import it too, where it is installed, and a span that nobody gets costs as much as
    # half a task. To ask for the provider in public costs a third of that, for each task.
    if trace is None or getattr(trace, "_TRACER_PROVIDER", trace) is None:
        return NO_SPAN
    facts = running.facts
    span: AbstractContextManager[Any] = trace.get_tracer("windlass").start_as_current_span(
        f"run {facts.task}",
        context=_context(trace, facts.traceparent),
        kind=trace.SpanKind.CONSUMER,
        attributes={
            "messaging.system": "windlass",
            "messaging.operation.type": "process",
            "messaging.destination.name": facts.queue,
            "messaging.message.id": facts.job_id,
            "windlass.task": facts.task,
            "windlass.attempt": facts.attempt,
        },
        # What a user's exception says is the user's code, which may raise in its turn.
        record_exception=False,
        set_status_on_exception=False,
    )
    return _recorded(trace, span)


@contextlib.contextmanager
def _recorded(trace: Any, opened: AbstractContextManager[Any]) -> Iterator[None]:
    with opened as span:
        try:
            yield
        except BaseException as raised:
            with contextlib.suppress(Exception):
                span.set_status(trace.Status(trace.StatusCode.ERROR, type(raised).__name__))
                span.record_exception(raised)
            raise


def _context(trace: Any, traceparent: str | None) -> Any:
    """With the caller's span as the one above; without it the job begins a trace."""
    if traceparent is None:
        return trace.set_span_in_context(trace.INVALID_SPAN)
    _, trace_id, span_id, flags = traceparent.split("-")
    above = trace.SpanContext(
        trace_id=int(trace_id, 16),
        span_id=int(span_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(int(flags, 16)),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(above))
