"""The request of a delivery: its body, the headers that identify it (idempotency key), its bytes.

The body is made once, so that what is signed is exactly what is sent. `webhook-id` and
`idempotency-key` are the job's and the same in every attempt (G3), so a receiver that saw one
before knows that it did. `windlass-attempt` and `windlass-fence` grow with each try: of two
requests that overlap, the larger fence is the one that counts. The callback token is fresh for each
attempt.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from windlass import __version__
from windlass.limits import HEADER_CHARS_MAX, HEADERS_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.json.pointer import step
from windlass.model.json.printable import is_printable
from windlass.model.trace_context import trace_id_of
from windlass.strategies.http.net.address import Address

BODIES: Final = ("json", "text", "form", "base64")
# These say their length even when it is nothing.
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}")
NAME_PATTERN: Final = "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}"
_NAME: Final = re.compile(NAME_PATTERN)
# What a caller may not say for us: who we are, and where a message ends.
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


def make_body(given: dict[str, Any]) -> tuple[bytes | None, str | None]:
    """The bytes and their content type; None for a request without a body."""
    if "json" in given:
        return msgspec.json.encode(given["json"]), "application/json"
    if "text" in given:
        return given["text"].encode(), "text/plain; charset=utf-8"
    if "form" in given:
        return urlencode(given["form"]).encode(), "application/x-www-form-urlencoded"
    if "base64" in given:
        return base64.b64decode(given["base64"]), "application/octet-stream"
    return None, None


def identity(attempt: Attempt, *, timestamp: int, token: str) -> dict[str, str]:
    """Our headers, by lower-case name."""
    webhook_id = f"job_{attempt.job_id.hex}"
    trace = _trace_of(attempt)
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


def _trace_of(attempt: Attempt) -> str:
    """The trace this job was submitted under; else one that all attempts of it share."""
    found = (trace_id_of(attempt.trace_id) or "").lower()
    return found if _TRACE_ID.fullmatch(found) and found.strip("0") else attempt.job_id.hex


def write_request(
    method: str, address: Address, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    """Head and body in one piece. Raises ValueError for a header that would be two."""
    lines = [f"{method} {address.path} HTTP/1.1", f"host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body or method in _WITH_BODY:
        lines.append(f"content-length: {len(body or b'')}")
    head = "\r\n".join(lines)
    # Everything was looked at before; this is where it would matter.
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
        raise ValueError("a header holds a line break")
    return head.encode() + b"\r\n\r\n" + (body or b"")


def body_problems(value: dict[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with the body of a caller."""
    given = [name for name in BODIES if name in value]
    if len(given) > 1:
        return [("", f"has more than one body; give one of: {' '.join(BODIES)}")]
    if not given or given[0] == "json":  # whatever it is
        return []
    trouble = _BODY_TROUBLE[given[0]](value[given[0]])
    return [(f"/{given[0]}", trouble)] if trouble else []


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _text_trouble(value: object) -> str | None:
    return None if isinstance(value, str) else "must be text"


def _form_trouble(value: object) -> str | None:
    return None if _is_text_map(value) else "must be an object of texts"


def _base64_trouble(value: object) -> str | None:
    try:
        if isinstance(value, str):
            base64.b64decode(value, validate=True)
            return None
    except ValueError:
        pass
    return "must be base64 text"


_BODY_TROUBLE: Final = {"text": _text_trouble, "form": _form_trouble, "base64": _base64_trouble}


def header_problems(headers: Any) -> list[tuple[str, str]]:
    """What is wrong with the headers of a caller."""
    if not _is_text_map(headers) or len(headers) > HEADERS_MAX:
        return [("/headers", f"must be an object of at most {HEADERS_MAX} texts")]
    problems: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name, text in headers.items():
        lower = name.lower()
        if trouble := _header_trouble(lower, text):
            problems.append(("/headers" + step(name), trouble))
        elif lower in seen:
            problems.append(("/headers" + step(name), "stands twice; case does not count"))
        seen.add(lower)
    return problems


def _header_trouble(name: str, text: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "must be a header name and a value without line breaks"
    if name in OURS or name.startswith(OUR_PREFIXES):
        return "is set by Windlass itself; leave it out"
    if len(text) > HEADER_CHARS_MAX:
        return f"is longer than {HEADER_CHARS_MAX} characters"
    # A tab or a line break is not printable; the empty text is.
    return None if is_printable(text) else "must be a header name and a value without line breaks"
