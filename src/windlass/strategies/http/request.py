"""The body of a delivery: made once, so that what is signed is exactly what is sent."""

from __future__ import annotations

import base64
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

BODIES: Final = ("json", "text", "form", "base64")


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


def body_problems(value: dict[str, Any]) -> list[tuple[str, str]]:
    given = [name for name in BODIES if name in value]
    if len(given) > 1:
        return [("", f"has more than one body; give one of: {' '.join(BODIES)}")]
    if not given or given[0] == "json":  # whatever it is
        return []
    trouble = _TROUBLE[given[0]](value[given[0]])
    return [(f"/{given[0]}", trouble)] if trouble else []


def is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _text_trouble(value: object) -> str | None:
    return None if isinstance(value, str) else "must be text"


def _form_trouble(value: object) -> str | None:
    return None if is_text_map(value) else "must be an object of texts"


def _base64_trouble(value: object) -> str | None:
    try:
        if isinstance(value, str):
            base64.b64decode(value, validate=True)
            return None
    except ValueError:
        pass
    return "must be base64 text"


_TROUBLE: Final = {"text": _text_trouble, "form": _form_trouble, "base64": _base64_trouble}
