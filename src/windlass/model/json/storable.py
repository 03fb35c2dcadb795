"""Making values from outside fit to be stored: no NUL, no half surrogate pairs, no NaN."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec


def harmless_text(text: str) -> str:
    """`text` without what PostgreSQL refuses."""
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def harmless_json(value: Any) -> str:
    """`value` as JSON text that PostgreSQL takes; what has no JSON form is shown as text."""
    return json.dumps(_clean(value, ()), ensure_ascii=False, separators=(",", ":"))


def harmless_record(value: dict[str, Any]) -> str:
    """The same for a record that is made with every attempt: nearly always there is nothing to
    clean, and looking for it in the result costs a tenth of walking through the value.
    """
    try:
        made = msgspec.json.encode(value)
    except (TypeError, ValueError):
        return harmless_json(value)
    return harmless_json(value) if b"\\u0000" in made else made.decode()


def _clean(value: Any, above: tuple[int, ...]) -> Any:
    """`above` are the ids of what holds `value`: a value that holds itself would never end."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return harmless_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if len(above) > 32 or id(value) in above:
        return "…"
    if isinstance(value, dict):
        inside = (*above, id(value))
        return {harmless_text(str(k)): _clean(v, inside) for k, v in value.items()}
    if isinstance(value, list | tuple):
        inside = (*above, id(value))
        return [_clean(v, inside) for v in value]
    return harmless_text(str(value))
