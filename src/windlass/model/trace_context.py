"""W3C trace context: the trace that a job belongs to, and the span that it was submitted from.

Both stand in one text beside the job, so that steps and replays inherit them together:

    4bf92f3577b34da6a3ce929d0e0e4736                        a trace; nobody's span
    4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01    and the caller's span and flags

which is a W3C `traceparent` without its version.
"""

from __future__ import annotations

import re
from typing import Final

_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?"
)
_KEPT: Final = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def read_traceparent(traceparent: str) -> str | None:
    """What is kept of the header; None if that is not what W3C says."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return found[1] if found else None


def trace_id_of(kept: str | None) -> str | None:
    return None if kept is None else kept.partition("-")[0]


def traceparent_of(kept: str | None) -> str | None:
    """The caller's `traceparent`; None: it had no span."""
    return f"00-{kept}" if kept is not None and _KEPT.fullmatch(kept) else None
