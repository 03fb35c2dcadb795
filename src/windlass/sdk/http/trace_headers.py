"""The caller's trace goes with what it asks for, so that the job's span stands below the caller's.

OpenTelemetry is not imported here: where nobody has imported it, no span can be current.
"""

from __future__ import annotations

import sys


def trace_headers() -> dict[str, str]:
    """`traceparent` of the current span; nothing if there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    flags = int(span.trace_flags)
    return {"traceparent": f"00-{span.trace_id:032x}-{span.span_id:016x}-{flags:02x}"}
