"""The identity of a delivery: what every request of ours says of itself.

`webhook-id` and `idempotency-key` are the job's and the same in every attempt, so a receiver that
saw one before knows that it did. `windlass-attempt` and `windlass-fence` grow with each try: of two
requests that overlap, the larger fence is the one that counts. The callback token is fresh for
each attempt.
"""

from __future__ import annotations

import re
from typing import Any, Final

from windlass import __version__
from windlass.limits import HEADER_CHARS_MAX, HEADERS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.json.pointer import step
from windlass.model.json.printable import is_printable
from windlass.model.trace_context import trace_id_of
from windlass.strategies.http.request import is_text_map

_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}")
NAME_PATTERN: Final = "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}"
_NAME: Final = re.compile(NAME_PATTERN)
# What a caller may not say in our place: who we are, and where a message ends.
OURS: Final = frozenset(
    (
        *("accept-encoding", "connection", "content-length", "expect", "host", "idempotency-key"),
        *("keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade"),
    )
)
OUR_PREFIXES: Final = ("webhook-", "windlass-")

_SAME_FOR_ALL: Final = {
    "user-agent": f"windlass/{__version__}",
    "accept": "*/*",
    "accept-encoding": "identity",  # an answer is read raw: nothing to unpack, no bomb to go off
}


def identity(attempt: Attempt, *, timestamp: int, token: str) -> dict[str, str]:
    """Our headers, by lower-case name."""
    webhook_id = f"job_{attempt.job_id.hex}"
    trace = trace_of(attempt)
    number = str(attempt.number)
    return {
        **_SAME_FOR_ALL,
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "idempotency-key": webhook_id,
        "windlass-attempt": number,
        "windlass-fence": number,
        "windlass-callback-token": token,
        "x-correlation-id": attempt.correlation_id or webhook_id,
        # The claim is random and new with each attempt: so is the span.
        "traceparent": f"00-{trace}-{attempt.claim_id.hex[16:]}-01",
        "x-trace-id": trace,
    }


def trace_of(attempt: Attempt) -> str:
    """The trace this job was submitted under; else one that all attempts of it share."""
    found = (trace_id_of(attempt.trace_id) or "").lower()
    return found if _TRACE_ID.fullmatch(found) and found.strip("0") else attempt.job_id.hex


def header_problems(headers: Any) -> list[tuple[str, str]]:
    """What is wrong with the headers of a caller."""
    if not is_text_map(headers) or len(headers) > HEADERS_MAX:
        return [("/headers", f"must be an object of at most {HEADERS_MAX} texts")]
    problems: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name, text in headers.items():
        lower = name.lower()
        if trouble := _trouble(lower, text):
            problems.append(("/headers" + step(name), trouble))
        elif lower in seen:
            problems.append(("/headers" + step(name), "stands twice; case does not count"))
        seen.add(lower)
    return problems


def _trouble(name: str, text: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "must be a header name and a value without line breaks"
    if name in OURS or name.startswith(OUR_PREFIXES):
        return "is set by Windlass itself; leave it out"
    if len(text) > HEADER_CHARS_MAX:
        return f"is longer than {HEADER_CHARS_MAX} characters"
    # A tab or a line break is not printable; the empty text is.
    return None if is_printable(text) else "must be a header name and a value without line breaks"
