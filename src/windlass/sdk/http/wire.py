"""What goes over the wire: paths with their query, JSON bodies, answers, and the trace header.

`traceparent` of the caller's span goes with what it asks for, so that the job's span stands below
it. OpenTelemetry is not imported for that: where nobody has imported it, no span can be current.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from windlass.errors import InvalidInput
from windlass.sdk.http.problems import ApiError
from windlass.sdk.http.transport import Response

Query = Mapping[str, object]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def path_with(path: str, query: Query | None) -> str:
    """`path?query` without what is None; a list is the same name several times."""
    given = {name: _shown(value) for name, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def segment(text: str) -> str:
    """A name or id as one part of a path: nothing in it can lead elsewhere."""
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} is not a name")
    return quote(text, safe="")


def one_line(value: str) -> str:
    """What may go into a header. Raises ValueError: anything else would change the request."""
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"{value!r} is no ETag; send the one that was read, quotes included")
    return value


def encode(body: object) -> bytes:
    """Raises TypeError or InvalidInput for what JSON cannot say."""
    text = _encode(body)
    # The encoder writes null for NaN, which would change the work in silence.
    if b"null" in text:
        _check_finite(body, "")
    return text


def decode(response: Response) -> Any:
    """The JSON in the body; None when there is no body."""
    if not response.body:
        return None
    try:
        return _decode(response.body)
    except msgspec.ValidationError:
        return decode_huge(response.body)
    except msgspec.DecodeError:
        detail = "that is no answer of Windlass; is this the address of the server itself?"
        raise ApiError("not_windlass", response.status, {"detail": detail}) from None


def decode_huge(body: bytes | str) -> Any:
    """JSON with numbers that no float holds, which become infinite.

    No door takes them today; one that was stored before must not hide the rest of its list.
    """
    return json.loads(body, parse_int=_whole)


def _whole(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:  # more digits than Python reads
        return float(text)


def _check_finite(value: object, pointer: str) -> None:
    match value:
        case float() if not math.isfinite(value):
            raise InvalidInput.at(pointer, f"{value} cannot be said in JSON")
        case dict():
            for name, inner in value.items():
                _check_finite(inner, f"{pointer}/{name}")
        case list() | tuple():
            for place, inner in enumerate(value):
                _check_finite(inner, f"{pointer}/{place}")
        case _:
            pass


def _shown(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown(one) for one in value]
    return value


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
