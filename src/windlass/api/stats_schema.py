"""All jobs, counted."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import COUNT, Named, record, ref

SCHEMAS: Final[Named] = {
    "Stats": record(
        totals=ref("Counts"),
        bytes=COUNT,
        queues={"type": "object", "additionalProperties": ref("Counts")},
    ),
}
