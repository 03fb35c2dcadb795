"""What an expression gives, written as JSON: times, durations and bytes included."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from windlass.limits import JSON_DEPTH_MAX
from windlass.model.expression.parse import INT_MAX
from windlass.model.expression.times import seconds, written_timestamp
from windlass.model.expression.values import Run, Unanswerable

_SCALARS: Final = frozenset((str, int, bool, type(None)))
_HOLDER_COSTS: Final = 4
_BULK: Final = 64  # for a unit


def plain_json(run: Run, value: Any, depth: int = 0) -> Any:
    """The value; timestamps become RFC 3339 text, durations seconds, bytes base64 text."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise Unanswerable(f"it gave {value}, which is no number in JSON")
    if kind is not list and not isinstance(value, Mapping):
        return _written(run, value)
    if depth >= JSON_DEPTH_MAX:
        raise Unanswerable(f"it gave what is nested deeper than {JSON_DEPTH_MAX} levels")
    run.spend(_HOLDER_COSTS + len(value))
    if kind is list:
        run.spend(_bulk(value) // _BULK)
        return [
            part if type(part) in _SCALARS else plain_json(run, part, depth + 1) for part in value
        ]
    run.spend((_bulk(value) + _bulk(value.values())) // _BULK)
    return {
        _key(key): part if type(part) in _SCALARS else plain_json(run, part, depth + 1)
        for key, part in value.items()
    }


def _bulk(parts: Iterable[Any]) -> int:
    """Characters of texts and bits of long numbers. A list may hold the same text a thousand times:
    it was made once, and is written a thousand times.
    """
    size = 0
    for part in parts:
        kind = type(part)
        if kind is str:
            size += len(part)
        elif kind is int and not -INT_MAX <= part <= INT_MAX:
            size += part.bit_length()
    return size


def _key(key: Any) -> str:
    if type(key) is not str:
        raise Unanswerable(f"it gave a map with the key {key}; in JSON keys are texts")
    return key


def _written(run: Run, value: Any) -> Any:
    if isinstance(value, datetime):
        return written_timestamp(value)
    if isinstance(value, timedelta):
        return seconds(value)
    if isinstance(value, bytes):
        run.spend_text(len(value))
        return base64.b64encode(value).decode()
    if isinstance(value, str):
        return str(value)
    raise Unanswerable(f"it gave {type(value).__name__}, which is not JSON")
