"""A queue with its limits and what it holds."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import COUNT, INSTANT, TEXT, Named, nullable, record, ref

SCHEMAS: Final[Named] = {
    "Queue": record(
        name=TEXT,
        max_jobs=nullable(COUNT),
        max_bytes=nullable(COUNT),
        max_running=nullable(COUNT),
        rate=nullable({"type": "number"}),
        is_paused={"type": "boolean"},
        paused_at=nullable(INSTANT),
        created_at=INSTANT,
        counts=ref("Counts"),
        bytes=COUNT,
    ),
}
