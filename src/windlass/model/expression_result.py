"""What an expression gives, as JSON has it."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from windlass.limits import JSON_DEPTH_MAX
from windlass.model.expression_run import Run, Unanswerable
from windlass.model.expression_times import seconds, written_timestamp

_SCALARS: Final = frozenset((str, int, bool, type(None)))
_HOLDER_COSTS: Final = 4


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
        return _written(value)
    if depth >= JSON_DEPTH_MAX:
        raise Unanswerable(f"it gave what is nested deeper than {JSON_DEPTH_MAX} levels")
    run.spend(_HOLDER_COSTS + len(value))
    if kind is list:
        return [
            part if type(part) in _SCALARS else plain_json(run, part, depth + 1) for part in value
        ]
    return {
        _key(key): part if type(part) in _SCALARS else plain_json(run, part, depth + 1)
        for key, part in value.items()
    }


def _key(key: Any) -> str:
    if type(key) is not str:
        raise Unanswerable(f"it gave a map with the key {key}; in JSON keys are texts")
    return key


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return written_timestamp(value)
    if isinstance(value, timedelta):
        return seconds(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, str):
        return str(value)
    raise Unanswerable(f"it gave {type(value).__name__}, which is not JSON")
