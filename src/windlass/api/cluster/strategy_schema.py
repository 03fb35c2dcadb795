"""A kind of jobs and what performs it."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import ANY_OBJECT, TEXT, Named, listed, nullable, record

_TASK: Final = record(
    task=TEXT,
    is_async={"type": "boolean"},
    is_isolated={"type": "boolean"},
    parameters=nullable(ANY_OBJECT),
    positional=listed(TEXT),
    takes_more={"type": "boolean"},
    result=nullable(ANY_OBJECT),
)

SCHEMAS: Final[Named] = {
    "Strategy": record(
        kind=TEXT,
        is_builtin={"type": "boolean"},
        version=nullable(TEXT),
        input_schema=nullable(ANY_OBJECT),
        output_schema=nullable(ANY_OBJECT),
        error=nullable(TEXT),
        tasks=nullable(listed(_TASK)),
    ),
}
