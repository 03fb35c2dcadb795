"""What every error answers, and what is kept of one."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import TEXT, Named, Schema, listed, record


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


def _error() -> Schema:
    """What went wrong with an attempt; a strategy may say more than these."""
    return {
        "type": "object",
        "required": ["cause", "message"],
        "properties": {
            "cause": TEXT,
            "message": TEXT,
            "type": {**TEXT, "description": "The class of the exception"},
            "traceback": {"description": "Where it was raised, in the code of the task"},
            "status": {"description": "What the receiver answered"},
        },
        "additionalProperties": True,
    }


SCHEMAS: Final[Named] = {"Problem": _problem(), "Error": _error()}
