"""What every error answers."""

from __future__ import annotations

from typing import Final

from windlass.api.schemas.shape import TEXT, Named, Schema, listed, record


def _problem() -> Schema:
    error = record(pointer=TEXT, detail=TEXT)
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "request_id"],
        "properties": {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": "integer"},
            "detail": TEXT,
            "code": TEXT,
            "request_id": TEXT,
            "errors": listed(error),
            "queue": TEXT,
            "limit": {"type": "integer"},
            "current": {"type": "integer"},
            "requested": {"type": "integer"},
            "unit": TEXT,
        },
    }


SCHEMAS: Final[Named] = {"Problem": _problem()}
